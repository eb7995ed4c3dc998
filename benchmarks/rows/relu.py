"""relu on a matrix of 10000x10000 float32, 400 MB: with one thread, and with two.

Out of place, the result is freed before the next call, as in a program with many steps. Half of the numbers are
negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

Program = Callable[[], Any]

SIDE = 100 if QUICK else 10_000

TITLE = f"relu on {SIDE}x{SIDE} float32"

SECONDS = 1.5
ROUNDS = 3
PEAKS = ("relu", "relu_")


def matrix() -> Any:
    """Return a matrix of normal random numbers, the same for all libraries. All its rows are equal."""
    import numpy as np

    row = np.random.default_rng(0).standard_normal(SIDE, np.float32)
    return np.tile(row, (SIDE, 1))


def minitensor() -> dict[str, Program]:
    import minitensor as mt

    relu, relu_ = mt.nn.functional.relu, mt.nn.functional.relu_
    x = mt.to_tensor(matrix())

    def with_threads(count: int, program: Program) -> Program:
        def run() -> None:
            mt.device.cpu.set_num_threads(count)
            program()

        return run

    return {
        "relu": with_threads(1, lambda: relu(x)),
        "relu_": with_threads(1, lambda: relu_(x)),
        "relu, two threads": with_threads(2, lambda: relu(x)),
        "relu_, two threads": with_threads(2, lambda: relu_(x)),
    }


def numpy() -> dict[str, Program]:
    import numpy as np

    x = matrix()
    return {"relu": lambda: np.maximum(x, 0), "relu_": lambda: np.maximum(x, 0, out=x)}


def torch() -> dict[str, Program]:
    import torch

    x = torch.from_numpy(matrix())

    def with_threads(count: int, program: Program) -> Program:
        def run() -> None:
            torch.set_num_threads(count)
            program()

        return run

    return {
        "relu": with_threads(1, lambda: torch.relu(x)),
        "relu_": with_threads(1, lambda: torch.relu_(x)),
        "relu, two threads": with_threads(2, lambda: torch.relu(x)),
        "relu_, two threads": with_threads(2, lambda: torch.relu_(x)),
    }


def paddle() -> dict[str, Program]:
    import paddle
    import paddle.nn.functional as F

    x = paddle.to_tensor(matrix())
    return {"relu": lambda: F.relu(x), "relu_": lambda: F.relu_(x)}


PROGRAMS = {"minitensor": minitensor, "numpy": numpy, "torch": torch, "paddle": paddle}

ROWS = [
    Ratio("relu", over="numpy", most=0.6),
    Ratio("relu_", over="numpy", most=1.05),
    Ratio("relu, two threads", over="torch", most=1.0),
    Ratio("relu_, two threads", over="torch"),
    Ratio("relu", over="torch"),
    Ratio("relu_", over="torch"),
    Ratio("relu", over="paddle"),
    Ratio("relu_", over="paddle"),
    Ratio("relu, peak", over="numpy", unit="bytes"),
    Ratio("relu_, peak", over="numpy", unit="bytes"),
]
