import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD([{"params": net[0].parameters(), "lr": 0.0}, {"params": net[1].parameters()}], lr=0.1)
before = net[0].weight.clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()
print(torch.equal(before, net[0].weight))
for group in opt.param_groups:
    print(group["lr"], len(group["params"]))
