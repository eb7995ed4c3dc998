"""Variance, norms and sorting under Paddle's names, composed of operations with gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import FLOATS, HALVES, INDICES, dtype_of
from minitensor.engine.kernels.scans import positions_of_extremes
from minitensor.engine.kernels.sixteen_bits import wide
from minitensor.engine.layers.activations import powers
from minitensor.engine.layers.rearranging import reduced
from minitensor.engine.operations import FUNCTIONS as TABLE
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.operations.operands import cast
from minitensor.engine.views.parts import slice_
from minitensor.engine.views.reshaping import reshape, squeeze


def var(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    """Return the variance: the sum of squared distances from the mean, divided by the count.

    If ``unbiased`` is true, the divisor is the count minus 1, unless the count is 1.

    Returns:
        A tensor of the shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1.
        Without ``axis``, the shape is [] ([1, 1, ...] with ``keepdim``).

    Raises:
        IndexError: if ``x`` does not have that axis.
        ValueError: if there is no element.
        TypeError: if ``x`` is not a tensor.
    """
    return _rounded(_variance("var", x, axis, unbiased, keepdim), x)


def std(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    """Return the square root of :func:`var`, in the same shape.

    Raises:
        IndexError, ValueError, TypeError: as :func:`var` does.
    """
    return _rounded(TABLE["sqrt"](_variance("std", x, axis, unbiased, keepdim)), x)


def _rounded(result: Tensor, x: Tensor) -> Tensor:
    """Return ``result`` in the dtype of ``x`` if that is a 16-bit one; ``result`` was then computed in float32."""
    return cast(result, x._array.dtype) if x._array.dtype in HALVES else result


def _variance(op: str, x: Tensor, axis: Any, unbiased: bool, keepdim: bool) -> Tensor:
    need_tensor(op, x)
    if x._array.size == 0:
        raise ValueError(f"{op}: there is no element in a tensor of shape {x.shape}, so there is no mean")
    axis = _axes(op, axis, x.ndim)
    unbiased, keepdim = checks.flag(op, "unbiased", unbiased), checks.flag(op, "keepdim", keepdim)
    x = x.astype("float32") if x._array.dtype == bool or x._array.dtype in HALVES else x
    mean = TABLE["mean"](x, axis, True)
    distance = x - mean
    count = x._array.size // (mean._array.size or 1)
    divisor = max(count - 1, 1) if unbiased else count
    return TABLE["sum"](distance * distance, axis, keepdim=keepdim) / float(divisor)


def _axes(op: str, axis: Any, ndim: int) -> Any:
    """Return ``axis``, one or several, with negative numbers replaced. Errors name the function ``op``."""
    if axis is None or ndim == 0:
        return axis
    return [as_axis(op, each, ndim) for each in axis] if isinstance(axis, (list, tuple)) else as_axis(op, axis, ndim)


def norm(x: Tensor, p: Any = "fro", axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the p-norm over ``axis``, by default of all elements.

    Where an element is 0, its gradient is 0, also for ``p`` below 1, where Paddle's is nan.

    Args:
        p: a number, inf, -inf, or "fro", which means 2: the root of the sum of squares.

    Returns:
        A tensor of the shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1.
        Without ``axis``, the shape is [] ([1, 1, ...] with ``keepdim``).

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
        ValueError: if ``p`` is neither a number nor "fro".
    """
    need_tensor("norm", x)
    axis = _axes("norm", axis, x.ndim)
    p = 2 if isinstance(p, str) and p == "fro" else p
    if not isinstance(p, (int, float)):
        raise ValueError(f"norm: p must be a number or 'fro', not {checks.shown(p)}")
    if x._array.dtype in HALVES:  # the square of 256 overflows in float16
        return _rounded(norm(cast(x, np.dtype(np.float32)), p, axis, keepdim), x)
    if p == 2:
        total = TABLE["sum"](x * x, axis, keepdim=keepdim)
        is_zero = total == 0.0
        return TABLE["where"](is_zero, total, TABLE["sqrt"](TABLE["where"](is_zero, total + 1.0, total)))
    size = TABLE["abs"](x)
    if p in (math.inf, -math.inf):
        return TABLE["max" if p > 0 else "min"](size, axis, keepdim)
    if p == 0:
        return TABLE["sum"](TABLE["not_equal"](x, 0).astype(x.dtype), axis, keepdim=keepdim)
    if p == 1:
        return TABLE["sum"](size, axis, keepdim=keepdim)
    return TABLE["sum"](powers(TABLE, size, p), axis, keepdim=keepdim) ** (1.0 / p)


