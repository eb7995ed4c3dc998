import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.policy = nn.Linear(8, 2)
        self.value = nn.Linear(8, 1)

    def forward(self, s):
        h = self.body(s)
        return self.policy(h).log_softmax(-1), self.value(h)


class Agent:
    def __init__(self):
        self.net = Actor()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def act(self, state):
        logp, value = self.net(state)
        action = int(logp.exp().multinomial(1))
        return action, logp[action], value

    def update(self, logp, value, reward, next_value):
        advantage = reward + 0.9 * next_value - value
        loss = -logp * advantage.detach() + advantage.pow(2)
        self.opt.zero_grad()
        loss.backward(retain_graph=True)
        self.opt.step()
        return loss.item()


torch.manual_seed(1)
agent = Agent()
state = torch.randn(4)
action, logp, value = agent.act(state)
for step in range(3):
    state = torch.randn(4)
    reward = float(step)
    next_action, next_logp, next_value = agent.act(state)
    loss = agent.update(logp, value, reward, next_value)
    print(step, loss)
    action, logp, value = next_action, next_logp, next_value
