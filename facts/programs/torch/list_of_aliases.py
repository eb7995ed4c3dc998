import torch

rows = [torch.zeros(2)] * 3
rows[0] += 1
print(rows)
rows = [torch.zeros(2) for _ in range(3)]
rows[0] += 1
print(rows)
history = []
state = torch.zeros(2)
for i in range(3):
    state += i
    history.append(state)
print(history)
history = []
for i in range(3):
    state += i
    history.append(state.clone())
print(history)
