"""Bitwise operations that need more than a single call of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import flag
from minitensor.engine.device.arrays import as_array
from minitensor.engine.dtypes import INTEGERS

Array = np.ndarray


def flag_argument(is_arithmetic: Any) -> tuple[Any, ...]:
    """Check a bool."""
    return (flag("", "is_arithmetic", is_arithmetic),)


def _check_shift(a: Array, b: Array) -> None:
    if a.dtype not in INTEGERS or b.dtype not in INTEGERS:
        # If a text contains "ufunc", `explain` in `core.errors` raises its message about dtypes instead.
        raise TypeError(f"ufunc: bits must be shifted in integers, not in {a.dtype.name} by {b.dtype.name}")
    if b.size and b.min() < 0:
        raise ValueError(f"bits must be shifted by 0 or more places, not by {b.min().item()}")


def left_shift(a: Array, b: Array, is_arithmetic: bool, out: Array | None = None) -> Array:
    """The bits of ``a`` shifted left by ``b``; arithmetic and logical shifts are the same."""
    _check_shift(a, b)
    return np.left_shift(a, b, out=out)


def right_shift(a: Array, b: Array, is_arithmetic: bool, out: Array | None = None) -> Array:
    """The bits of ``a`` shifted right by ``b``. Copies of the sign bit enter in an arithmetic shift, else zeros."""
    _check_shift(a, b)
    if is_arithmetic:
        return np.right_shift(a, b, out=out)
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    shifted = np.right_shift(a.view(unsigned), b.astype(unsigned), out=None if out is None else out.view(unsigned))
    return as_array(shifted).view(a.dtype) if out is None else out
