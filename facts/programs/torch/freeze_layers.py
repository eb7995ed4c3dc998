import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
for p in net[0].parameters():
    p.requires_grad = False
net(torch.ones(1, 2)).sum().backward()
print(net[0].weight.grad, net[1].weight.grad.shape)
print([n for n, p in net.named_parameters() if p.requires_grad])
net[0].requires_grad_(True)
print(all(p.requires_grad for p in net.parameters()))
