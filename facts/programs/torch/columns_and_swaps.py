import torch

torch.manual_seed(1)
x = torch.arange(6.).view(2,3)
y = x[:, 1]
y += 10
print(x, y, y._version, x._version)
x[0], x[1] = x[1].clone(), x[0].clone()
print(x)
a = torch.zeros(3)
b = a
b = b + 1
print(a, b)
b = a
b += 1
print(a)
