"""100 additions on a matrix of 1000x1000 float32, normal and in place: the first comparison of the book.

Out of place, each result is a new matrix, and the previous one is freed. In place, every addition overwrites ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

Program = Callable[[], Any]

SIDE, TIMES = (100, 100) if QUICK else (1000, 100)

TITLE = f"{TIMES} additions on {SIDE}x{SIDE} float32"

SECONDS = 0.4
PEAKS = ("out of place", "in place")


def numpy() -> dict[str, Program]:
    import numpy as np

    x, y = np.ones((SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), np.float32)

    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = np.add(z, y)

    def in_place() -> None:
        for _ in range(TIMES):
            np.add(x, y, out=x)

    return {"out of place": out_of_place, "in place": in_place}


def minitensor() -> dict[str, Program]:
    import minitensor as mt

    x, y = mt.ones([SIDE, SIDE]), mt.ones([SIDE, SIDE])

    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = mt.add(z, y)

    def in_place() -> None:
        for _ in range(TIMES):
            x.add_(y)

    return {"out of place": out_of_place, "in place": in_place}


def torch() -> dict[str, Program]:
    import torch

    torch.set_num_threads(1)
    x, y = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)

    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = torch.add(z, y)

    def in_place() -> None:
        for _ in range(TIMES):
            x.add_(y)

    return {"out of place": out_of_place, "in place": in_place}


def paddle() -> dict[str, Program]:
    import paddle

    x, y = paddle.ones([SIDE, SIDE]), paddle.ones([SIDE, SIDE])

    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = paddle.add(z, y)

    def in_place() -> None:
        for _ in range(TIMES):
            x.add_(y)

    return {"out of place": out_of_place, "in place": in_place}


def mygrad() -> dict[str, Program]:
    import mygrad as mg

    x, y = mg.ones((SIDE, SIDE), "float32", constant=True), mg.ones((SIDE, SIDE), "float32", constant=True)

    @mg.no_autodiff
    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = mg.add(z, y)

    @mg.no_autodiff
    def in_place() -> None:
        for _ in range(TIMES):
            mg.add(x, y, out=x)

    return {"out of place": out_of_place, "in place": in_place}


def tinygrad() -> dict[str, Program]:
    """Compute one step at a time, because otherwise tinygrad would compute all 100 steps in one pass."""
    from tinygrad import Tensor, dtypes

    x, y = (Tensor.ones(SIDE, SIDE, dtype=dtypes.float32).contiguous().realize() for _ in range(2))

    def out_of_place() -> None:
        z = x
        for _ in range(TIMES):
            z = z.add(y).realize()

    def in_place() -> None:
        for _ in range(TIMES):
            x.assign(x.add(y)).realize()

    return {"out of place": out_of_place, "in place": in_place}


PROGRAMS = {
    "minitensor": minitensor,
    "numpy": numpy,
    "torch": torch,
    "paddle": paddle,
    "mygrad": mygrad,
    "tinygrad": tinygrad,
}

ROWS = [
    *(Ratio(name, over=library) for library in PROGRAMS if library != "minitensor" for name in PEAKS),
    # tinygrad keeps its buffers for the next run, so a peak cannot be measured.
    *(
        Ratio(f"{name}, peak", over=library, unit="bytes")
        for library in PROGRAMS
        if library not in ("minitensor", "tinygrad")
        for name in PEAKS
    ),
]