def argsort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the positions of the elements along ``axis`` in sorted order. Equal elements keep their order. The result
    is int64, of the shape of ``x``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    return _order("argsort", x, axis, descending)


def _order(op: str, x: Tensor, axis: Any, descending: bool) -> Tensor:
    need_tensor(op, x)
    descending = checks.flag(op, "descending", descending)
    array = host_array(x._array)
    axis = as_axis(op, axis, max(array.ndim, 1))
    if array.ndim == 0:
        order = np.zeros((), np.int64)
    else:
        order = np.argsort(np.flip(array, axis) if descending else array, axis, kind="stable")
        if descending:  # sort the reversed array, so that equal elements keep their order
            order = array.shape[axis] - 1 - np.flip(order, axis)
    return Tensor._made(like(np.array(order, np.int64, order="C"), x._array), "argsort", (x,))


def sort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return a copy in which the elements are sorted along ``axis``. Equal elements keep their order.

    Returns:
        A tensor of the shape and dtype of ``x``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    order = _order("sort", x, axis, descending)
    return TABLE["clone"](x) if x.ndim == 0 else TABLE["take_along_axis"](x, order, axis)


def topk(
    x: Tensor, k: int, axis: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest (or smallest) elements along ``axis`` (by default the last) in order, with positions.

    Returns:
        Two tensors of the shape of ``x`` with length k along ``axis``: the elements, and their positions (int64).

    Raises:
        ValueError: if ``k`` is below 1, or above the length of ``axis``.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("topk", x)
    axis, count = as_axis("topk", -1 if axis is None else axis, max(x.ndim, 1)), checks.integer("topk", "k", k)
    length = x.shape[axis] if x.ndim else 1
    if not 0 < count <= length:
        raise ValueError(f"topk: k must be from 1 to the length of axis {axis}, which is {length}, not {count}")
    order = _order("topk", x, axis, largest)
    if x.ndim == 0:
        return TABLE["clone"](x), order
    first = np.ascontiguousarray(host_array(order._array).take(range(count), axis))
    index = Tensor._made(like(first, x._array), "topk", (x,))
    return TABLE["take_along_axis"](x, index, axis), index


def median(x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the median along ``axis``, by default of all elements.

    If there are two middle elements, the median is their mean. The median is nan if an element is nan.

    Returns:
        A tensor of the shape of ``x`` without the dimension ``axis``; with ``keepdim`` it remains and has length 1.
        Without ``axis``, the shape is [] ([1, 1, ...] with ``keepdim``). For integers and 16-bit floats, the dtype is
        float32.

    Raises:
        ValueError: if there is no element.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("median", x)
    keepdim = checks.flag("median", "keepdim", keepdim)
    if x._array.size == 0:
        raise ValueError("In median, the size of input x should not be 0.")
    values = x if x.dtype in ("float32", "float64") else x.astype("float32")
    of_all = axis is None or x.ndim == 0
    values, axis = (reshape(values, [-1]), 0) if of_all else (values, as_axis("median", axis, x.ndim))
    count = values.shape[axis]
    middle = slice_(sort(values, axis), [axis], [(count - 1) // 2], [count // 2 + 1])
    nans = TABLE["where"](TABLE["isnan"](values), values, 0.0)
    found = TABLE["mean"](middle, axis, True) + TABLE["sum"](nans, axis, keepdim=True)
    if keepdim:
        return reshape(found, [1] * x.ndim) if of_all else found
    return squeeze(found, axis)


def flip(x: Tensor, axis: Any) -> Tensor:
    """Return a copy with the elements in reverse order along ``axis``, one or several. The result has the shape and
    dtype of ``x``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("flip", x)
    out = TABLE["clone"](x)
    for each in axis if isinstance(axis, (list, tuple)) else [axis]:
        position = as_axis("flip", each, x.ndim)
        out = _pick(out, position, np.arange(x.shape[position])[::-1])
    return out


def roll(x: Tensor, shifts: Any, axis: Any = None) -> Tensor:
    """Return a copy with the elements shifted cyclically by ``shifts`` along ``axis``, or in the flattened tensor. The
    result has the shape and dtype of ``x``.

    Raises:
        ValueError: if there are not as many shifts as axes.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("roll", x)
    if axis is None:
        return reshape(roll(reshape(x, [-1]), shifts, 0), x.shape)
    steps, axes = ([*each] if isinstance(each, (list, tuple)) else [each] for each in (shifts, axis))
    if len(steps) != len(axes):
        raise ValueError(
            f"roll: shifts and axis must be equally long, but there are {len(steps)} shifts and {len(axes)} axes"
        )
    out = TABLE["clone"](x)
    for step, each in zip(steps, axes, strict=True):
        position = as_axis("roll", each, x.ndim)
        length = x.shape[position]
        out = _pick(out, position, np.roll(np.arange(length), checks.integer("roll", "shifts", step) % (length or 1)))
    return out


def _pick(x: Tensor, axis: int, order: np.ndarray) -> Tensor:
    """Return ``x`` with its elements along ``axis`` rearranged: position i gets the element at ``order[i]``."""
    index = np.ascontiguousarray(order, np.int64)
    return TABLE["index_select"](x, Tensor._made(like(index, x._array)), axis)


# ---------- without nan ----------


def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Tensor:
    """Return the sum along ``axis`` (by default of all elements), without the elements that are nan. The result has the
    shape of ``x`` without the dimensions ``axis``; with ``keepdim`` they remain and have length 1.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("nansum", x)
    known = TABLE["where"](TABLE["isnan"](x), 0, x) if x._array.dtype in FLOATS else x
    return reduced("nansum", "sum", known if dtype is None else known.astype(dtype), axis, keepdim)


def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean along ``axis`` (by default of all elements), without the elements that are nan. The shape is that
    of :func:`nansum`.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("nanmean", x)
    x = x if x._array.dtype in FLOATS else x.astype("float32")
    known = TABLE["logical_not"](TABLE["isnan"](x))
    total = reduced("nanmean", "sum", TABLE["where"](known, x, 0), axis, keepdim)
    return total / reduced("nanmean", "sum", known.astype(x.dtype), axis, keepdim)


# ---------- extremes up to each element ----------


def _running(name: str, largest: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    def running(x: Tensor, axis: Any = None, dtype: Any = "int64") -> tuple[Tensor, Tensor]:
        need_tensor(name, x)
        wanted = dtype_of(dtype)
        if wanted.numpy not in INDICES:
            raise TypeError(f"{name}: dtype must be int32 or int64, not {wanted.name}")
        if axis is None:
            x, axis = reshape(x, [-1]), 0
        axis = as_axis(name, axis, x.ndim)
        array = host_array(x._array)
        found = positions_of_extremes(array.reshape(array.shape or (1,)), axis, largest).reshape(array.shape)
        index = Tensor._made(like(np.asarray(found, wanted.numpy, order="C"), x._array))
        return TABLE["take_along_axis"](x, index, axis) if x.ndim else TABLE["clone"](x), index

    running.__name__ = running.__qualname__ = name
    running.__doc__ = f"""Return for each element the {"largest" if largest else "smallest"} element up to it along
    ``axis``, and its position: the last one if several are equal. Without ``axis``, ``x`` is flattened first.

    Args:
        dtype: that of the positions, int32 or int64.

    Returns:
        Two tensors of the shape of ``x``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor, or ``dtype`` is neither int32 nor int64.
    """
    return running


cummax, cummin = _running("cummax", True), _running("cummin", False)


def isin(x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Return True where an element of ``x`` equals an element of ``test_x``; with ``invert``, where it equals none. A
    nan equals nothing. The result is a bool tensor of the shape of ``x``.

    Args:
        assume_unique: accepted for compatibility; it changes nothing.

    Raises:
        TypeError: if an argument is not a tensor.
    """
    need_tensor("isin", x)
    need_tensor("isin", test_x, "test_x")
    checks.flag("isin", "assume_unique", assume_unique)
    left, right = (wide(host_array(each._array)) for each in (x, test_x))
    found = np.isin(left, right, invert=checks.flag("isin", "invert", invert))
    return Tensor._made(like(found, x._array))


def contiguous(x: Tensor) -> Tensor:
    """Return ``x`` itself if it is contiguous, else a contiguous copy of the same shape."""
    return x if x.is_contiguous() else TABLE["clone"](x)


#: The functions that the package ``minitensor`` gets from this module, keyed by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (var, std, norm, median, argsort, sort, topk, flip, roll, nansum, nanmean, cummax, cummin, isin)
}
#: The methods that tensors get from this module, keyed by name.
METHODS: dict[str, Callable[..., Any]] = {**FUNCTIONS, "contiguous": contiguous}

for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
