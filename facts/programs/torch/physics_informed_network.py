import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
t = torch.linspace(0, 1, 5).reshape(-1, 1).requires_grad_()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(3):
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    loss = ((ddu + u) ** 2).mean() + (u[0] - 1) ** 2
    loss = loss.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(round(loss.item(), 4))
