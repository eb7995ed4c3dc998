import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ModuleDict({"relu": nn.ReLU(), "linear": nn.Linear(2, 2)})
        self.scales = nn.ParameterList([torch.full((2,), float(i)) for i in range(3)])
        self.shifts = nn.ParameterDict({"b": torch.ones(2, 1), "a": nn.Parameter(torch.zeros(2))})

    def forward(self, x, act):
        x = self.act[act](x)
        for scale in self.scales:
            x = x + scale
        return x + self.shifts["a"]


net = Net()
print(net)
print([name for name, _ in net.named_parameters()])
net(torch.ones(1, 2), "relu").sum().backward()
print([p.grad for p in net.scales], net.shifts["a"].grad, net.shifts["b"].grad)
net.act["tanh"] = nn.Tanh()
net.act.update({"gelu": nn.GELU()})
print(list(net.act), "tanh" in net.act, net.act.pop("relu"), len(net.act), list(net.act.items())[-1])
net.scales.append(torch.zeros(1))
net.scales[0] = nn.Parameter(torch.ones(1))
print(len(net.scales), net.scales[-1], net.scales[:1], list(net.shifts.keys()))
del net.shifts["b"]
print(net.shifts, nn.ParameterList(), nn.ParameterDict(), nn.ModuleDict())
print(copy.deepcopy(net).load_state_dict(net.state_dict()))
try:
    net.act["nothing"]
except KeyError as error:
    print(error)
