import torch

x = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * 1
y *= y
print(y)
y.sum().backward()
print(x.grad)
