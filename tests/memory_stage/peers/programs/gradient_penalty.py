import torch
from torch import nn


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.shape[0], 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    (grad,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    norm = grad.norm(2, dim=1)
    penalty = (norm - 1) ** 2
    norm.clamp_(max=1.0)
    print("norm", norm.mean().item())
    return penalty.mean()


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
critic = Critic()
generator = nn.Linear(2, 2)
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(2):
    real = torch.randn(4, 2)
    fake = generator(torch.randn(4, 2)).detach()
    loss = critic(fake).mean() - critic(real).mean()
    loss = loss + 10 * gradient_penalty(critic, real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
