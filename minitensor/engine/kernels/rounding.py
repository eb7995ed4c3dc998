"""Forward functions that round, and divisions with a remainder."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.functions import output_like
from minitensor.engine.kernels.numbers import refuse_bools

Array = np.ndarray


# ---------- to whole numbers ----------


def _round_floats(ufunc: np.ufunc, a: Array, out: Array | None) -> Array:
    refuse_bools(a)
    return ufunc(a, out=out) if a.dtype in FLOATS else np.positive(a, out=out)


def ceil(a: Array, out: Array | None = None) -> Array:
    """The smallest integer that is not below ``a``."""
    return _round_floats(np.ceil, a, out)


def floor(a: Array, out: Array | None = None) -> Array:
    """The largest integer that is not above ``a``."""
    return _round_floats(np.floor, a, out)


def trunc(a: Array, out: Array | None = None) -> Array:
    """The integer part, without the fraction."""
    return _round_floats(np.trunc, a, out)


def frac(a: Array, out: Array | None = None) -> Array:
    """The fraction that ``trunc`` removes, with the sign of ``a``."""
    refuse_bools(a)
    with np.errstate(all="ignore"):
        return np.fmod(a, a.dtype.type(1), out=out)


def round_arguments(decimals: Any) -> tuple[Any, ...]:
    """Check an integer; None, which Python's ``round(x, None)`` passes, means 0."""
    if decimals is None:
        return (0,)
    try:
        return (operator.index(decimals),)
    except TypeError:
        raise TypeError(f"round: decimals must be an integer, not {shown(decimals)}") from None


def round_(a: Array, decimals: int, out: Array | None = None) -> Array:
    """``a`` rounded to ``decimals`` places (-2: to hundreds), halves away from zero; numpy rounds halves to even."""
    refuse_bools(a)
    if a.dtype not in FLOATS:
        return _round_whole(a, decimals, out)
    if decimals == 0:
        return _to_nearest(a, output_like(a, out))
    digits = np.finfo(a.dtype).maxexp * 3 // 10  # 10 ** digits must be finite in this dtype
    if decimals > digits:
        return np.positive(a, out=out)
    if decimals < -digits:
        finite = np.isfinite(a)
        out = a.copy() if out is None else out
        np.copyto(out, 0, where=finite)
        return out
    power = a.dtype.type(10 ** abs(decimals))
    with np.errstate(all="ignore"):
        move, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
        moved = move(a, power, out=np.empty_like(a))
        # If the product overflows, the number is too large to have so many decimals.
        unmoved = ~np.isfinite(moved)
        back(_to_nearest(moved, moved), power, out=moved)
        np.copyto(moved, a, where=unmoved)
        return np.positive(moved, out=out)


def _to_nearest(a: Array, out: Array) -> Array:
    """Return the nearest integer; halves are rounded away from zero.

    The number just below 0.5 is added instead of 0.5, because the sum of 0.49999997 and 0.5 would be rounded to 1.
    """
    with np.errstate(all="ignore"):
        np.add(a, np.copysign(np.nextafter(a.dtype.type(0.5), a.dtype.type(0)), a), out=out)
        return np.trunc(out, out=out)


def _round_whole(a: Array, decimals: int, out: Array | None) -> Array:
    if decimals >= 0:
        return np.positive(a, out=out)
    largest = np.iinfo(a.dtype).max
    if decimals < -20 or 10**-decimals // 2 > largest:
        return np.multiply(a, a.dtype.type(0), out=out)
    power, sign = 10**-decimals, np.sign(a)
    rest = a if power > largest else np.fmod(a, a.dtype.type(power))
    half = sign * a.dtype.type(power // 2)
    away = np.where(sign < 0, rest <= half, rest >= half)
    # A rounded number that does not fit into the dtype wraps around, as in all integer arithmetic.
    step = np.uint64(power).astype(a.dtype)
    return np.add(a - rest, sign * step * away, out=out)


# ---------- division with a remainder ----------


def _check_divisor(a: Array, b: Array) -> None:
    refuse_bools(a, b)
    if b.dtype not in FLOATS and a.size and not b.all():
        raise ValueError("integers cannot be divided by 0, and the divisor has a 0")


def floor_divide(a: Array, b: Array, out: Array | None = None) -> Array:
    """The quotient, rounded down.

    Raises:
        ValueError: if integers are divided by 0.
    """
    _check_divisor(a, b)
    with np.errstate(all="ignore"):
        return np.floor_divide(a, b, out=out)


def trunc_divide(a: Array, b: Array, out: Array | None = None) -> Array:
    """The quotient, rounded towards zero.

    Raises:
        ValueError: if integers are divided by 0.
    """
    _check_divisor(a, b)
    with np.errstate(all="ignore"):
        if a.dtype in FLOATS:
            return np.trunc(np.divide(a, b, out=out), out=out)
        one_too_low = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
        return np.add(np.floor_divide(a, b), one_too_low, out=out)


def remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """The remainder of ``a / b`` if the quotient is rounded down. The remainder has the sign of ``b``.

    Raises:
        ValueError: if integers are divided by 0.
    """
    _check_divisor(a, b)
    with np.errstate(all="ignore"):
        return np.remainder(a, b, out=out)


def fmod(a: Array, b: Array, out: Array | None = None) -> Array:
    """The remainder of ``a / b`` if the quotient is rounded towards zero. The remainder has the sign of ``a``.

    Raises:
        ValueError: if integers are divided by 0.
    """
    _check_divisor(a, b)
    with np.errstate(all="ignore"):
        return np.fmod(a, b, out=out)
