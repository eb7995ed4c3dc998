import torch

x = torch.ones(3, requires_grad=True)
y = torch.exp(x)
y += 1
try:
    y.sum().backward()
except RuntimeError as error:
    print(str(error)[:120])
z = torch.sin(x)
z += 1
z.sum().backward()
print(x.grad)
