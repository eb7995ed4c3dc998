"""Check that an argument is a tensor, an integer or an axis. Each error names the function that was called."""

from __future__ import annotations

import operator
from typing import Any

from minitensor.engine.checks import LARGEST, shown
from minitensor.engine.core.tensor import Tensor


def need_tensor(op: str, x: Any, name: str = "x") -> None:
    """Raise TypeError unless ``x`` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: {name} must be a Tensor, not {type(x).__name__}")


def whole(op: str, number: Any) -> int:
    """Return ``number`` as an int.

    Raises:
        TypeError: if it is not an integer. A float such as 2.0 is refused, too.
        ValueError: if it does not fit into 64 bits.
    """
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{op}: an integer is needed, not {shown(number)}") from None
    if not -LARGEST <= found < LARGEST:
        raise ValueError(f"{op}: {shown(found)} is too large an integer for a shape, an axis or a position")
    return found


def as_axis(op: str, axis: Any, ndim: int) -> int:
    """Return ``axis`` as an index counted from the first dimension.

    Raises:
        TypeError: if it is not an integer.
        IndexError: if there is no such dimension.
    """
    number = whole(op, axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"{op}: axis {number} is out of range for a tensor of {ndim} dimensions")
    return number % ndim
