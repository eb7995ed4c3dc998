"""One addition of matrices of 1000x1000 float32, 4 MB, which takes almost all its time in numpy's arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio

TITLE = "one addition on 1000x1000 float32"

Program = Callable[[], Any]

SIDE = 1000

SECONDS = 0.4


def minitensor() -> dict[str, Program]:
    import minitensor as mt

    x, y = mt.ones([SIDE, SIDE]), mt.ones([SIDE, SIDE])
    return {"add": lambda: mt.add(x, y), "add_": lambda: x.add_(y)}


def numpy() -> dict[str, Program]:
    import numpy as np

    x, y = np.ones((SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), np.float32)
    return {"add": lambda: np.add(x, y), "add_": lambda: np.add(x, y, out=x)}


def torch() -> dict[str, Program]:
    import torch

    torch.set_num_threads(1)
    x, y = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)
    return {"add": lambda: torch.add(x, y), "add_": lambda: x.add_(y)}


PROGRAMS = {"minitensor": minitensor, "numpy": numpy, "torch": torch}

ROWS = [
    Ratio("add_", over="numpy", most=1.05),
    Ratio("add", over="numpy", most=1.05),
    Ratio("add_", over="torch"),
    Ratio("add", over="torch"),
]
