import paddle
import paddle.nn as nn

seen = []
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1), nn.ReLU()))


def init(m):
    seen.append(type(m).__name__)
    if isinstance(m, nn.Linear):
        m.weight.set_value(paddle.full(m.weight.shape, 0.5))
        m.bias.set_value(paddle.zeros(m.bias.shape))


net.apply(init)
print(seen)
print(net(paddle.ones([1, 2])))
print([type(m).__name__ for m in net.sublayers()])
