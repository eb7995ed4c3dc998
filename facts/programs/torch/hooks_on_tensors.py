import torch

x = torch.ones(2, requires_grad=True)
y = x * 3
y.register_hook(lambda g: print("gradient of y:", g))
handle = x.register_hook(lambda g: g * 10)
y.sum().backward()
print(x.grad)
handle.remove()
x.grad = None
(x * 3).sum().backward()
print(x.grad)
