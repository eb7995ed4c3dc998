import torch

torch.manual_seed(1)
x = torch.tensor([1., 2.], requires_grad=True)
y = x * x
g, = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g)
h, = torch.autograd.grad(g.sum(), x)
print(h)
try: torch.autograd.grad(y.sum(), x)
except RuntimeError as e: print(str(e).split('.')[0])
z = torch.ones(2, requires_grad=True)
try: torch.autograd.grad((x * 2).sum(), z)
except RuntimeError as error: print(error)
print(torch.autograd.grad((x * 2).sum(), [x, z], allow_unused=True))
