import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2))
x = torch.randn(2, 1, 4, 4)
out = net(x)
print(out)
out.sum().backward()
print(net[0].weight.grad.shape, net[0].bias.grad)
