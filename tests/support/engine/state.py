"""The visible state of tensors, for comparisons of two moments."""

from __future__ import annotations

import gc
from typing import Any

import minitensor as mt
from minitensor.engine.core.storage import write_log
from tests.support.engine.memory import allocated


def state_of(x: mt.Tensor) -> dict[str, Any]:
    """Return the state of one tensor. The objects ``grad_fn`` and ``grad`` in it are compared by identity."""
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
    """The state of some tensors, the write log and the counters; ``expect_unchanged`` compares it with the later state.

    The garbage collector is off until the test ends, because it would free the leftovers of other tests.
    """

    def __init__(self, **tensors: mt.Tensor) -> None:
        gc.disable()
        self.tensors = tensors
        self.before = self._look()

    def _look(self) -> dict[str, Any]:
        looked = {name: state_of(x) for name, x in self.tensors.items()}
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
