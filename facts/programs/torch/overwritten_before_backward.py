import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x * 2
y = a ** 2
a += 1
y.sum().backward()
