"""Functions that the rules of the derivative table call on tensors. The operations in these functions are recorded.

Every function corresponds to the function of the same name in :mod:`minitensor.engine.operations.rules.on_arrays`, but
uses operations that have gradients themselves. Masks and counts have no gradient and are computed on arrays.

If ``where`` discards elements of a branch, the inputs of these elements are replaced by a harmless number before the
branch is computed. It would not suffice to discard the branch's result, because its gradient 0 would be multiplied by
an infinite slope, which makes nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitensor.engine import operations
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device import arrays
from minitensor.engine.device.arrays import as_array
from minitensor.engine.kernels.reducing import axes
from minitensor.engine.operations.operands import cast
from minitensor.engine.operations.rules import on_arrays
from minitensor.engine.views import joining, reshaping, transposing

#: The table's operations with one result, which rules may call.
OPERATIONS: Mapping[str, Callable[..., Tensor]] = operations.FUNCTIONS
_where, _log, _matmul, _sum, _prod = (OPERATIONS[name] for name in ("where", "log", "matmul", "sum", "prod"))


def constant(array: np.ndarray) -> Tensor:
    """Return a tensor that requires no gradient, for masks and counts."""
    return Tensor._made(array)


def beside(g: Tensor, x: Tensor) -> Tensor:
    """Return ``x``, after moving it to the device of ``g`` if it is a constant number, which has no device."""
    x._array = arrays.beside(x._array, g._array)
    return x


def rounded_to(gradients: Sequence[Tensor | None], dtype: np.dtype) -> list[Tensor | None]:
    """Convert gradients to a 16-bit ``dtype``; None stays None. Beside a number, a gradient may be float32."""
    return [g if g is None or g._array.dtype == dtype else cast(g, dtype) for g in gradients]


def inside(x: Tensor, min: Any, max: Any) -> Tensor:
    """Return a mask of the elements that are strictly between the bounds of ``clip``."""
    return constant(on_arrays.inside(x._array, min, max))


def power_slope(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return ``g`` times the slope of ``x ** y`` along x."""
    flat = y._array == 0
    if not y.stop_gradient:
        flat = flat & (x._array == 0)  # if x is not 0, the slope is 0 at y = 0, but a second derivative along y is not
    flat = constant(as_array(flat))
    return _where(flat, 0.0, g) * (y * _where(flat, 1.0, x) ** (y - 1))


def power_log(g: Tensor, x: Tensor, out: Tensor) -> Tensor:
    """Return ``g`` times the slope of ``out = x ** y`` along y."""
    at_zero = constant(as_array((x._array == 0) & np.isfinite(out._array)))
    return _where(at_zero, 0.0, g) * (_where(at_zero, 0.0, out) * _log(_where(at_zero, 1.0, x)))


def spread(g: Tensor, shape: tuple[int, ...], axis: Any, keepdim: bool) -> Tensor:
    """Return ``g``, the gradient of a reduction's result, repeated over the reduced dimensions."""
    if not keepdim:
        reduced = axes(shape, axis)
        g = reshaping.reshape(g, [1 if i in reduced else n for i, n in enumerate(shape)])
    return joining.expand(g, shape)


def along(shape: tuple[int, ...], axis: Any) -> int:
    """Return the number of elements that a reduction along ``axis`` combines into one."""
    return on_arrays.along(shape, axis)


def to_extremes(g: Tensor, x: Tensor, out: Tensor, axis: Any, keepdim: bool) -> Tensor:
    """Return the gradient of the input of max or min."""
    shape = x._array.shape
    at = x._array == on_arrays.spread(out._array, shape, axis, keepdim)
    shares = at.sum(axis=axes(shape, axis), keepdims=True).astype(g._array.dtype)
    none = np.where(shares == 0, shares.dtype.type(np.nan), shares.dtype.type(0))  # a nan equals nothing
    return _where(constant(at), spread(g, shape, axis, keepdim) / constant(shares), constant(none))


def product_of_others(x: Tensor, axis: Any) -> Tensor:
    """Return, for every element, the product of all other elements that are reduced with it.

    The function allocates one number for each pair of elements.
    """
    shape = x._array.shape
    reduced = axes(shape, axis)
    kept = [i for i in range(len(shape)) if i not in reduced]
    order = [*kept, *reduced]
    rows = transposing.transpose(x, order)
    turned_shape = rows._array.shape
    lengths = [shape[i] for i in kept]
    count = along(shape, axis)
    pairs = joining.expand(reshaping.reshape(rows, [*lengths, 1, count]), [*lengths, count, count])
    itself = np.broadcast_to(np.eye(count, dtype=np.bool_, like=x._array), pairs._array.shape)
    others = _prod(_where(constant(itself.copy()), 1.0, pairs), -1)
    return transposing.transpose(reshaping.reshape(others, turned_shape), np.argsort(order).tolist())


def summed_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum the broadcast dimensions of ``g``, so that it has ``shape``."""
    have = g._array.shape
    if have == shape:
        return g
    if len(have) < len(shape):
        have = (1,) * (len(shape) - len(have)) + have
        g = reshaping.reshape(g, have)
    extra = len(have) - len(shape)
    if extra > 0:
        g = _sum(g, list(range(extra)))
        have = have[extra:]
    widened = [i for i, n in enumerate(shape) if n == 1 and have[i] != 1]
    if widened:
        g = _sum(g, widened, True)
    return g if g._array.shape == shape else joining.expand(g, shape)


def _transposed(x: Tensor, transpose: bool) -> Tensor:
    ndim = x._array.ndim
    return transposing.transpose(x, [*range(ndim - 2), ndim - 1, ndim - 2]) if transpose and ndim > 1 else x


def _result_matrix(g: Tensor, x_is_vector: bool, y_is_vector: bool) -> Tensor:
    if x_is_vector:
        g = reshaping.unsqueeze(g, -1 if y_is_vector else -2)
    return reshaping.unsqueeze(g, -1) if y_is_vector else g


def matmul_left(g: Tensor, y: Tensor, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Tensor:
    """Return the gradient of ``x @ y`` for x, which has ``shape``."""
    x_is_vector, y_is_vector = len(shape) == 1, y._array.ndim == 1
    g = _result_matrix(g, x_is_vector, y_is_vector)
    right = reshaping.unsqueeze(y, -1) if y_is_vector else _transposed(y, transpose_y)
    gx = _matmul(g, _transposed(right, True))
    if x_is_vector:
        return reshaping.reshape(summed_to(gx, (1, *shape)), shape)
    return _transposed(gx, transpose_x)


def matmul_right(g: Tensor, x: Tensor, shape: tuple[int, ...], transpose_x: bool, transpose_y: bool) -> Tensor:
    """Return the gradient of ``x @ y`` for y, which has ``shape``."""
    x_is_vector, y_is_vector = x._array.ndim == 1, len(shape) == 1
    g = _result_matrix(g, x_is_vector, y_is_vector)
    left = reshaping.unsqueeze(x, 0) if x_is_vector else _transposed(x, transpose_x)
    gy = _matmul(_transposed(left, True), g)
    if y_is_vector:
        return reshaping.reshape(summed_to(gy, (*shape, 1)), shape)
    return _transposed(gy, transpose_y)
