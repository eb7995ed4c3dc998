import paddle
import paddle.nn.functional as F

n, h = 3, 4
W = (paddle.arange(4 * h * (n + h), dtype="float32").reshape([4 * h, n + h]) % 7 - 3) / 10
W.stop_gradient = False
b = paddle.zeros([4 * h])
b.stop_gradient = False
x = paddle.linspace(-1, 1, 5 * 2 * n).reshape([5, 2, n])
hidden, cell = paddle.zeros([2, h]), paddle.zeros([2, h])
outs = []
for step in x:
    gates = paddle.concat([step, hidden], axis=1) @ W.T + b
    i, f, g, o = paddle.split(gates, 4, axis=1)
    cell = F.sigmoid(f) * cell + F.sigmoid(i) * paddle.tanh(g)
    hidden = F.sigmoid(o) * paddle.tanh(cell)
    outs.append(hidden)
y = paddle.stack(outs)
print(y.shape, y[-1].numpy())
y.pow(2).sum().backward()
print(W.grad[0].numpy(), b.grad[:5].numpy())
print(i.inplace_version, gates.inplace_version)
