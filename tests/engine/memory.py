"""What the tests that count bytes share: the meter, and tensors to write."""

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


def four() -> tuple[mt.Tensor, mt.Tensor]:
    """A leaf, and a tensor of its numbers that can be written."""
    w = mt.to_tensor([1.0, 2.0, 3.0, 4.0], dtype="float64", stop_gradient=False)
    return w, w * 1.0


def gradient(result: mt.Tensor, w: mt.Tensor) -> list[float]:
    """The gradient of ``result`` for ``w``; backward can run again."""
    return mt.grad([result], [w], retain_graph=True)[0].tolist()
