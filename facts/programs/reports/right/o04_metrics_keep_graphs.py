"""A trainer that keeps its losses in a dict of lists, to plot them later."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        self.history = {"train": [], "valid": []}

    def fit(self, batches, validation, epochs):
        for _ in range(epochs):
            for inputs, targets in batches:
                loss = nn.functional.mse_loss(self.model(inputs), targets)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.history["train"].append(loss.item())
            self.history["valid"].append(self.evaluate(validation))

    def evaluate(self, batches):
        self.model.eval()
        total = 0.0
        for inputs, targets in batches:
            total += nn.functional.mse_loss(self.model(inputs), targets).item()
        self.model.train()
        return total / len(batches)


torch.manual_seed(4)
make = lambda: (torch.randn(16, 10), torch.randn(16, 1))
trainer = Trainer(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1)))
trainer.fit([make(), make()], [make(), make()], epochs=4)
print([round(float(loss), 5) for loss in trainer.history["valid"]])
