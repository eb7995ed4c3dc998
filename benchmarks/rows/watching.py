"""The cost of explaining a whole run, compared with torch's anomaly mode and with the plain run.

Each program is a training step, or a chain of small operations with backward. Plain, watched and anomaly-mode runs
alternate in one process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from time import process_time
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

TITLE = "a training watched by `memory-stage explain`, over the same training unwatched"
ROUNDS = 3
TURNS = 1 if QUICK else 5


def _transformer(width: int, batch: int, length: int) -> Callable[[], None]:
    import torch

    layer = torch.nn.TransformerEncoderLayer(width, 4, width * 4, batch_first=True, dropout=0.0)
    net = torch.nn.TransformerEncoder(layer, 4)
    return _training(net, torch.randn(batch, length, width))


def _convolutions() -> Callable[[], None]:
    """Return a training step of a residual network of eight blocks, as wide as a small ResNet."""
    import torch
    from torch import nn

    class ResidualBlock(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return torch.relu_(self.body(x).add_(x))

    width, size = (4, 8) if QUICK else (64, 32)
    net = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), *(ResidualBlock(width) for _ in range(8)))
    return _training(net, torch.randn(2, 3, size, size))


def _training(net: Any, x: Any) -> Callable[[], None]:
    import torch

    optimizer = torch.optim.Adam(net.parameters())

    def step() -> None:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return step


def _small_operations() -> Callable[[], None]:
    import torch

    def chain() -> None:
        y = torch.ones(4, requires_grad=True)
        for _ in range(10 if QUICK else 500):
            y = y * 1.5
            y.sin_()
        y.sum().backward()

    return chain


PROGRAMS: dict[str, Callable[[], Callable[[], None]]] = {
    "a transformer of four layers, width 256": lambda: _transformer(*((16, 2, 4) if QUICK else (256, 8, 32))),
    "a residual network": _convolutions,
    "a transformer of four layers, width 16": lambda: _transformer(16, 2, 8),
    "single operations on four numbers": _small_operations,
}


def torch() -> dict[str, float]:
    """Return the processor seconds of a step of each program: unwatched, watched, and in anomaly mode."""
    import torch

    from memory_stage.explanation.whole_run.explanation import watching

    torch.set_num_threads(1)
    ways = {"unwatched": nullcontext, "watched": watching, "anomaly mode": torch.autograd.detect_anomaly}
    figures = {}
    for name, program in PROGRAMS.items():
        torch.manual_seed(0)
        step = program()
        step()
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(TURNS):
            for way, context in ways.items():
                with context():
                    step()
                    begun = process_time()
                    step()
                    step()
                    taken[way].append((process_time() - begun) / 2)
        figures |= {f"{name}, {way}": min(each) for way, each in taken.items()}
    return figures


FIGURES = {"torch": torch}

#: The largest accepted ratio of the watched to the plain run.
_MOST = dict(zip(PROGRAMS, (1.2, 1.2, 2.5, 15.0), strict=True))

ROWS = [
    Ratio(name, of="torch", over="torch", ours=f"{name}, watched", theirs=f"{name}, unwatched", most=most)
    for name, most in _MOST.items()
] + [
    Ratio(
        f"{name}, in anomaly mode", of="torch", over="torch", ours=f"{name}, anomaly mode", theirs=f"{name}, unwatched"
    )
    for name in PROGRAMS
]
