import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(4, 3)
out = net(x)
pred = out
loss = (pred - 1).square().mean()
loss.backward()
print([round(g, 4) for g in net.weight.grad[0].tolist()])
