"""Helpers of the derivative table's rules on arrays.

:mod:`minitensor.engine.autograd.rules.on_tensors` defines the same names for rules that are recorded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from minitensor.engine.kernels.matrices import transposed
from minitensor.engine.kernels.reducing import axes, summed_to

Array = Any  # a numpy array, or an array on a GPU


#: :func:`where` computes with bits instead of branches if there are at least this many elements. For 1,000 x 1,000
#: random bools, which a processor cannot predict, ``np.where`` takes 4.4 ms. With bits, selecting from an array and 0
#: takes 0.3 ms, and from two arrays 0.8 ms. For 12 elements, bits would be slower.
BITS_FROM = 1024
_BITS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}


def where(condition: Array, a: Any, b: Any) -> Array:
    """Return ``np.where(condition, a, b)``. Elements that are not selected have no effect, not even inf and nan."""
    array = b if type(a) is int else a
    if (
        type(array) is not ndarray
        or array.size < BITS_FROM
        or array.dtype not in _BITS
        or array.shape != condition.shape
        or condition.dtype != np.bool_
    ):
        return np.where(condition, a, b)
    bits = _BITS[array.dtype]
    out = np.empty_like(condition, dtype=array.dtype)
    chosen = out.view(bits)
    # Multiply the bits by the condition, which is 1 or 0 as an integer. The product 0 is the number 0.0.
    if type(b) is int and b == 0:
        np.multiply(array.view(bits), condition, out=chosen)
    elif type(a) is int and a == 0:
        np.multiply(array.view(bits), np.logical_not(condition), out=chosen)
    elif array is a and type(b) is ndarray and b.shape == array.shape and b.dtype is array.dtype:
        np.bitwise_xor(array.view(bits), b.view(bits), out=chosen)
        np.multiply(chosen, condition, out=chosen)
        np.bitwise_xor(chosen, b.view(bits), out=chosen)
    else:
        return np.where(condition, a, b)
    return out


def inside(x: Array, min: Any, max: Any) -> Array:
    """True where ``x`` is strictly between the bounds of ``clip``, as in Paddle; None is no bound."""
    if min is None or max is None:
        return np.ones_like(x, np.bool_) if min is max else x < max if min is None else x > min
    return np.logical_and(x > min, x < max)


def power_slope(g: Array, x: Array, y: Array) -> Array:
    """Return ``g`` times the slope of ``x ** y`` along x; 0 where y is 0, also at x = 0."""
    if y.ndim == 0:
        exponent = y.item()
        if exponent == 2:
            return g * (x * y)
        if exponent == 0:
            return np.zeros_like(g)
    with np.errstate(all="ignore"):
        return where(y == 0, 0, g * (y * np.power(x, y - 1)))


def power_log(g: Array, x: Array, out: Array) -> Array:
    """Return ``g`` times the slope of ``out = x ** y`` along y; 0 at x = 0, unless y is below 0."""
    with np.errstate(all="ignore"):
        return where((x == 0) & np.isfinite(out), 0, g * (out * np.log(x)))


def _with_axes(result: Array, shape: tuple[int, ...], axis: Any, keepdim: bool) -> Array:
    """Return the result of a reduction in the shape with ``keepdim``: the reduced axes have length 1."""
    if keepdim:
        return result
    over = axes(shape, axis)
    return result.reshape([1 if i in over else n for i, n in enumerate(shape)])


def spread(g: Array, shape: tuple[int, ...], axis: Any, keepdim: bool) -> Array:
    """Repeat the gradient ``g`` of a reduction over the reduced elements."""
    if g.ndim == 0 and type(g) is ndarray:
        # Nearly every backward begins with a scalar. `np.ndarray` takes a sixth of the time of `np.broadcast_to`.
        repeated = ndarray(shape, g.dtype, g, 0, (0,) * len(shape))
        repeated.setflags(write=False)
        return repeated
    return np.broadcast_to(_with_axes(g, shape, axis, keepdim), shape)


def along(shape: tuple[int, ...], axis: Any) -> int:
    """Return the number of elements that a reduction along ``axis`` combines into one."""
    return math.prod([shape[i] for i in axes(shape, axis)])


def to_extremes(g: Array, x: Array, out: Array, axis: Any, keepdim: bool) -> Array:
    """Return the gradient of max or min: equal shares for elements that equal the result; nan for a result of nan."""
    g, out = (_with_axes(each, x.shape, axis, keepdim) for each in (g, out))
    at = x == out
    shares = at.view(np.int8).sum(axis=axes(x.shape, axis), dtype=np.int64 if x.size >> 31 else np.int32, keepdims=True)
    with np.errstate(all="ignore"):
        gradient = where(at, np.broadcast_to(g / shares.astype(g.dtype), x.shape), 0)
        is_known = isinstance(x, np.ndarray) and shares.all()  # a test of the numbers would wait for a device
        return gradient if is_known else np.where(shares == 0, out * g, gradient)


def product_of_others(x: Array, axis: Any) -> Array:
    """Return for every element the product of the others in its reduction. Nothing is divided, so zeros are allowed."""
    if x.size == 0:
        return np.zeros_like(x)
    along_axes = axes(x.shape, axis)
    kept = [i for i in range(x.ndim) if i not in along_axes]
    rows = x.transpose([*kept, *along_axes])
    order = rows.shape
    rows = rows.reshape([*order[: len(kept)], -1])
    before, after = np.ones_like(rows), np.ones_like(rows)
    before[..., 1:] = np.cumprod(rows[..., :-1], axis=-1)
    after[..., :-1] = np.cumprod(rows[..., :0:-1], axis=-1)[..., ::-1]
    return (before * after).reshape(order).transpose(np.argsort([*kept, *along_axes]).tolist())


def _result_matrix(g: Array, x_is_vector: bool, y_is_vector: bool) -> Array:
    """Return the gradient of a matrix product, with a dimension of length 1 added for each operand that is a vector."""
    if x_is_vector:
        g = np.expand_dims(g, -1 if y_is_vector else -2)
    if y_is_vector:
        g = np.expand_dims(g, -1)
    return g


def matmul_left(g: Array, y: Array, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Array:
    """Return the gradient of ``x @ y`` for x, which has ``shape``."""
    x_is_vector = len(shape) == 1
    g = _result_matrix(g, x_is_vector, y.ndim == 1)
    right = y[:, None] if y.ndim == 1 else transposed(y, transpose_y)
    gx = np.matmul(g, np.swapaxes(right, -1, -2))
    return summed_to(gx, (1, *shape)).reshape(shape) if x_is_vector else transposed(gx, transpose_x)


def matmul_right(g: Array, x: Array, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Array:
    """Return the gradient of ``x @ y`` for y, which has ``shape``."""
    y_is_vector = len(shape) == 1
    g = _result_matrix(g, x.ndim == 1, y_is_vector)
    left = x[None, :] if x.ndim == 1 else transposed(x, transpose_x)
    gy = np.matmul(np.swapaxes(left, -1, -2), g)
    return summed_to(gy, (*shape, 1)).reshape(shape) if y_is_vector else transposed(gy, transpose_y)
