"""A WGAN whose generator reuses the critic's scores after the critic's step."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.score = nn.Linear(width, 1)

    def forward(self, points):
        return self.score(F.leaky_relu(self.hidden(points), 0.2)).squeeze(-1)


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, noise):
        return self.net(noise)


class WGAN:
    def __init__(self, width=16, lr=5e-3):
        self.critic, self.generator = Critic(width), Generator(width)
        self.critic_opt = torch.optim.RMSprop(self.critic.parameters(), lr=lr)
        self.generator_opt = torch.optim.RMSprop(self.generator.parameters(), lr=lr)

    def train_step(self, real):
        fake = self.generator(torch.randn(len(real), 4))
        real_score = self.critic(real)
        fake_score = self.critic(fake)

        critic_loss = fake_score.mean() - real_score.mean()
        self.critic_opt.zero_grad()
        critic_loss.backward(retain_graph=True)
        self.critic_opt.step()

        generator_loss = -fake_score.mean()
        self.generator_opt.zero_grad()
        generator_loss.backward()
        self.generator_opt.step()
        return critic_loss.item(), generator_loss.item()


torch.manual_seed(1)
gan = WGAN()
for iteration in range(3):
    print(*(f"{loss:.5f}" for loss in gan.train_step(torch.randn(8, 2) + 3)))
