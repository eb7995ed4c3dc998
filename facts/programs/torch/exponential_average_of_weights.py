import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
ema = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    (net(torch.ones(1, 2)) ** 2).sum().backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.mul_(0.9).add_(p, alpha=0.1)
print(ema.weight, net.weight)
