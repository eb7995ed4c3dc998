"""Forward functions that networks use."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.kernels.functions import floating, room
from minitensor.kernels.numbers import number
from minitensor.kernels.scans import axis_argument, with_a_dimension

Array = np.ndarray


def _not_negative(op: str, name: str, given: Any) -> float:
    """A number whose sign lets the result show on which side of 0 its input was."""
    checked = number(op, name, given)
    if not checked >= 0:
        raise ValueError(
            f"{op}: {name} must not be negative, but is {checked}: the gradient is taken from the result, which then "
            f"does not tell whether the input was above 0"
        )
    return checked


def elu_arguments(alpha: Any) -> tuple[Any, ...]:
    """A number that is not negative."""
    return (_not_negative("elu", "alpha", alpha),)


def elu(a: Array, alpha: float, out: Array | None = None) -> Array:
    """``a`` where it is positive, else ``alpha * (exp(a) - 1)``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        below = np.minimum(a, 0, out=np.empty_like(a))
        np.multiply(np.expm1(below, out=below), alpha, out=below)
        # One of the two summands is 0.
        return np.add(np.maximum(a, 0, out=room(a, out)), below, out=out)


def leaky_relu_arguments(negative_slope: Any) -> tuple[Any, ...]:
    """A number that is not negative."""
    return (_not_negative("leaky_relu", "negative_slope", negative_slope),)


def leaky_relu(a: Array, negative_slope: float, out: Array | None = None) -> Array:
    """``a`` where it is positive, else ``negative_slope * a``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        below = np.minimum(a, 0) * negative_slope
        return np.add(np.maximum(a, 0, out=room(a, out)), below, out=out)


def thresholded_relu_arguments(threshold: Any, value: Any) -> tuple[Any, ...]:
    """Two numbers."""
    return number("thresholded_relu", "threshold", threshold), number("thresholded_relu", "value", value)


def thresholded_relu(a: Array, threshold: float, value: float, out: Array | None = None) -> Array:
    """``a`` where it is above ``threshold``, else ``value``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        value, below = a.dtype.type(value), ~(a > threshold)
    if out is None:
        out = a.copy()
    np.copyto(out, value, where=below)
    return out


def hardtanh_arguments(min: Any, max: Any) -> tuple[Any, ...]:
    """Two numbers, the lower first."""
    low, high = number("hardtanh", "min", min), number("hardtanh", "max", max)
    if not low <= high:
        raise ValueError(f"hardtanh: min must not be above max, but they are {low} and {high}")
    return low, high


def hardtanh(a: Array, min: float, max: float, out: Array | None = None) -> Array:
    """``a``, but not below ``min`` nor above ``max``."""
    a = floating(a, out)
    with np.errstate(all="ignore"):
        return np.clip(a, a.dtype.type(min), a.dtype.type(max), out=out)


def relu6(a: Array, out: Array | None = None) -> Array:
    """``a``, but not below 0 nor above 6."""
    return hardtanh(a, 0, 6, out)


def softmax_arguments(axis: Any) -> tuple[Any, ...]:
    """An integer."""
    return (axis_argument("softmax", axis),)


@with_a_dimension
def softmax(a: Array, axis: int, out: Array | None = None) -> Array:
    """``exp(a)`` over its sum along ``axis``; the largest element is subtracted first, so nothing overflows."""
    a = floating(a, out)
    out = room(a, out)
    if a.size == 0:
        np.sum(a, axis=axis)  # refuses an axis that is not there
        return out
    with np.errstate(all="ignore"):
        # All memory is asked for before the first write: a device may have no more.
        along = np.max(a, axis=axis, keepdims=True)
        np.subtract(a, along, out=out)
        np.exp(out, out=out)
        return np.divide(out, np.sum(out, axis=axis, keepdims=True, out=along), out=out)
