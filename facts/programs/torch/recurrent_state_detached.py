import torch
import torch.nn as nn

torch.manual_seed(0)
cell = nn.Linear(4, 3)
h = torch.zeros(1, 3)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
for step in range(3):
    x = torch.ones(1, 1)
    h = torch.tanh(cell(torch.cat([x, h.detach()], dim=1)))
    loss = h.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss)
