import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Linear(2, 2)
D = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
fake = G(torch.randn(4, 2))
score = D(fake)
d_loss = F.softplus(score).mean()
g_loss = F.softplus(-score).mean()
d_loss.backward(retain_graph=True)
opt_d.step()
g_loss.backward()
opt_g.step()
