from collections import OrderedDict

import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 10))
net[-1] = nn.Linear(3, 4)
net.insert(2, nn.Dropout(0.5))
print(net)
print(net.pop(1), list(net.state_dict()))
del net[1]
net += nn.Sequential(nn.Tanh())
print(net, net[:1], net(torch.ones(1, 2)).shape)
named = nn.Sequential(OrderedDict(body=nn.Linear(1, 2), act=nn.ReLU(), head=nn.Linear(2, 1)))
print(named[1:])
named[1] = nn.Sigmoid()
print(named, nn.Sequential(nn.ReLU()) * 2)
blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])
blocks.extend([nn.ReLU(), nn.ReLU()]).insert(0, nn.Identity())
print(blocks, len(blocks), nn.ModuleList())
blocks[0] = nn.Tanh()
del blocks[1:4]
print(blocks + [nn.GELU()], blocks.pop(-1), list(blocks.state_dict()))
try:
    net[0] = "a layer"
except TypeError as error:
    print(error)
