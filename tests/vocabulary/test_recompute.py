"""Two ways to fewer bytes between forward and backward, on one network: activations in place, and computing again."""

from __future__ import annotations

import numpy as np
import pytest

from minitensor import memory, torch
from minitensor.torch import nn
from minitensor.torch.utils.checkpoint import checkpoint

ROWS, WIDTH, BLOCKS = 256, 64, 8
ACTIVATION = ROWS * WIDTH * 4  # bytes of what a layer gives


class Network(nn.Module):
    """Eight blocks of a linear map, a sigmoid that is kept, and a ReLU."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.way = way
        self.maps = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS)])

    def block(self, linear, x):
        h = torch.sigmoid(linear(x)) - 0.5
        return nn.functional.relu(h, inplace=self.way == "in place")

    def forward(self, x):
        for linear in self.maps:
            if self.way == "checkpoint":
                x = checkpoint(self.block, linear, x, use_reentrant=False)
            else:
                x = self.block(linear, x)
        return x


def step(way):
    """Of one step: the loss, the gradients, bytes held between forward and backward, the most at once, made."""
    network = Network(way)
    x = torch.tensor(np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype("float32"))
    with memory.measure() as meter:
        loss = network(x).square().sum()
        held = meter.allocated
        loss.backward()
    return loss.item(), [p.grad.tolist() for p in network.parameters()], held, meter.peak, meter.extra_bytes


@pytest.fixture(scope="module")
def steps():
    return {way: step(way) for way in ("normal", "in place", "checkpoint")}


@pytest.mark.parametrize("way", ["in place", "checkpoint"])
def test_the_loss_and_the_gradients_are_the_same_bit_for_bit(steps, way):
    assert steps[way][:2] == steps["normal"][:2]


def test_computing_again_holds_the_input_of_each_block_and_in_place_holds_what_backward_needs(steps):
    """Of a block backward needs what sigmoid gave and what ReLU gave, in place or not; computing again, its input."""
    held = {way: found[2] for way, found in steps.items()}
    outputs = BLOCKS * ACTIVATION
    assert held["normal"] == held["in place"] == 2 * outputs + 4  # and the loss
    assert held["checkpoint"] == outputs + 4


def test_the_peak_is_lower_when_computing_again_and_in_place_makes_fewer_bytes(steps):
    peak = {way: found[3] for way, found in steps.items()}
    made = {way: found[4] for way, found in steps.items()}
    assert peak["checkpoint"] < peak["in place"] <= peak["normal"]
    assert made["normal"] - made["in place"] == BLOCKS * ACTIVATION  # ReLU makes nothing
    assert made["checkpoint"] > made["normal"]  # every block runs twice
