"""Observe the state that a refused call must not change: its arguments, and the modes of the process."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitensor
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array
from minitensor.engine.modes import modes
from minitensor.engine.random import source
from minitensor.torch import printing
from minitensor.torch.errors import anomaly
from tests.support.vocabulary.wrong_arguments.values import Values


def _seen(value: Any, depth: int = 0) -> Any:
    """Return the properties of a value that can be compared later: numbers, shapes, versions, settings."""
    if depth > 4:
        return None
    if isinstance(value, Tensor):
        array = host_array(value._array)
        grad = value.grad
        return (
            *(array.tobytes(), array.shape, str(array.dtype), value._storage.version, value.stop_gradient),
            None if grad is None else host_array(grad._array).tobytes(),
        )
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), repr(value)
    if isinstance(value, (list, tuple)):
        return [_seen(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return [(repr(key), _seen(each, depth + 1)) for key, each in value.items()]
    if type(value).__module__.startswith("minitensor") and hasattr(value, "__dict__"):
        return {name: _seen(each, depth + 1) for name, each in vars(value).items()}
    if type(value) is int:
        return value
    return None if type(value).__module__ not in ("builtins",) or callable(value) else repr(value)[:200]


def _seen_bytes(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {name: _seen_bytes(each) for name, each in value.items()}
    return tuple(map(_seen_bytes, value)) if isinstance(value, (tuple, list)) else value


class State:
    """Observe the arguments of a call and the modes of the process."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def modes(self) -> dict[str, Any]:
        """Return the modes of the thread and the state of the random generators."""
        found = {
            "grad mode": modes.grad,
            "policy": modes.policy,
            "casts": modes.casts,
            "device": minitensor.get_device(),
        }
        if self.values.is_torch:
            found["random state"] = _seen_bytes(self.values.vocabulary.get_rng_state())
        else:
            found["random state"] = repr(source.generator.bit_generator.state)
        return found

    def seen(self, arguments: list[Any]) -> tuple[list[Any], list[Any], dict[str, Any]]:
        """Return the arguments, their state, and the state of the modes."""
        return arguments, [_seen(each) for each in arguments], self.modes()

    def changed(self, before: tuple[list[Any], list[Any], dict[str, Any]]) -> str:
        """Return a text about the difference from ``before``; empty if there is none."""
        arguments, seen, modes_then = before
        for i, (value, then) in enumerate(zip(arguments, seen, strict=True)):
            now = _seen(value)
            if now != then:
                return f"argument {i}, a {type(value).__name__}"
        now_modes = self.modes()
        return ", ".join(name for name, then in modes_then.items() if now_modes[name] != then)

    def restore(self) -> None:
        """Restore the modes that a successful call may have changed."""
        modes.grad, modes.policy, modes.inference, modes.layer = True, "2.6", False, ""
        modes.casts, modes.cast_copies = None, None
        anomaly.on, anomaly.check_nan = False, True
        minitensor.check_foreign_writes(False)
        minitensor.set_printoptions(precision=8, threshold=1000, edgeitems=3, linewidth=80)
        printing.set_printoptions(profile="default")
        if minitensor.get_device() != "cpu":
            minitensor.set_device("cpu")
