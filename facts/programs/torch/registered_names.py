import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("later", None)
        self.weight = nn.Parameter(torch.ones(2))
        self.act = nn.ReLU()
        self.number = 1


net = Net()
for change in (
    lambda: setattr(net, "mean", "text"),
    lambda: setattr(net, "weight", torch.ones(2)),
    lambda: setattr(net, "act", "relu"),
    lambda: net.register_buffer("number", torch.ones(1)),
    lambda: net.register_buffer("forward", torch.ones(1)),
    lambda: net.register_parameter("mean", nn.Parameter(torch.ones(1))),
    lambda: net.add_module("weight", nn.ReLU()),
):
    try:
        change()
    except (KeyError, TypeError) as error:
        print(type(error).__name__, error)
net.mean = torch.ones(2)
net.later = torch.full((1,), 3.0)
net.register_buffer("mean", net.mean + 1)
print(net.state_dict())
