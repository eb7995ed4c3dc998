"""Forward functions that scan along an axis, such as cumulative sums. The result has as many elements as the input."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.dtypes import SMALL
from minitensor.engine.kernels.functions import output_like

Array = np.ndarray


def axis_argument(op: str, axis: Any, name: str = "axis") -> int:
    """Return ``axis`` as an integer; raise TypeError if it is not an integer."""
    if getattr(axis, "ndim", 0) == 0 and hasattr(axis, "item"):
        axis = axis.item()
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"{op}: {name} must be an integer, not {shown(axis)}") from None


def cumsum_arguments(axis: Any) -> tuple[Any, ...]:
    """Check an axis; None means that the array is flattened."""
    return (None if axis is None else axis_argument("cumsum", axis),)


def cumprod_arguments(dim: Any) -> tuple[Any, ...]:
    """Check an axis; None means that the array is flattened."""
    return (None if dim is None else axis_argument("cumprod", dim, "dim"),)


def with_a_dimension(scan: Callable[..., Array]) -> Callable[..., Array]:
    """Decorate ``scan`` so that it treats an array without dimensions as a vector of one element."""

    @functools.wraps(scan)
    def wrapped(a: Array, axis: int | None, out: Array | None = None) -> Array:
        if a.ndim > 0 or axis is None:
            return scan(a, axis, out)
        return scan(a.reshape(1), axis, None if out is None else out.reshape(1)).reshape(())

    return wrapped


def _prepare(a: Array, axis: int | None, out: Array | None) -> tuple[Array, int, Array]:
    """Return the array to scan, the axis, and the array for the result."""
    if a.dtype == np.bool_:
        if out is not None:
            raise TypeError("the result cannot be stored in dtype bool")
        a = a.astype(np.int64)
    if a.dtype in SMALL and out is None:
        a = a.astype(np.int64)  # a sum of uint8 beyond 255 would wrap around
    if axis is None:
        if out is not None and a.ndim != 1:
            raise ValueError(
                f"without an axis the result has one dimension, and a tensor of shape {list(a.shape)} keeps its shape "
                f"in place; name an axis"
            )
        a, axis = a.reshape(-1), 0
    return a, axis, output_like(a, out)


@with_a_dimension
def cumsum(a: Array, axis: int | None, out: Array | None = None) -> Array:
    """The sum of each element and those before it along ``axis``; None flattens the array first."""
    a, axis, out = _prepare(a, axis, out)
    with np.errstate(all="ignore"):
        return np.cumsum(a, axis=axis, dtype=a.dtype, out=out)


@with_a_dimension
def cumsum_reversed(a: Array, axis: int | None, out: Array | None = None) -> Array:
    """The sum of each element and those after it along ``axis``; None flattens the array first."""
    a, axis, out = _prepare(a, axis, out)
    with np.errstate(all="ignore"):
        np.cumsum(np.flip(a, axis), axis=axis, dtype=a.dtype, out=np.flip(out, axis))
    return out


@with_a_dimension
def cumprod(a: Array, axis: int | None, out: Array | None = None) -> Array:
    """The product of each element and those before it along ``axis``; None flattens the array first."""
    a, axis, out = _prepare(a, axis, out)
    with np.errstate(all="ignore"):
        return np.cumprod(a, axis=axis, dtype=a.dtype, out=out)


def positions_of_extremes(a: Array, axis: int, largest: bool) -> Array:
    """Return for each element the position along ``axis`` of the extreme among this element and those before it.

    The extreme is the largest element, or the smallest if ``largest`` is false. Among equal extremes, the position of
    the last one is returned. From the first nan on, it is the position of the last nan so far.
    """
    found = (np.maximum if largest else np.minimum).accumulate(a, axis)
    places = np.arange(a.shape[axis]).reshape([-1 if i == axis % a.ndim else 1 for i in range(a.ndim)])
    return np.maximum.accumulate(np.where((a == found) | (a != a), places, 0), axis)
