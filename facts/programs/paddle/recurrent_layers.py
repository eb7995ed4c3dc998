import paddle
from paddle import nn

def filled(layer):
    for k, p in enumerate(layer.parameters()):
        p.set_value(paddle.linspace(-0.5, 0.5, p.size).reshape(p.shape) * (k + 1))
    return layer

x = paddle.linspace(-1, 1, 12).reshape([2, 3, 2])
x.stop_gradient = False
cell = filled(nn.GRUCell(2, 3))
out, state = cell(x[:, 0])
print(out.shape, out.numpy())
cell = filled(nn.LSTMCell(2, 3))
out, (hidden, memory) = cell(x[:, 0])
print(out.numpy(), memory.numpy())
out, (hidden, memory) = cell(x[:, 1], (hidden, memory))
out.sum().backward()
print(x.grad[:, :2].numpy())
cell = filled(nn.SimpleRNNCell(2, 3))
print(cell(x[:, 0])[0].numpy())
