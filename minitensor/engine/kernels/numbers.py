"""Check arguments that are numbers, and convert them to the values that a dtype can store."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.device.arrays import may_share
from minitensor.engine.dtypes import INTEGERS

Array = np.ndarray

_LARGEST = int(sys.float_info.max)


def number(op: str, name: str, given: Any) -> int | float:
    """Return ``given`` as a Python number.

    Raises:
        TypeError: if ``given`` is not one number, or is a tensor that requires a gradient.
        ValueError: if ``given`` is an integer beyond the largest float.
    """
    if not getattr(given, "stop_gradient", True):
        raise TypeError(
            f"{op}: {name} must be a number without a gradient, but this tensor requires one. Pass its `detach()`."
        )
    if not isinstance(given, (int, float)) or isinstance(given, np.generic):
        if getattr(given, "size", None) != 1 or not hasattr(given, "item"):
            raise TypeError(f"{op}: {name} must be a number, not {type(given).__name__}")
        given = given.item()
    if isinstance(given, int) and abs(given) > _LARGEST:
        raise ValueError(f"{op}: {name} must be a number that a float can hold, not {shown(given)}")
    if isinstance(given, (bool, int, float)):
        return int(given) if isinstance(given, bool) else given
    raise TypeError(f"{op}: {name} must be a number, not {type(given).__name__}")


def refuse_bools(*arrays: Array) -> None:
    """Raise TypeError if an array holds bools."""
    if any(a.dtype == np.bool_ for a in arrays):
        raise TypeError("bools have no arithmetic of their own; convert first: `x.astype('int64')`")


def without_fraction(n: int | float) -> int | float:
    """Return a whole float as an int, and any other number unchanged.

    Without this, Paddle's default scale 1.0 would turn integers into floats.
    """
    return int(n) if isinstance(n, float) and n.is_integer() else n


def stored(op: str, value: int | float, dtype: np.dtype) -> Array:
    """Return ``value`` as an array of ``dtype``; an integer dtype truncates. Raise ValueError if it does not fit."""
    try:
        if dtype in INTEGERS:
            value = int(value)
        return np.asarray(value, dtype)
    except (OverflowError, ValueError):
        raise ValueError(f"{op}: {shown(value)} cannot be stored in a tensor of dtype {dtype.name}") from None


def stored_array(op: str, array: Array, dtype: np.dtype) -> Array:
    """Convert ``array`` to ``dtype``; an integer dtype truncates. Raise ValueError if an element does not fit."""
    if dtype in INTEGERS and array.dtype != dtype and array.size and array.dtype.kind != "b":
        lowest, highest = array.min().item(), array.max().item()
        bounds = np.iinfo(dtype)
        # Written in this way, the condition also holds if `lowest` is nan.
        if not (bounds.min <= lowest and highest <= bounds.max):
            worst = lowest if not lowest >= bounds.min else highest
            raise ValueError(f"{op}: {worst} cannot be stored in a tensor of dtype {dtype.name}")
    # Operations compare dtypes by identity, but an unpickled array has another object for the same dtype.
    return array if array.dtype is dtype else array.astype(dtype)


def overwrite(target: Array, numbers: Array) -> None:
    """Assign ``target[...] = numbers`` correctly even if both share memory.

    numpy misses some overlaps, for example if a row is overwritten with a column that crosses it.
    """
    if may_share(numbers, target):
        numbers = numbers.copy()
    np.copyto(target, numbers, casting="unsafe")
