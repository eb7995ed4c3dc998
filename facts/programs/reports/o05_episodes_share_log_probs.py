"""REINFORCE with a buffer that is never emptied."""

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.log_probs = []
        self.rewards = []

    def act(self, observation):
        distribution = torch.distributions.Categorical(logits=self.policy(observation))
        action = distribution.sample()
        self.log_probs.append(distribution.log_prob(action))
        return action.item()

    def learn(self, optimizer):
        returns = torch.tensor(self.rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(self.log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        self.rewards.clear()
        return loss.item()


torch.manual_seed(5)
agent = Agent()
adam = torch.optim.Adam(agent.parameters(), lr=0.01)
for episode in range(3):
    for step in range(4):
        action = agent.act(torch.randn(4))
        agent.rewards.append(1.0 if action == 0 else 0.0)
    agent.rewards = (agent.rewards + [0.0] * len(agent.log_probs))[: len(agent.log_probs)]
    print(f"{agent.learn(adam):.5f}")
