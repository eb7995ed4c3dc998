"""Helpers for tests of listeners: the counters of a device, and programs that report everything they observe."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import minitensor as mt
from tests.minitensor.engine.test_watching import PROGRAMS, Report

__all__ = ["PROGRAMS", "Report", "counters", "report_of", "small_step"]


def counters(device: str) -> ModuleType:
    """The functions that count the bytes of a device, none of which a watcher is made of."""
    return mt.device.cpu if device == "cpu" else mt.device.cuda


def report_of(program: Callable[[Report], None], device: str, watcher: Any = None) -> list[Any]:
    """All that ``program`` reports: of each tensor values, layout and version; and the bytes, above the start."""
    gc.collect()
    gc.disable()
    count = counters(device)
    base = count.memory_allocated()
    count.reset_max_memory_allocated()
    seen: list[Any] = []

    def report(*tensors: mt.Tensor) -> None:
        for x in tensors:
            seen.append((x.tolist(), x.shape, x.strides, x.dtype.name, x.inplace_version, x.is_leaf, x.stop_gradient))
        seen.append((count.memory_allocated() - base, count.max_memory_allocated() - base))

    try:
        with watcher or contextlib.nullcontext():
            program(report)
            seen.append((count.memory_allocated() - base, count.max_memory_allocated() - base))
    finally:
        gc.enable()
    return seen


def small_step(x: mt.Tensor, w: mt.Tensor) -> mt.Tensor:
    """A step of training: a layer, its loss, backward."""
    h = x @ w
    h.tanh_()
    loss = (h * h).mean()
    loss.backward()
    return loss
