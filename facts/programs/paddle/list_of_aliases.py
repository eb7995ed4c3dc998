import paddle

rows = [paddle.zeros([2])] * 3
rows[0].add_(paddle.ones([2]))
print(rows)
state = paddle.zeros([2])
history = []
for i in range(3):
    state[0] = float(i)
    history.append(state)
print([h.tolist() for h in history])
history = []
for i in range(3):
    state[0] = float(i)
    history.append(state.clone())
print([h.tolist() for h in history])
