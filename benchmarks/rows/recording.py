"""The cost of a recorded line: a chain of small operations with gradients, recorded and not recorded.

The two kinds of runs alternate in one process. The time of a recording includes running the program, dividing it into
steps, and writing the sentences, but not drawing.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

LINES = 10 if QUICK else 200
TURNS = 1 if QUICK else 3

TITLE = f"a line of {LINES} on the stage, over the same line unwatched"
ROUNDS = 3


def seconds_per_line(start: str, names: dict[str, Any]) -> dict[str, float]:
    """Return the seconds per line in the fastest run of each kind. The source ``start`` creates ``y``."""
    import memory_stage as stage

    source = start + "y = y * 1.5\n" * LINES
    code = compile(source, "<program>", "exec")
    plain, recorded = [], []
    for _ in range(TURNS):
        begun = perf_counter()
        exec(code, dict(names))
        plain.append(perf_counter() - begun)
        begun = perf_counter()
        shown = stage.record(source, dict(names), steps=10 * LINES)
        recorded.append(perf_counter() - begun)
        assert len(shown.data["variants"][0]["steps"]) > LINES
    return {"unwatched": min(plain) / LINES, "recorded": min(recorded) / LINES}


def minitensor() -> dict[str, float]:
    import minitensor as mt

    return seconds_per_line("x = mt.ones([4])\nx.stop_gradient = False\ny = x * 1\n", {"mt": mt})


def torch() -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    return seconds_per_line("y = torch.ones(4, requires_grad=True) * 1\n", {"torch": torch})


FIGURES = {"minitensor": minitensor, "torch": torch}

ROWS = [
    Ratio("a line of minitensor", over="minitensor", ours="recorded", theirs="unwatched"),
    Ratio("a line of torch", of="torch", over="torch", ours="recorded", theirs="unwatched"),
]
