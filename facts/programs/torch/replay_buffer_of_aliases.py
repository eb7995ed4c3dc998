import torch

state = torch.zeros(2)
buffer = []
for i in range(3):
    state[0] = i
    buffer.append(state)
print(torch.stack(buffer))
buffer = []
for i in range(3):
    state[0] = i
    buffer.append(state.clone())
print(torch.stack(buffer))
