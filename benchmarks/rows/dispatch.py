"""The overhead of one operation on a tensor of 3x4 float32, for which the arithmetic takes almost no time.

In the recording cases ``g`` is a leaf that requires a gradient, and ``h`` is a new result of ``g`` in each burst, so
that the in-place operations of a burst build one chain. ``relu_`` saves its result, which the next operation of a chain
would overwrite, so each ``relu_`` gets a new result of ``g``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import fastest_statement

TITLE = "one operation on 3x4 float32"

#: The number of bursts of a case. There are many, so that other programs leave at least one uninterrupted.
BURSTS = 150


@dataclass(frozen=True)
class Case:
    """A statement for each library (None if the library lacks the operation), and a setup to run before each burst."""

    name: str
    minitensor: str
    torch: str | None
    paddle: str | None
    numpy: str | None = None
    setup: str = "pass"
    burst: int = 500


IMPORTS = {
    "minitensor": """
import minitensor as mt
x, y, w = mt.ones([3, 4]), mt.ones([3, 4]), mt.full([3, 4], 1.0)
g = mt.ones([3, 4]); g.stop_gradient = False
""",
    "torch": """
import torch
torch.set_num_threads(1)
x, y, w = torch.ones(3, 4), torch.ones(3, 4), torch.ones(3, 4)
g = torch.ones(3, 4, requires_grad=True)
""",
    "paddle": """
import paddle
import paddle.nn.functional as F
x, y, w = paddle.ones([3, 4]), paddle.ones([3, 4]), paddle.ones([3, 4])
g = paddle.ones([3, 4]); g.stop_gradient = False
""",
    "numpy": """
import numpy as np
x, y, w = (np.ones((3, 4), np.float32) for _ in range(3))
""",
}

FRESH = "h = g * 1.0"
MANY = "hs = iter([g * 1.0 for _ in range(100)])"

CASES = (
    Case("add", "x.add(y)", "x.add(y)", "x.add(y)", "np.add(x, y)"),
    Case("add_", "x.add_(y)", "x.add_(y)", "x.add_(y)", "np.add(x, y, out=x)"),
    Case("add, recording", "g.add(y)", "g.add(y)", "g.add(y)"),
    Case("add_, recording", "h.add_(y)", "h.add_(y)", "h.add_(y)", setup=FRESH, burst=100),
    Case("sin_", "x.sin_()", "x.sin_()", "x.sin_()", "np.sin(x, out=x)"),
    Case("sin_, recording", "h.sin_()", "h.sin_()", "h.sin_()", setup=FRESH, burst=100),
    Case("relu_", "x.relu_()", "x.relu_()", "F.relu_(x)", "np.maximum(x, 0, out=x)"),
    Case("relu_, recording", "next(hs).relu_()", "next(hs).relu_()", "F.relu_(next(hs))", setup=MANY, burst=100),
    Case("reshape", "y.reshape([4, 3])", "y.reshape([4, 3])", "y.reshape([4, 3])", "y.reshape([4, 3])"),
    Case("reshape, recording", "g.reshape([4, 3])", "g.reshape([4, 3])", "g.reshape([4, 3])"),
    Case("transpose", "y.transpose([1, 0])", "y.permute([1, 0])", "y.transpose([1, 0])", "y.transpose([1, 0])"),
    Case("transpose, recording", "g.transpose([1, 0])", "g.permute([1, 0])", "g.transpose([1, 0])"),
)


def seconds(library: str) -> dict[str, float]:
    """Return the seconds of every case that ``library`` can run."""
    scope: dict[str, Any] = {}
    exec(IMPORTS[library], scope)
    return {
        case.name: fastest_statement(statement, case.setup, scope, case.burst, BURSTS)
        for case in CASES
        if (statement := getattr(case, library)) is not None
    }


FIGURES = {library: lambda library=library: seconds(library) for library in IMPORTS}

#: Maps a case to the largest allowed ratio to PyTorch's time.
_MOST = {
    "add": 0.8,
    "add_": 0.7,
    "add, recording": 0.75,
    "add_, recording": 0.55,
    "sin_, recording": 0.65,
    "relu_": 1.0,
    "reshape": 0.4,
    "transpose": 0.65,
}

ROWS = [
    row
    for case in CASES
    for row in (
        Ratio(case.name, over="torch", most=_MOST.get(case.name)),
        *([Ratio(case.name, over="numpy")] if case.numpy else []),
        Ratio(case.name, over="paddle"),
    )
]
