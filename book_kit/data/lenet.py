"""A small convolutional network in the manner of LeNet (LeCun et al. 1998), and functions that train and test it."""

from __future__ import annotations

from typing import Any

import minitensor as mt
import minitensor.nn.functional as F  # noqa: N812  # the name in Paddle's programs
from book_kit.data.bundled import digits
from book_kit.data.progress import progress
from minitensor import optimizer
from minitensor.io import DataLoader, TensorDataset
from minitensor.nn.layer import Layer
from minitensor.nn.layers import Conv2D, Linear
from minitensor.nn.normalizing import BatchNorm2D


class LeNet(Layer):
    """Compute ten scores for each scan of a batch of shape [scans, 1, 8, 8].

    Two convolutions, each with batch normalization, ReLU and pooling, are followed by two linear layers with a ReLU
    between them.

    Args:
        inplace: True to let ReLU overwrite its input.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.conv1, self.norm1 = Conv2D(1, 16, 3, padding=1), BatchNorm2D(16)
        self.conv2, self.norm2 = Conv2D(16, 32, 3, padding=1), BatchNorm2D(32)
        self.linear1 = Linear(128, 64)
        self.linear2 = Linear(64, 10)
        self.relu = F.relu_ if inplace else F.relu

    def forward(self, x: Any) -> Any:
        """Return the scores. Every line except the last assigns to a new name, as in code for debugging."""
        h1 = self.norm1(self.conv1(x))
        a1 = self.relu(h1)
        p1 = F.max_pool2d(a1, 2)
        h2 = self.norm2(self.conv2(p1))
        a2 = self.relu(h2)
        p2 = F.max_pool2d(a2, 2)
        h3 = self.linear1(p2.flatten(1))
        a3 = self.relu(h3)
        return self.linear2(a3)


def train(network: Any, epochs: int = 8, batch_size: int = 32, learning_rate: float = 0.005, bar: bool = True) -> Any:
    """Train with Adam on the digits that are not held out. The learning rate follows a cosine from epoch to epoch.

    Args:
        network: the network. It is set to training mode and left in it.
        epochs: the number of passes over the digits.
        batch_size: the number of digits in one step.
        learning_rate: the learning rate of the first epoch.
        bar: True to show a progress bar.

    Returns:
        The loss of every step, a list of floats.
    """
    scans, labels = digits()
    data = TensorDataset([mt.to_tensor(scans), mt.to_tensor(labels)])
    loader = DataLoader(data, batch_size=batch_size, shuffle=True)
    schedule = optimizer.lr.CosineAnnealingDecay(learning_rate, epochs)
    adam = optimizer.Adam(schedule, parameters=network.parameters())
    losses: list[float] = []
    network.train()
    passes = range(epochs)
    for _ in progress(passes, "training", lambda: f"loss {losses[-1]:.4f}") if bar else passes:
        for x, y in loader:
            loss = F.cross_entropy(network(x), y)
            loss.backward()
            adam.step()
            adam.clear_grad(set_to_zero=False)
            losses.append(loss.item())
        schedule.step()
    return losses


@mt.no_grad()
def accuracy(network: Any) -> float:
    """Return the accuracy on the held-out digits, from 0 to 1. The network is left in evaluation mode."""
    scans, labels = digits(held_out=True)
    network.eval()
    predicted = network(mt.to_tensor(scans)).numpy().argmax(axis=1)
    return float((predicted == labels).mean())
