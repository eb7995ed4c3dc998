"""Reductions along axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitensor.engine.checks import LARGEST, flag, shown
from minitensor.engine.device.arrays import as_array, normalize_axis_tuple
from minitensor.engine.dtypes import FLOATS, HALVES, SMALL
from minitensor.engine.kernels.sixteen_bits import in_float32, narrow

Array = np.ndarray


def axes(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """Return the axes that ``axis`` names: one axis, several axes, or all for None and an empty list."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return tuple(range(len(shape)))
    if not shape and axis in (0, -1):  # an array without dimensions is reduced like a vector of one element
        return ()
    if type(axis) is int and -len(shape) <= axis < len(shape):
        return (axis % len(shape),)
    given = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    for i in given:
        if not -len(shape) <= i < len(shape):  # numpy raises another error for an axis of over 32 bits
            raise np.exceptions.AxisError(i, len(shape))
    return normalize_axis_tuple(given, len(shape))


def reduce_arguments(axis: Any, keepdim: Any) -> tuple[Any, ...]:
    """Check ``axis``: None, an integer or several integers; and ``keepdim``: a bool."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if axis is not None:
        try:
            axis = tuple(map(operator.index, axis)) if isinstance(axis, (list, tuple)) else operator.index(axis)
        except TypeError:
            raise TypeError(f"axis must be an integer, a list of integers or None, not {shown(axis)}") from None
    for each in axis if isinstance(axis, tuple) else (axis,):
        if each is not None and not -LARGEST <= each < LARGEST:
            raise IndexError(f"axis is out of range: {shown(each)}")
    return axis, keepdim if keepdim is False else flag("", "keepdim", keepdim)


def _reduce(ufunc: np.ufunc, method: str, a: Array, axis: Any, keepdims: bool, **where_to: Array | None) -> Array:
    """Reduce a host array with ``ufunc``, and a GPU array with its own method, whose name is ``method``."""
    if type(a) is np.ndarray:
        reduce: Callable[..., np.ndarray] = ufunc.reduce  # numpy's stubs have no positional arguments
        return reduce(a, axis, None, where_to.get("out"), keepdims)
    return getattr(a, method)(axis=axis, keepdims=keepdims, **where_to)


def total(a: Array, axis: Any, keepdims: bool, out: Array | None = None) -> Array:
    """Return the sum over axes; 16-bit floats are added in float32."""
    if a.itemsize == 2 and a.dtype in HALVES:
        return in_float32(lambda wide, **given: _reduce(np.add, "sum", wide, axis, keepdims, **given), a, out=out)
    return _reduce(np.add, "sum", a, axis, keepdims, out=out)


def summed_to(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum the gradient ``g`` over the dimensions that broadcasting added or widened, so that its shape is ``shape``.

    The engine calls this after every backward rule. A smaller ``g`` is broadcast to ``shape``.
    """
    if g.shape == shape:
        return g
    if g.ndim < len(shape):
        g = g.reshape((1,) * (len(shape) - g.ndim) + g.shape)
    extra = g.ndim - len(shape)
    if extra > 0:
        g = total(g, tuple(range(extra)), False)
    widened = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    if widened:
        g = total(g, widened, True)
    return as_array(g) if g.shape == shape else np.broadcast_to(g, shape)


def rounded_gradients(
    gradients: Sequence[Any], inputs: Sequence[Any], given: Array, wide_given: Array
) -> tuple[Any, ...]:
    """Round float32 gradients to the 16-bit dtype of ``given``, the gradient that a node received.

    The gradients are first summed, in float32, to the shapes of the nodes ``inputs``. The rules ran on ``wide_given``,
    the float32 copy of ``given``; if a rule returned it unchanged, ``given`` itself is returned for that input.
    """
    return tuple(
        given if g is wide_given
        else g if parent is None or g is None or not hasattr(g, "dtype")
        else narrow(summed_to(as_array(g), parent.shape), given.dtype, given if hasattr(given, "host") else None)
        for g, parent in zip(gradients, inputs, strict=True)
    )  # fmt: skip


def largest(a: Array, axis: Any, keepdims: bool) -> Array:
    """Return the largest element over axes."""
    return _reduce(np.maximum, "max", a, axis, keepdims)


def sum_long(a: Array, axis: Any, keepdim: bool) -> Array:
    """The sum; bools and integers are summed as int64."""
    return total(_widen(a), axes(a.shape, axis), keepdim)


def sum_(a: Array, axis: Any, keepdim: bool) -> Array:
    """The sum. As in Paddle, bools, int32 and int64 are summed as int64, and smaller integers in their own dtype."""
    found = sum_long(a, axis, keepdim)
    return as_array(found.astype(a.dtype)) if a.dtype in SMALL else found


def _widen(a: Array) -> Array:
    """Convert bools and integers to int64: numpy would use ``intp``, which has 32 bits in a browser."""
    return a if a.dtype in FLOATS else a.astype(np.int64)


def mean(a: Array, axis: Any, keepdim: bool) -> Array:
    """The mean. For integers it is truncated towards zero; for bools it is true if any element is true."""
    over = axes(a.shape, axis)
    if a.dtype not in FLOATS:
        if a.dtype.kind == "b":
            return as_array(a.any(axis=over, keepdims=keepdim))
        summed = a.sum(axis=over, keepdims=keepdim, dtype=np.int64)
        count = math.prod([a.shape[i] for i in over])
        return (np.sign(summed) * (np.abs(summed) // count)).astype(a.dtype)
    if type(a) is not np.ndarray:
        return a.mean(axis=over, keepdims=keepdim)
    summed = total(a, over, keepdim)
    count = math.prod([a.shape[i] for i in over])
    return np.divide(summed, count, out=summed) if summed.ndim else summed / count


def prod_long(a: Array, axis: Any, keepdim: bool) -> Array:
    """The product; bools and integers are multiplied as int64."""
    return _reduce(np.multiply, "prod", _widen(a), axes(a.shape, axis), keepdim)


def prod(a: Array, axis: Any, keepdim: bool) -> Array:
    """The product. As in Paddle, int32 is multiplied as int32, and bools and other integers as int64."""
    found = prod_long(a, axis, keepdim)
    return as_array(found.astype(np.int32)) if a.dtype == np.int32 else found


def _nonempty_axes(word: str, a: Array, axis: Any) -> tuple[int, ...]:
    """Return the axes that ``axis`` names; raise ValueError if there is no element along them."""
    over = axes(a.shape, axis)
    if a.size == 0 and 0 in (a.shape[i] for i in over):
        raise ValueError(f"there is no {word} element along a dimension of length 0; the shape is {list(a.shape)}")
    return over


def counted(integers: Array, weights: Array | None, least: int) -> Array:
    """Return how often each of 0, 1, 2, ... occurs in ``integers``; with ``weights``, the sum of its weights instead.

    The result has an element for every integer up to the largest, and at least ``least`` elements. As in PyTorch and
    Paddle, the sums are float32 for float32 weights, and float64 for all other weights.
    """
    found = np.bincount(integers, weights, least)
    if weights is None:
        return found.astype(np.int64)
    return found.astype(np.float32) if weights.dtype == np.float32 else found


def max_(a: Array, axis: Any, keepdim: bool) -> Array:
    """The largest element."""
    return largest(a, _nonempty_axes("largest", a, axis), keepdim)


def min_(a: Array, axis: Any, keepdim: bool) -> Array:
    """The smallest element."""
    return _reduce(np.minimum, "min", a, _nonempty_axes("smallest", a, axis), keepdim)
