import paddle
import paddle.nn as nn

net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
for p in net[0].parameters():
    p.stop_gradient = True
net(paddle.ones([1, 2])).sum().backward()
print(net[0].weight.grad, net[1].weight.grad.shape)
print([n for n, p in net.named_parameters() if not p.stop_gradient])
