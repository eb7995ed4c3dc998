import torch
import torch.nn as nn

torch.manual_seed(0)
a = nn.Linear(2, 2, bias=False)
b = nn.Linear(2, 2, bias=False)
b.weight = a.weight
net = nn.Sequential(a, b)
print(len(list(net.parameters())))
net(torch.ones(1, 2)).sum().backward()
print(a.weight.grad is b.weight.grad)
print(list(net.state_dict()))
