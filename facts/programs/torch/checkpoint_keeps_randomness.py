import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

calls = []
lin = nn.Linear(3, 3)
with torch.no_grad():
    lin.weight.copy_(torch.eye(3) * 2)
    lin.bias.fill_(0.5)

def block(a, b=None):
    calls.append(torch.is_grad_enabled())
    h = torch.relu(lin(a))
    return h * b if b is not None else h

x = torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = checkpoint(block, x, b, use_reentrant=False)
print(y.detach(), len(calls))
y.sum().backward()
print(len(calls), x.grad, b.grad, lin.weight.grad)
drop = nn.Dropout(0.5)
torch.manual_seed(4)
z = torch.ones(1000, requires_grad=True)
out = checkpoint(drop, z, use_reentrant=False)
out.sum().backward()
print(torch.equal(out.detach(), z.grad))
with torch.no_grad():
    print(checkpoint(block, x, use_reentrant=False).requires_grad)
def two(a):
    return a * 2, a.exp()
p, q = checkpoint(two, x, use_reentrant=False)
(p.sum() + q.sum()).backward()
print(x.grad)
def broken(a):
    raise KeyError("inside")
try:
    checkpoint(broken, x, use_reentrant=False)
except KeyError as error:
    print(repr(error))
