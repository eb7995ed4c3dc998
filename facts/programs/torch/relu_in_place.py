import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 1))
x = torch.randn(2, 3)
net(x).sum().backward()
print(net[0].weight.grad)
a = torch.tensor([-1.0, 2.0], requires_grad=True)
b = a * 1
torch.relu_(b)
print(b, b.grad_fn is not None)
b.sum().backward()
print(a.grad)
