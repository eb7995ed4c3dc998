import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        act = nn.Tanh()
        self.body = nn.Sequential(nn.Linear(2, 2), act, nn.BatchNorm1d(2), act)
        self.head = nn.Linear(2, 2)
        self.head.weight = self.body[0].weight


net = Tied()
print([name for name, _ in net.named_parameters()])
print([name for name, _ in net.named_parameters(remove_duplicate=False)])
print([name for name, _ in net.named_modules(prefix="net")], len(list(net.modules())))
print([name for name, _ in net.named_modules(remove_duplicate=False)])
print(list(net.body.named_children()), len(list(net.body.children())), list(net.state_dict()))
print(net.get_submodule("body.2"), net.get_submodule("") is net)
print(net.get_parameter("head.weight") is net.body[0].weight, net.get_buffer("body.2.running_mean"))
for missing in (
    lambda: net.get_submodule("body.9"),
    lambda: net.get_submodule("head.weight"),
    lambda: net.get_parameter("body.2.running_mean"),
    lambda: net.get_parameter("head.weights"),
    lambda: net.get_buffer("head.bias"),
):
    try:
        missing()
    except AttributeError as error:
        print(error)
