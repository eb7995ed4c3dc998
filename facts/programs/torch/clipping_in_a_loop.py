import torch
from torch import nn

torch.manual_seed(1)
m = nn.Linear(2, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
with torch.no_grad():
    m.weight.fill_(0.5); m.bias.zero_()
for p in m.parameters(): print(p.requires_grad, p.grad)
l = m(torch.ones(1, 2)).sum()
l.backward()
print(torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0))
print(m.weight.grad, m.bias.grad)
o.step()
print(m.weight, m.bias)
o.zero_grad()
print(m.weight.grad)
print(list(m.state_dict().items()))
