import torch

torch.manual_seed(1)
x = torch.ones(3, requires_grad=True)
y = x * 2
y[1] = 5
y.sum().backward()
print(x.grad)
z = x * 2
z[0] = z[1] * 3
z.sum().backward()
print(x.grad)
