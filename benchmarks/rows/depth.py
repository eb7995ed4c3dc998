"""A chain of 1,000,000 operations on 3x4 float32: forward, backward and freeing; and freeing without backward.

Bytes per node are the additional memory of the process while the chain exists, divided by its length: the node, its
saved tensors, and the overhead of the allocator. Libraries that traverse a graph recursively fail at this depth.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.table import Limit, Ratio
from benchmarks.timing import QUICK, resident_bytes

LENGTH = 10_000 if QUICK else 1_000_000

TITLE = f"a chain of {LENGTH:,} operations on 3x4 float32"
ROUNDS = 2
PARTS = ("add", "add_")


def measure(name: str, start: Callable[[], Any], step: Callable[[Any], Any], length: int) -> dict[str, float]:
    """Return the seconds of every part and the bytes per node of a chain.

    Args:
        name: the beginning of the names of the figures.
        start: returns the tensor with which the chain begins.
        step: appends an operation to the chain, and returns its result.
        length: the number of operations.
    """
    figures: dict[str, float] = {}
    gc.collect()
    before, begun = resident_bytes(), perf_counter()
    h = start()
    for _ in range(length):
        h = step(h)
    figures[f"{name}, forward"] = perf_counter() - begun
    after = resident_bytes()
    if before is not None and after is not None:
        figures[f"{name}, bytes a node"] = (after - before) / length
    begun = perf_counter()
    h.sum().backward()
    figures[f"{name}, backward"] = perf_counter() - begun
    begun = perf_counter()
    del h
    figures[f"{name}, freed"] = perf_counter() - begun
    h = start()
    for _ in range(length):
        h = step(h)
    begun = perf_counter()
    del h
    figures[f"{name}, freed without backward"] = perf_counter() - begun
    return figures


def minitensor(op: str, length: int = LENGTH) -> dict[str, float]:
    import minitensor as mt

    y, g = mt.ones([3, 4]), mt.ones([3, 4])
    g.stop_gradient = False
    steps = {"add": lambda h: h.add(y), "add_": lambda h: h.add_(y)}
    return measure(op, lambda: g * 1.0, steps[op], length)


def torch(op: str, length: int = LENGTH) -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    y, g = torch.ones(3, 4), torch.ones(3, 4, requires_grad=True)
    steps = {"add": lambda h: h.add(y), "add_": lambda h: h.add_(y)}
    return measure(op, lambda: g * 1.0, steps[op], length)


FIGURES = {"minitensor": minitensor, "torch": torch}

_STAGES = ("forward", "backward", "freed", "freed without backward")

ROWS = [
    *(Limit(f"{op}, bytes a node", "bytes", most=400) for op in ("add", "add_")),
    *(Ratio(f"{op}, bytes a node", over="torch", unit="bytes") for op in ("add", "add_")),
    *(Ratio(f"{op}, {part}", over="torch") for op in ("add", "add_") for part in _STAGES),
]
