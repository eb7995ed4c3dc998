"""Elementwise forward functions that need more than a single call of numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import maximum, ndarray

from minitensor.engine.checks import flag
from minitensor.engine.device.arrays import as_array, may_share
from minitensor.engine.dtypes import FLOATS, ByNumpyDType
from minitensor.engine.kernels.numbers import number, refuse_bools, stored, without_fraction

Array = np.ndarray

#: For each dtype, an array with a 0, because to convert a Python number at every call would take 200 ns.
_ZEROS = ByNumpyDType(lambda dtype: np.zeros((), dtype.numpy))


def square(a: Array, out: Array | None = None) -> Array:
    """``a * a``."""
    refuse_bools(a)
    return np.square(a, out=out)


def sign(a: Array, out: Array | None = None) -> Array:
    """1, 0 or -1."""
    refuse_bools(a)
    return np.sign(a, out=out)


def negative(a: Array, out: Array | None = None) -> Array:
    """``-a``. In place it multiplies by -1, because ``np.negative`` of numpy 2.4.6 misreads some strided arrays."""
    refuse_bools(a)
    if out is None:
        return np.negative(a)
    return np.multiply(a, np.iinfo(a.dtype).max if a.dtype.kind == "u" else a.dtype.type(-1), out=out)


def power(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a ** b``. Squares are computed by multiplication, which is many times faster than ``np.power``."""
    refuse_bools(a)
    if b.ndim == 0 and a.dtype in FLOATS:
        exponent = b.item()
        if exponent == 2:
            return np.square(a, out=out)
        if exponent == 1:
            return np.positive(a, out=out)
    if a.dtype not in FLOATS and (out is not None or type(a) is not ndarray) and (b < 0).any():
        # numpy would raise an error after writing half of the result, and a device would raise none.
        raise ValueError("Integers to negative integer powers are not allowed.")
    return np.power(a, b, out=out)


def _for_result(op: str, a: Array, numbers: list[Any], out: Array | None) -> Array:
    """Return ``a``, or a float32 copy of it if ``a`` has integers and one of ``numbers`` is not an integer.

    Raises:
        TypeError: if a copy would be needed but ``out`` is given, because its dtype cannot become floating.
    """
    if a.dtype in FLOATS or all(n is None or isinstance(n, int) for n in numbers):
        return a
    if out is not None:
        raise TypeError(f"{op}: the result cannot be stored in dtype {a.dtype.name}")
    return a.astype(np.float32)


def scale_arguments(scale: Any, bias: Any, bias_after_scale: Any) -> tuple[Any, ...]:
    """Check two numbers and a bool."""
    if bias_after_scale is not True:
        bias_after_scale = flag("", "bias_after_scale", bias_after_scale)
    if type(scale) is type(bias) is float:
        return scale, bias, bias_after_scale
    return number("scale", "scale", scale), number("scale", "bias", bias), bias_after_scale


def scale(a: Array, scale: Any, bias: Any, bias_after_scale: bool, out: Array | None = None) -> Array:
    """``scale * a + bias``, or ``scale * (a + bias)``."""
    if bias == 0 and type(a) is ndarray and a.dtype in FLOATS:
        scaled = np.multiply(a, np.array(scale, a.dtype), out)  # an array, because a scalar takes 300 ns more
        # As in Paddle, adding the zero turns -0.0 into 0.0.
        return np.add(scaled, _ZEROS[a.dtype], scaled if type(scaled) is ndarray else out)
    refuse_bools(a)
    whole = [without_fraction(scale), without_fraction(bias)]
    a = _for_result("scale", a, whole, out)
    if a.dtype not in FLOATS:
        scale, bias = whole
    if not bias_after_scale:
        bias = bias * scale
    # Convert both numbers, which may fail, before anything is written.
    factor, summand = a.dtype.type(scale), a.dtype.type(bias)
    with np.errstate(all="ignore"):
        result = np.multiply(a, factor, out=out)
        if bias == 0 and a.dtype not in FLOATS:
            return result
        return np.add(result, summand, out=None if isinstance(result, np.generic) else result)


def clip_arguments(min: Any, max: Any) -> tuple[Any, ...]:
    """Check two numbers, or None."""
    return tuple(None if n is None else number("clip", name, n) for name, n in (("min", min), ("max", max)))


def clip(a: Array, min: Any, max: Any, out: Array | None = None) -> Array:
    """``a``, but not below ``min`` and not above ``max``; None sets no bound."""
    refuse_bools(a)
    a = _for_result("clip", a, [min, max], out)
    if min is None and max is None:
        return np.positive(a, out=out)
    clip: Callable[..., Array] = np.clip  # numpy's stubs have no overload for ``out=None`` and these bounds
    bounds = [None if n is None else stored(name, n, a.dtype)[()] for name, n in (("min", min), ("max", max))]
    return clip(a, *bounds, out=out)


def relu(a: Array, out: Array | None = None) -> Array:
    """``a`` where it is positive, else 0."""
    return maximum(a, _ZEROS[a.dtype] if type(a) is ndarray else 0, out=out)


def reciprocal(a: Array, out: Array | None = None) -> Array:
    """``1 / a``."""
    return np.divide(1, a, out=out)


def rsqrt(a: Array, out: Array | None = None) -> Array:
    """``1 / sqrt(a)``."""
    with np.errstate(all="ignore"):
        return np.divide(1, np.sqrt(a, out=out), out=out)


def sigmoid(a: Array, out: Array | None = None) -> Array:
    """``1 / (1 + exp(-a))``, computed with tanh, which does not overflow."""
    with np.errstate(all="ignore"):
        half = np.multiply(a, 0.5, out=out)
        half = as_array(half)
        np.tanh(half, out=half)
        np.multiply(half, 0.5, out=half)
        return np.add(half, 0.5, out=half)


def fill_arguments(value: Any) -> tuple[Any, ...]:
    """Check one number."""
    return (number("fill_", "value", value),)


def fill(a: Array, value: Any, out: Array) -> Array:
    """Set every element to ``value``, which is truncated if the dtype is an integer dtype."""
    np.copyto(out, stored("value", value, a.dtype)[()])
    return out


def fill_zero(a: Array, out: Array) -> Array:
    """Set every element to 0."""
    np.copyto(out, out.dtype.type(0))
    return out


def where(condition: Array, a: Array, b: Array, out: Array | None = None) -> Array:
    """``a`` where ``condition`` is true, else ``b``."""
    if out is None:
        return np.where(condition, a, b)
    condition, b = (array.copy() if may_share(array, out) else array for array in (condition, b))
    np.copyto(out, b, where=np.logical_not(condition))
    return out


def copy(a: Array) -> Array:
    """A contiguous copy."""
    return a.copy()
