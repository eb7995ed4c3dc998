import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Linear(2, 2)
D = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
bce = nn.BCELoss()
ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
for i in range(2):
    real = torch.randn(4, 2) + 3
    fake = G(torch.randn(4, 2))
    opt_d.zero_grad()
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    opt_g.step()
    print(f"{d_loss.item():.4f} {g_loss.item():.4f}")
