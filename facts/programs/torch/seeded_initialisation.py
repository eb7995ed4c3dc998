import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 2))


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight)
        nn.init.zeros_(m.bias)


net.apply(init)
print(net[0].weight)
print(net[1].weight, net[1].bias)
