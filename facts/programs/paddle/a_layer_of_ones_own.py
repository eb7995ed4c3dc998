import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
print(net)
for p in net.parameters():
    p.set_value(paddle.full(p.shape, 0.1))
out = net(paddle.ones([2, 4]))
print(out)
F.cross_entropy(out, paddle.to_tensor([0, 1])).backward()
for name, p in net.named_parameters():
    print(name, p.shape, p.grad.abs().sum())
