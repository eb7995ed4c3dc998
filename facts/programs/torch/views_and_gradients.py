import torch

x = torch.arange(4.0, requires_grad=True)
y = x * 1
v = y[:2]
v *= 10
print(y)
y.sum().backward()
print(x.grad)
print(v._base is y, v._version, y._version)
