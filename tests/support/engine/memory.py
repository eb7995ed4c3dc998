"""Helpers for the tests that count bytes: the counters of the device, and tensors to write."""

from __future__ import annotations

from collections.abc import Sequence

import minitensor as mt
from minitensor.engine.device.places import current

KIB = 1024
SHAPE = [16, 16]  # 1 KiB of float32


# The functions count requested bytes, because a GPU's allocator rounds sizes up; separate tests check the rounding. The
# index arrays of preserved cells are always on the host, so the counts of the host and the GPU are added.


def allocated() -> int:
    """Return the number of bytes that are allocated now."""
    return mt.device.cpu.memory_allocated() + (0 if current.gpu is None else current.gpu.counters().requested)


def peak() -> int:
    """Return the peak of the allocated bytes since :func:`reset_peak`."""
    return mt.device.cpu.max_memory_allocated() + (0 if current.gpu is None else current.gpu.counters().max_requested)


def reset_peak() -> None:
    """Reset the peak to the bytes that are allocated now."""
    mt.device.cpu.reset_max_memory_allocated()
    if current.gpu is not None:
        current.gpu.counters().reset_peak()


def leaf(shape: Sequence[int] = SHAPE) -> mt.Tensor:
    """Return a leaf of ones that requires a gradient."""
    w = mt.ones(shape)
    w.stop_gradient = False
    return w


def four() -> tuple[mt.Tensor, mt.Tensor]:
    """Return a leaf of four numbers, and a tensor with these numbers that may be written."""
    w = mt.to_tensor([1.0, 2.0, 3.0, 4.0], dtype="float64", stop_gradient=False)
    return w, w * 1.0


def gradient(result: mt.Tensor, w: mt.Tensor) -> list[float]:
    """Return the gradient of ``result`` with respect to ``w``, and keep the graph."""
    return mt.grad([result], [w], retain_graph=True)[0].tolist()
