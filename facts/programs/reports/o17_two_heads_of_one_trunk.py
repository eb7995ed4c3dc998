import torch
from torch import nn

torch.manual_seed(0)
trunk, head_a, head_b = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*trunk.parameters(), *head_a.parameters(), *head_b.parameters()], lr=0.1)
for _ in range(2):
    features = trunk(torch.randn(5, 3)).tanh()
    loss_a = head_a(features).square().mean()
    loss_b = head_b(features).abs().mean()
    opt.zero_grad()
    loss_a.backward()
    loss_b.backward()
    opt.step()
    print(round(loss_a.item() + loss_b.item(), 4))
