import torch
from torch import nn


class Clipped(nn.Module):
    """A layer that clips its weights to a range each time it runs."""

    def __init__(self, n, m, limit):
        super().__init__()
        self.linear = nn.Linear(n, m)
        self.limit = limit

    def forward(self, x):
        y = self.linear(x)
        y = y * y.sigmoid()
        self.linear.weight.data.clamp_(-self.limit, self.limit)
        y.data.clamp_(-1.0, 1.0)
        return y


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Clipped(2, 6, 0.1)
        self.second = Clipped(6, 1, 0.1)

    def forward(self, x):
        return self.second(self.first(x))


torch.manual_seed(0)
critic = Critic()
opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
for step in range(2):
    real, fake = torch.randn(4, 2), torch.randn(4, 2) + 2
    loss = critic(fake).mean() - critic(real).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
