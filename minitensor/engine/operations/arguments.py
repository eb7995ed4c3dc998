"""Check that an argument is a tensor or an axis. Each error names the function that was called."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor


def need_tensor(op: str, x: Any, name: str = "x") -> None:
    """Raise TypeError unless ``x`` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: {name} must be a Tensor, not {type(x).__name__}")


def as_axis(op: str, axis: Any, ndim: int) -> int:
    """Return ``axis`` as an index counted from the first dimension.

    Raises:
        TypeError: if it is not an integer.
        IndexError: if there is no such dimension.
    """
    number = checks.integer(op, "axis", axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"{op}: axis {number} is out of range for a tensor of {ndim} dimensions")
    return number % ndim
