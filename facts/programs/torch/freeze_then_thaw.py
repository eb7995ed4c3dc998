import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(2, 3), nn.Linear(3, 1)
for m in (body, head):
    for p in m.parameters():
        nn.init.constant_(p, 0.1)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, [*body.parameters(), *head.parameters()]), lr=0.01)
x = torch.tensor([[1.0, -1.0], [0.5, 2.5], [0.3, 0.1]])
for epoch in range(3):
    h = body(x)
    print(h.requires_grad, h.is_leaf)
    loss = head(h).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), body.weight.grad)
    if epoch == 0:
        body.requires_grad_(True)
        opt.add_param_group({"params": body.parameters(), "lr": 0.01})
print(len(opt.param_groups), body.weight, head.bias)
try:
    h.requires_grad = False
except RuntimeError as error:
    print(str(error).splitlines()[0])
try:
    opt.add_param_group({"params": head.weight})
except ValueError as error:
    print(str(error).splitlines()[0])
