import paddle
import paddle.nn as nn

net = nn.Sequential(nn.Conv2D(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(8, 2))
for p in net.parameters():
    p.set_value(paddle.full(p.shape, 0.1))
x = paddle.arange(32.0).reshape([2, 1, 4, 4])
out = net(x)
print(out)
out.sum().backward()
print(net[0].weight.grad.shape, net[0].bias.grad)
