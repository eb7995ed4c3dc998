import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
print(y.requires_grad, y)
z = (x * 3).detach()
print(z.requires_grad)
z += 1
print(x, z)
d = x.detach()
d[0] = 50
print(x)

@torch.no_grad()
def f(t):
    return t * 2

print(f(x).requires_grad)
print(torch.is_grad_enabled())
