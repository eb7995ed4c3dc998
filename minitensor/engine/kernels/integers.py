"""Forward functions on integers only."""

from __future__ import annotations

import numpy as np

from minitensor.engine.dtypes import INTEGERS

Array = np.ndarray


def _only_integers(a: Array, b: Array) -> None:
    for array in (a, b):
        if array.dtype not in INTEGERS:
            raise TypeError(f"both operands must be integers, not {array.dtype.name}")


def gcd(a: Array, b: Array, out: Array | None = None) -> Array:
    """The greatest common divisor, never negative; 0 where both operands are 0."""
    _only_integers(a, b)
    return np.gcd(a, b, out=out)


def lcm(a: Array, b: Array, out: Array | None = None) -> Array:
    """The least common multiple, never negative; 0 where an operand is 0."""
    _only_integers(a, b)
    return np.lcm(a, b, out=out)
