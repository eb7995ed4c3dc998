import paddle

import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.hidden = [nn.Linear(1, 1)]
        self.scale = paddle.ones([1])
        self.p = self.create_parameter([1])

    def forward(self, x):
        return self.fc(x) * self.p


net = Net()
print([name for name, _ in net.named_parameters()])
print(list(net.state_dict()), len(net.sublayers()))
print(net(paddle.ones([1, 2])).shape)
net.eval()
print(net.training, net.fc.training)
