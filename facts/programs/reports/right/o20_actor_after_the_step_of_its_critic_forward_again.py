import torch
from torch import nn

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


actor, critic = nn.Linear(3, 3), Critic()
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
for _ in range(2):
    state, reward = torch.randn(6, 3), torch.randn(6)
    action = actor(state)
    value = critic(action)
    critic_loss = (value - reward).square().mean()
    critic_opt.zero_grad()
    critic_loss.backward(retain_graph=True)
    critic_opt.step()
    actor_loss = -critic(action).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    print(round(critic_loss.item(), 4), round(actor_loss.item(), 4))
