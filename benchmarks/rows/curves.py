"""Cost curves: seconds and bytes by the size of a tensor, 12 bytes to 400 MB, and by the depth of a graph.

The curves by size show an addition of two tensors, out of place and in place: its seconds, and its peak bytes without
the operands. The curves by depth show a chain of 1 to 1,000,000 ``add_`` on a 3x4 float32 tensor that requires a
gradient: the seconds of forward and of backward, and the bytes of the graph. The name of a figure ends with its
position on the curve: ``add, seconds @ 4000``.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.table import Curve
from benchmarks.timing import QUICK, fastest

TITLE = "cost curves"

PARTS = ("size", "depth", "graph")
ROUNDS = 2

#: The sizes of the tensors in bytes: three in each power of ten, beginning with three float32 numbers.
SIZES = [12, *(4 * round(10 ** (k / 3) / 4) for k in range(4, 26)), 400_000_000][: 9 if QUICK else None]
DEPTHS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000][: 6 if QUICK else None]


def size() -> dict[str, float]:
    """Return the figures for the curves over the bytes of a tensor."""
    import minitensor as mt

    figures: dict[str, float] = {}
    for nbytes in SIZES:
        x, y = mt.ones([nbytes // 4]), mt.ones([nbytes // 4])
        times = 1 + 100_000 // (nbytes + 500)
        programs: dict[str, Callable[[], Any]] = {"add": lambda x=x, y=y: x.add(y), "add_": lambda x=x, y=y: x.add_(y)}
        for name, program in programs.items():
            figures[f"{name}, seconds @ {nbytes}"] = fastest(repeat(program, times), 0.1) / times
            before = mt.device.cpu.memory_allocated()
            mt.device.cpu.reset_max_memory_allocated()
            program()
            figures[f"{name}, bytes @ {nbytes}"] = mt.device.cpu.max_memory_allocated() - before
    return figures


def repeat(program: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return a function that runs ``program`` the given number of times, because one run is too short for the clock."""

    def run() -> None:
        for _ in range(times):
            program()

    return run


def chain(depth: int) -> tuple[float, float]:
    """Return the seconds that forward takes on a chain, and those that backward takes."""
    import minitensor as mt

    y, g = mt.ones([3, 4]), mt.ones([3, 4])
    g.stop_gradient = False
    begun = perf_counter()
    h = g * 1.0
    for _ in range(depth):
        h.add_(y)
    middle = perf_counter()
    h.sum().backward()
    return middle - begun, perf_counter() - middle


def depth() -> dict[str, float]:
    """Return the figures for the curves of time over the length of a chain."""
    figures: dict[str, float] = {}
    for depth in DEPTHS:
        gc.collect()
        forward, backward = zip(*(chain(depth) for _ in range(max(2, min(200, 50_000 // depth)))), strict=True)
        figures[f"forward, seconds @ {depth}"] = min(forward)
        figures[f"backward, seconds @ {depth}"] = min(backward)
    return figures


def graph() -> dict[str, float]:
    """Return the figures for the curve of a chain's bytes over its length."""
    import minitensor as mt

    y, g = mt.ones([3, 4]), mt.ones([3, 4])
    g.stop_gradient = False
    figures: dict[str, float] = {}
    chain(1)
    tracemalloc.start()
    for depth in DEPTHS:
        before = tracemalloc.get_traced_memory()[0]
        h = g * 1.0
        for _ in range(depth):
            h.add_(y)
        figures[f"graph, bytes @ {depth}"] = tracemalloc.get_traced_memory()[0] - before
        del h
    tracemalloc.stop()
    return figures


FIGURES = {"minitensor": lambda case: {"size": size, "depth": depth, "graph": graph}[case]()}

ROWS = [
    Curve("add, seconds", "s", "byte of a tensor"),
    Curve("add_, seconds", "s", "byte of a tensor"),
    Curve("add, bytes", "bytes", "byte of a tensor"),
    Curve("add_, bytes", "bytes", "byte of a tensor"),
    Curve("forward, seconds", "s", "operation"),
    Curve("backward, seconds", "s", "operation"),
    Curve("graph, bytes", "bytes", "operation"),
]
