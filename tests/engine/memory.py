"""What the tests that count bytes share: the meter, and tensors of 1 KiB."""

from __future__ import annotations

from collections.abc import Sequence

import minitensor as mt

KIB = 1024
SHAPE = [16, 16]  # 1 KiB of float32
allocated = mt.device.cpu.memory_allocated


def leaf(shape: Sequence[int] = SHAPE) -> mt.Tensor:
    """A leaf of ones that wants a gradient."""
    w = mt.ones(shape)
    w.stop_gradient = False
    return w
