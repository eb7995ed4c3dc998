"""A character model that carries the state of its LSTM from batch to batch."""

import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, symbols=12, width=8):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, tokens, state):
        features, state = self.lstm(self.embed(tokens), state)
        return self.out(features), state


def train(model, batches, epochs=1):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for _ in range(epochs):
        state = (torch.zeros(1, 4, 8), torch.zeros(1, 4, 8))
        for tokens, targets in batches:
            optimizer.zero_grad()
            logits, state = model(tokens, state)
            loss = criterion(logits.flatten(0, 1), targets.flatten())
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.5f}")


torch.manual_seed(2)
data = [(torch.randint(0, 12, (4, 6)), torch.randint(0, 12, (4, 6))) for _ in range(3)]
train(CharModel(), data)
