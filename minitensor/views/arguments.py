"""What functions are given beside numbers: a tensor, an integer, an axis; each is checked in the function's name."""

from __future__ import annotations

import operator
from typing import Any

from minitensor.core.tensor import Tensor

LARGEST = 2**63  # of an integer that numpy takes


def need_tensor(op: str, x: Any) -> None:
    """Raise TypeError unless ``x`` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}")


def whole(op: str, number: Any) -> int:
    """``number`` if it is an integer.

    Raises:
        TypeError: if it is not; a fraction is never cut off.
        ValueError: if it has more than 64 bits.
    """
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{op}: an integer is needed, not {number!r}") from None
    if not -LARGEST <= found < LARGEST:
        raise ValueError(f"{op}: {found} is too large an integer for a shape, an axis or a position")
    return found


def as_axis(op: str, axis: Any, ndim: int) -> int:
    """``axis`` counted from the front.

    Raises:
        TypeError, IndexError: if it is no integer, or there is no such dimension.
    """
    number = whole(op, axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"{op}: axis {number} is out of range for a tensor of {ndim} dimensions")
    return number % ndim
