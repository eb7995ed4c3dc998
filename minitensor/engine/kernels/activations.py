"""Forward functions of activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.device.arrays import as_array
from minitensor.engine.kernels.functions import floating, output_like
from minitensor.engine.kernels.numbers import number
from minitensor.engine.kernels.reducing import largest, total
from minitensor.engine.kernels.scans import axis_argument, with_a_dimension

Array = np.ndarray


def _not_negative(op: str, name: str, given: Any) -> float:
    """Return ``given`` as a number; raise ValueError if it is negative or nan.

    The gradient is computed from the result, which has the sign of the input only if this number is not negative.
    """
    checked = number(op, name, given)
    if not checked >= 0:
        raise ValueError(
            f"{op}: {name} must not be negative, but is {checked}: the gradient is computed from the result, "
            f"whose sign must be that of the input"
        )
    return checked


def elu_arguments(alpha: Any) -> tuple[Any, ...]:
    """Check that ``alpha`` is a number that is not negative."""
    return (_not_negative("elu", "alpha", alpha),)


def elu(a: Array, alpha: float, out: Array | None = None) -> Array:
    """``a`` where it is positive, else ``alpha * (exp(a) - 1)``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        return _positive_or(a, as_array(np.expm1(a) * a.dtype.type(alpha)), out)


def _positive_or(a: Array, below: Array, out: Array | None) -> Array:
    """Return ``a`` where it is positive, else ``below``. The elements are selected, not added, so that -0.0 is kept."""
    if out is None:
        return np.where(a > 0, a, below)
    np.copyto(below, a, where=a > 0)
    np.copyto(out, below)
    return out


def leaky_relu_arguments(negative_slope: Any) -> tuple[Any, ...]:
    """Check that ``negative_slope`` is a number that is not negative."""
    return (_not_negative("leaky_relu", "negative_slope", negative_slope),)


def leaky_relu(a: Array, negative_slope: float, out: Array | None = None) -> Array:
    """``a`` where it is positive, else ``negative_slope * a``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        return _positive_or(a, as_array(a * a.dtype.type(negative_slope)), out)


def thresholded_relu_arguments(threshold: Any, value: Any) -> tuple[Any, ...]:
    """Check that ``threshold`` and ``value`` are numbers."""
    return number("thresholded_relu", "threshold", threshold), number("thresholded_relu", "value", value)


def thresholded_relu(a: Array, threshold: float, value: float, out: Array | None = None) -> Array:
    """``a`` where it is above ``threshold``, else ``value``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        value, below = a.dtype.type(value), a <= threshold
    if out is None:
        out = a.copy()
    np.copyto(out, value, where=below)
    return out


def hardtanh_arguments(min: Any, max: Any) -> tuple[Any, ...]:
    """Check that ``min`` and ``max`` are numbers, and that ``min`` is not above ``max``."""
    low, high = number("hardtanh", "min", min), number("hardtanh", "max", max)
    if not low <= high:
        raise ValueError(f"hardtanh: min must not be above max, but they are {low} and {high}")
    return low, high


def hardtanh(a: Array, min: float, max: float, out: Array | None = None) -> Array:
    """The elements of ``a``, but not below ``min`` and not above ``max``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        return np.clip(a, a.dtype.type(min), a.dtype.type(max), out=out)


def relu6(a: Array, out: Array | None = None) -> Array:
    """The elements of ``a``, but not below 0 and not above 6."""
    return hardtanh(a, 0, 6, out)


def log_sigmoid(a: Array, out: Array | None = None) -> Array:
    """The logarithm of ``1 / (1 + exp(-a))``: ``min(a, 0) - log(1 + exp(-|a|))``, which does not overflow."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        soft = np.log1p(np.exp(-np.absolute(a)))
        return np.subtract(np.minimum(a, 0, out=output_like(a, out)), soft, out=out)


def softmax_arguments(axis: Any) -> tuple[Any, ...]:
    """Check that ``axis`` is an integer."""
    return (axis_argument("softmax", axis),)


#: The size in bytes of the parts that :func:`blocks` returns. A temporary array for one part is equally large and fits
#: into the processor's cache: a softmax of 4096 x 2048 takes 23 to 25 ms in parts, and 26 ms in one pass.
BLOCK = 1 << 19


def blocks(a: Array, axis: int) -> list[slice]:
    """Return slices that divide the first dimension of ``a``, for functions with several passes along ``axis``."""
    if type(a) is not np.ndarray or a.nbytes <= BLOCK or a.ndim < 2 or axis % a.ndim == 0:
        return [slice(None)]
    step = max(1, BLOCK * len(a) // a.nbytes)
    return [slice(begin, begin + step) for begin in range(0, len(a), step)]


@with_a_dimension
def softmax(a: Array, axis: int, out: Array | None = None) -> Array:
    """``exp(a)`` divided by its sum along ``axis``. The largest element is subtracted first, so nothing overflows."""
    a = floating(a, out)
    out = output_like(a, out)
    if a.size == 0:
        np.sum(a, axis=axis)  # raises if there is no such axis
        return out
    with np.errstate(all="ignore"):
        for part in blocks(a, axis):
            _softmax(a[part], axis, out[part])
    return out


def _softmax(a: Array, axis: int, out: Array) -> None:
    # Allocate all memory before the first write, because a device may be full.
    along = largest(a, axis, True)
    np.subtract(a, along, out)
    np.exp(out, out)
    np.divide(out, total(out, axis, True, along), out)
