"""Training without the garbage collector: memory stays constant if there are no reference cycles.

The training steps are those of the networks in ``mlp.py`` and ``cnn.py``, and a step that writes through views.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks.rows import cnn, mlp
from benchmarks.table import Limit
from benchmarks.timing import QUICK

TITLE = "training steps with the garbage collector off"

#: The number of steps in a run of each program, and the largest number of runs.
STEPS_IN_A_RUN = {"views": 500, "mlp": 150, "mlp with layers": 150, "cnn": 40}
RUNS = 20
if QUICK:
    STEPS_IN_A_RUN, RUNS = dict.fromkeys(STEPS_IN_A_RUN, 5), 2
ROUNDS = 1

#: The bytes of Python's smallest object. If a step leaves fewer bytes, it leaves no object.
LEAST_OBJECT = 16


def minitensor() -> dict[str, float]:
    import minitensor as mt

    x, w = mt.ones([8, 8]), mt.ones([8, 8])
    w.stop_gradient = False

    def views() -> None:
        h = x * w
        h[0].add_(h[1])
        h[:, 2:4].scale_(0.5)
        kept = h.t()
        h.sin_()
        (kept.sum() + h[3].exp().sum()).backward()
        with mt.no_grad():
            w.subtract_(w.grad.scale_(1e-3))
        w.clear_gradient(set_to_zero=False)

    networks = mlp.minitensor()
    programs: dict[str, Callable[[], Any]] = {
        "views": views,  # this runs first, because it fills the log of the last 1,024 writes
        "mlp": networks["step"],
        "mlp with layers": networks["step with layers"],
        "cnn": cnn.minitensor()["step"],
    }
    figures: dict[str, float] = {}
    tracemalloc.start()
    for name, program in programs.items():
        figures |= {f"{name}, {what}": figure for what, figure in growth(program, STEPS_IN_A_RUN[name]).items()}
    tracemalloc.stop()
    return figures


def growth(program: Callable[[], Any], steps: int) -> dict[str, float]:
    """Return how many bytes a step leaves (of tensors, and in total), and how many objects the collector then finds.

    A leak makes memory grow in every run. Caches and logs of bounded length grow only in the first runs. So the figure
    is the least growth of all runs, and the first run without growth is the last.
    """
    import minitensor as mt

    gc.collect()
    gc.disable()
    try:
        grew: list[float] = []
        while len(grew) < RUNS and min(grew, default=LEAST_OBJECT) >= LEAST_OBJECT:
            tensors, everything = mt.device.cpu.memory_allocated(), tracemalloc.get_traced_memory()[0]
            for _ in range(steps):
                program()
            stayed = mt.device.cpu.memory_allocated() - tensors
            grew.append((tracemalloc.get_traced_memory()[0] - everything) / steps)
    finally:
        gc.enable()
    return {
        "tensor bytes a step": stayed / steps,
        "bytes a step": max(0.0, min(grew)),
        "objects in cycles": gc.collect(),
    }


FIGURES = {"minitensor": minitensor}

ROWS = [
    row
    for name in STEPS_IN_A_RUN
    for row in (
        Limit(f"{name}, tensor bytes a step", "bytes", most=0),
        Limit(f"{name}, bytes a step", "bytes", most=LEAST_OBJECT),
        Limit(f"{name}, objects in cycles", "objects", most=0),
    )
]
