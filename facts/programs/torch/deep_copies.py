import copy
import torch
import torch.nn as nn

a = torch.arange(4.0)
b, v = copy.deepcopy([a, a[:2]])
v[0] = 9
print(a, b)
torch.manual_seed(0)
m = nn.Linear(2, 1)
m(torch.ones(1, 2)).sum().backward()
c = copy.deepcopy(m)
print(c.weight.grad, m.weight.grad)
with torch.no_grad():
    m.weight.zero_()
print(torch.equal(c.weight, m.weight))
w = torch.ones(2, requires_grad=True)
w.sum().backward()
print(copy.deepcopy(w).grad)
try:
    copy.deepcopy(w * 2)
except RuntimeError as error:
    print(str(error)[:60])
