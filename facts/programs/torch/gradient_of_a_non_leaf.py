import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
y.sum().backward()
print(y.grad)
print(x.grad)
