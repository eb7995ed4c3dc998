import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCELoss()
ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)

for step in range(2):
    real = torch.randn(4, 2)
    fake = G(torch.randn(4, 2))
    pred_fake = D(fake)
    d_loss = bce(D(real), ones) + bce(pred_fake, zeros)
    g_loss = bce(pred_fake, ones)

    opt_d.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_d.step()

    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    print(step, d_loss.item(), g_loss.item())
