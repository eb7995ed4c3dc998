"""The statements that are timed, once per library.

A case has a setup, run before every burst, and a statement, run many times in a burst. In the recording cases `h`
starts as a fresh result of a leaf, so that a burst builds one chain.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One row of the table; a statement is None where the library has no such operation."""

    name: str
    minitensor: str
    torch: str | None
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
    "numpy": """
import numpy as np
x, y, w = (np.ones((3, 4), np.float32) for _ in range(3))
""",
}

RECORDING = "h = g * 1.0"

CASES = (
    Case("add", "x.add(y)", "x.add(y)", "np.add(x, y)"),
    Case("add_", "x.add_(y)", "x.add_(y)", "np.add(x, y, out=x)"),
    Case("sin_", "x.sin_()", "x.sin_()", "np.sin(x, out=x)"),
    Case("reshape", "y.reshape([4, 3])", "y.reshape([4, 3])", "y.reshape([4, 3])"),
    Case("transpose", "y.transpose([1, 0])", "y.permute(1, 0)", "y.transpose([1, 0])"),
    Case("add, recording", "g.add(y)", "g.add(y)"),
    Case("add_, recording", "h.add_(y)", "h.add_(y)", setup=RECORDING, burst=100),
    Case("sin_, recording", "h.sin_()", "h.sin_()", setup=RECORDING, burst=100),
    Case("reshape, recording", "g.reshape([4, 3])", "g.reshape([4, 3])"),
    Case("transpose, recording", "g.transpose([1, 0])", "g.permute(1, 0)"),
)
