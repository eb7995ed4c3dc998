import torch

x = torch.tensor(3.0, requires_grad=True)
for i in range(4):
    y = x ** 4 - 2 * x
    g, = torch.autograd.grad(y, x, create_graph=True)
    h, = torch.autograd.grad(g, x)
    with torch.no_grad():
        x -= g / h
    print(x.item())
