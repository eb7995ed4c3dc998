"""Helpers for the tests that count bytes: the meter, and tensors to write."""

from __future__ import annotations

from collections.abc import Sequence

import minitensor as mt
from minitensor.engine.device.places import current

KIB = 1024
SHAPE = [16, 16]  # 1 KiB of float32


# Requested bytes. A GPU's allocator counts them rounded up, which its tests check. Notes of
# indices are on the host even if the tensors are on a GPU, so the two are added up.


def allocated() -> int:
    """Return the bytes that are held now."""
    return mt.device.cpu.memory_allocated() + (0 if current.gpu is None else current.gpu.counters().requested)


def peak() -> int:
    """Return the peak of the bytes held since :func:`reset_peak`."""
    return mt.device.cpu.max_memory_allocated() + (0 if current.gpu is None else current.gpu.counters().max_requested)


def reset_peak() -> None:
    """Reset the peak to the bytes that are held now."""
    mt.device.cpu.reset_max_memory_allocated()
    if current.gpu is not None:
        current.gpu.counters().reset_peak()


def leaf(shape: Sequence[int] = SHAPE) -> mt.Tensor:
    """Return a leaf of ones that wants a gradient."""
    w = mt.ones(shape)
    w.stop_gradient = False
    return w


def four() -> tuple[mt.Tensor, mt.Tensor]:
    """Return a leaf, and a tensor of its numbers that can be written."""
    w = mt.to_tensor([1.0, 2.0, 3.0, 4.0], dtype="float64", stop_gradient=False)
    return w, w * 1.0


def gradient(result: mt.Tensor, w: mt.Tensor) -> list[float]:
    """Return the gradient of ``result`` for ``w``; backward can run again."""
    return mt.grad([result], [w], retain_graph=True)[0].tolist()
