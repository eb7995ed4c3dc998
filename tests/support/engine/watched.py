"""Helpers for tests of listeners: the counters of a device, and programs that report their values and memory."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.memory import allocated, peak, reset_peak

Report = Callable[..., None]


# ---------- programs that report their state ----------


def training(report: Report) -> None:
    mt.seed(4)
    w, data = mt.randn([3, 2]), mt.randn([5, 3])
    w.stop_gradient = False
    for _ in range(3):
        hidden = data @ w
        mt.tanh_(hidden)
        loss = (hidden * hidden).mean()
        loss.backward()
        report(w.grad, loss)
        with mt.no_grad():
            w.subtract_(w.grad * 0.1)
        w.clear_grad()
        report(w)


def groups(report: Report) -> None:
    w = mt.to_tensor(np.arange(6.0).reshape(2, 3) + 1, stop_gradient=False)
    x = w * 1
    row, column = x[0], x.T[1]
    row.retain_grads()
    column.scale_(2.0)
    row.sin_()
    x[1] = row
    x[[0, 1]] = x[[1, 0]]
    alias = x.detach()
    alias.add_(1.0)
    report(x, row, column, alias)
    x.reshape_([3, 2])
    ((x * 3).sum() + (row * row).sum()).backward(retain_graph=True)
    report(x, w.grad, row.grad)
    del row, column
    report(x)


def errors(report: Report) -> None:
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    x = w * 1
    y = x * x
    for attempt in (
        lambda: w.add_(1.0),
        lambda: x.add_(mt.ones([3])),
        lambda: x.add_("a"),
        lambda: x[9],
        lambda: x.reshape_([3]),
        lambda: (x.add_(1.0), y.backward()),
    ):
        with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
            attempt()
        report(w, x, y)


def hooks(report: Report) -> None:
    w = mt.to_tensor([1.0, 2.0], "float64", stop_gradient=False)
    x = w * 1
    x.register_hook(lambda g: report(g))
    x.register_hook(lambda g: g * 2)
    x.retain_grads()
    (x.exp() + x).sum().backward()
    report(w.grad, x.grad)
    report(*mt.grad((w * w).sum(), w))


PROGRAMS = [training, groups, errors, hooks]


def run(program: Callable[[Report], None]) -> list[Any]:
    """Return the report of a program: values, layouts and versions of tensors, and bytes above those at the start."""
    gc.collect()
    gc.disable()
    base = allocated()
    reset_peak()
    seen: list[Any] = []

    def report(*tensors: mt.Tensor) -> None:
        for x in tensors:
            seen.append((x.tolist(), x.shape, x.strides, x.dtype.name, x.inplace_version, x.is_leaf, x.stop_gradient))
        seen.append(allocated() - base)
        seen.append(peak() - base)

    try:
        program(report)
        seen.append(allocated() - base)
    finally:
        gc.enable()
    return seen


# ---------- devices ----------


def counters(device: str) -> ModuleType:
    """Return the module with the byte counters of a device. The tested listeners do not use these."""
    return mt.device.cpu if device == "cpu" else mt.device.cuda


def report_of(program: Callable[[Report], None], device: str, watcher: Any = None) -> list[Any]:
    """Return the report of a program as ``run`` does, with the counters of ``device`` and inside ``watcher``."""
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
    """Run a training step: a layer, its loss and backward."""
    h = x @ w
    h.tanh_()
    loss = (h * h).mean()
    loss.backward()
    return loss
