"""Forward functions that consist of a few calls of numpy, which write into ``out`` if possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.device.arrays import as_array
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.dtypes import limits as limits_of
from minitensor.engine.kernels.numbers import number, stored
from minitensor.engine.kernels.sixteen_bits import in_own_dtype

Array = np.ndarray


def floating(a: Array, out: Array | None = None) -> Array:
    """Return ``a`` if it has floats. Otherwise, return a float32 copy, or raise TypeError if ``out`` is given."""
    if a.dtype in FLOATS:
        return a
    if out is not None:
        raise TypeError(f"the result cannot be stored in dtype {a.dtype.name}")
    return a.astype(np.float32)


def output_like(a: Array, out: Array | None) -> Array:
    """Return the array for a result like ``a``: ``out``, or new memory."""
    return np.empty_like(a) if out is None else out


def sinc(a: Array, out: Array | None = None) -> Array:
    """``sin(pi a) / (pi a)``, and 1 at 0."""
    a = floating(a, out)
    out = output_like(a, out)
    with np.errstate(all="ignore"):
        angle, zero = a * math.pi, a == 0
        np.sin(angle, out=out)
        np.divide(out, angle, out=out)
    np.copyto(out, 1, where=zero)
    return out


NO_BOUND = -math.inf


def logit_arguments(eps: Any) -> tuple[Any, ...]:
    """Check that ``eps`` is a number from 0 to 0.5. Replace None by -inf, which clips nothing."""
    if eps is None or eps is NO_BOUND:
        return (NO_BOUND,)
    eps = number("logit", "eps", eps)
    if not 0 <= eps <= 0.5:
        raise ValueError(f"logit: eps must be between 0 and 0.5, not {eps}")
    return (eps,)


def logit(a: Array, eps: float, out: Array | None = None) -> Array:
    """``log(a / (1 - a))``, with ``a`` clipped to the range from ``eps`` to ``1 - eps`` first."""
    a = floating(a, out)
    out = output_like(a, out)
    with np.errstate(all="ignore"):
        # Allocate all memory before the first write, because a device may be full.
        rest = as_array(1 - np.clip(a, eps, 1 - eps))
        np.clip(a, eps, 1 - eps, out=out)
        np.divide(out, rest, out=out)
        return np.log(out, out=out)


def lerp(a: Array, b: Array, weight: Array, out: Array | None = None) -> Array:
    """``a + weight * (b - a)``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        return np.add(a, weight * (b - a), out=out)


def heaviside(a: Array, b: Array, out: Array | None = None) -> Array:
    """0 where ``a`` is negative or nan, 1 where it is positive, and ``b`` where it is 0."""
    found = np.where(a == 0, b, (a > 0).astype(b.dtype))
    return found if out is None else np.positive(found, out=out)


def xlogy(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a * log(b)``; 0 where ``a`` is 0, unless ``b`` is nan."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        found = a * np.log(b)
        found = np.where((a == 0) & ~np.isnan(b), found.dtype.type(0), found)
        return found if out is None else np.positive(found, out=out)


def ldexp(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a * 2 ** b``, without intermediate overflow or underflow; ``b`` may have a fraction."""
    a, b = floating(a, out), floating(b)
    with np.errstate(all="ignore"):
        exponent, b = b, np.clip(b, -5000, 5000)  # beyond these, every number becomes 0 or inf
        whole = np.floor(b)
        # For an infinite exponent, the power is inf or 0, and the product with `a` may be nan.
        a = np.where(np.isinf(exponent), a * np.exp2(exponent), a)
        return np.ldexp(a * np.exp2(b - whole), whole.astype(np.int32), out=out)


def nan_to_num_arguments(nan: Any, posinf: Any, neginf: Any) -> tuple[Any, ...]:
    """Check a number, and two numbers that may be None."""
    return number("nan_to_num", "nan", nan), *(
        None if given is None else number("nan_to_num", name, given)
        for name, given in (("posinf", posinf), ("neginf", neginf))
    )


@in_own_dtype
def nan_to_num(a: Array, nan: float, posinf: float | None, neginf: float | None, out: Array | None = None) -> Array:
    """``a``, in which the argument ``nan`` replaces every nan, ``posinf`` every inf and ``neginf`` every -inf.

    None means the largest or the lowest number of the dtype.
    """
    if a.dtype not in FLOATS:
        return a.copy() if out is None else out
    limits = limits_of(a.dtype)
    with np.errstate(all="ignore"):
        others = [
            stored("nan_to_num", float(value), a.dtype)[()]
            for value in (nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
        ]
        places = np.isnan(a), a == math.inf, a == -math.inf
    if out is None:
        out = a.copy()
    for other, place in zip(others, places, strict=True):
        np.copyto(out, other, where=place)
    return out
