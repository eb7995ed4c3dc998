import torch

torch.manual_seed(1)
a = torch.ones(2, requires_grad=True)
with torch.no_grad(): b = a * 2
print(b.requires_grad)
c = (a * 2).detach()
c[0] = 9
print(c, c.requires_grad)
d = a * 2
e = d.detach()
e.zero_()
print(d)
d.sum().backward()
print(a.grad)
f = a.clone()
f *= 3
f.sum().backward()
print(a.grad)
