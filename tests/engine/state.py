"""Everything that can be seen of tensors, to hold one moment against another."""

from __future__ import annotations

import gc
from typing import Any

import minitensor as mt
from minitensor.engine.core.storage import write_log
from tests.engine.memory import allocated


def seen(x: mt.Tensor) -> dict[str, Any]:
    """What one tensor shows. History is compared by identity: ``grad_fn`` and ``grad`` are the same objects or not."""
    return {
        "values": x.numpy().tobytes(),
        "dtype": x.dtype.name,
        "shape": x.shape,
        "strides": x.strides,
        "offset": x.offset,
        "data_ptr": x.data_ptr(),
        "version": x.inplace_version,
        "stop_gradient": x.stop_gradient,
        "is_leaf": x.is_leaf,
        "grad_fn": id(x.grad_fn),
        "grad": id(x.grad),
        "grad values": None if x.grad is None else x.grad.tolist(),
        "name": x.name,
    }


class Moment:
    """What some tensors, the write log and the meter show now; ``expect_unchanged`` compares with later.

    Until the test ends the garbage collector rests: it would free what other tests left behind.
    """

    def __init__(self, **tensors: mt.Tensor) -> None:
        gc.disable()
        self.tensors = tensors
        self.before = self._look()

    def _look(self) -> dict[str, Any]:
        looked = {name: seen(x) for name, x in self.tensors.items()}
        looked["program"] = {
            "write log": list(write_log),
            "allocated": allocated(),
            "grad mode": mt.is_grad_enabled(),
            "policy": mt.get_inplace_policy(),
        }
        return looked

    def expect_unchanged(self) -> None:
        after = self._look()
        for name, was in self.before.items():
            changed = {what: (was[what], now) for what, now in after[name].items() if was[what] != now}
            assert not changed, f"{name} changed (before, after): {changed}"
