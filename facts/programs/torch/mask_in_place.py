import torch

x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = x * 2
y[y < 0] = 0
y.sum().backward()
print(y, x.grad)
z = x.clone()
z[1] = 100
z.sum().backward()
print(x.grad)
m = torch.zeros(3).masked_fill_(torch.tensor([True, False, True]), 5)
print(m)
