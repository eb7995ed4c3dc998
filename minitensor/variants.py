"""Optional parameters that turn one operation into another: ``alpha`` of sums, ``rounding_mode`` of quotients."""

from __future__ import annotations

from typing import Any

from minitensor.kernels.numbers import number
from minitensor.tensor import Tensor


def scaled(op: str, y: Any, alpha: Any) -> Any:
    """``alpha * y``, recorded where ``y`` is a tensor."""
    factor = number(op, "alpha", alpha)
    return y.scale(factor) if isinstance(y, Tensor) else factor * y


def rounded_division(op: str, x: Any, y: Any, mode: Any) -> Any:
    """``op`` with a ``rounding_mode``."""
    from minitensor.operations import FUNCTIONS

    if mode not in ("floor", "trunc"):
        raise ValueError(f"{op}: rounding_mode is None, 'floor' or 'trunc', not {mode!r}")
    name = {"floor": "floor_divide", "trunc": "trunc_divide"}[mode]
    return FUNCTIONS[name + ("_" if op.endswith("_") else "")](x, y)


def no_activation(op: str, act: Any) -> ValueError:
    """Paddle's ``act`` names an activation to apply to the result; here that is a call of its own."""
    return ValueError(f"{op}: act must be None, not {act!r}; apply the activation to the result")
