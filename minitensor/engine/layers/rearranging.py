"""Repeat, reorder or reduce elements: tiles, grids of coordinates, the k-th smallest element, differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.errors import named_instead
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.layers.activations import norm_along
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.joining import expand
from minitensor.engine.views.parts import slice_
from minitensor.engine.views.reshaping import reshape, squeeze


def tile(op: str, x: Tensor, times: list[int]) -> Tensor:
    """Return ``x`` repeated along its last dimensions; ``times`` has the number of repetitions for each of them.

    If there are more numbers than dimensions, dimensions of length 1 are added in front.

    Raises:
        ValueError: if a number is negative.
    """
    if any(n < 0 for n in times):
        raise ValueError(f"{op}: numbers of repetitions must be at least 0, not {times}")
    shape = [1] * (len(times) - x.ndim) + list(x.shape)
    times = [1] * (x.ndim - len(times)) + times
    pairs = [length for n, length in zip(times, shape, strict=True) for length in (n, length)]
    spread = expand(reshape(x, [length for n in shape for length in (1, n)]), pairs)
    return reshape(spread, [n * length for n, length in zip(times, shape, strict=True)])


def repeat_interleave(op: str, x: Tensor, repeats: Any, axis: int) -> Tensor:
    """Return ``x`` with each position along ``axis`` repeated ``repeats`` times.

    Raises:
        ValueError: if a number is negative, or if there are several numbers, but not one for each position.
        IndexError: if ``x`` has no dimensions.
    """
    given = repeats.tolist() if isinstance(repeats, np.ndarray) else repeats
    numbers = (
        checks.integers(op, "repeats", given)
        if isinstance(given, (list, tuple))
        else [checks.integer(op, "repeats", given)]
    )
    counts = np.array(numbers, np.int64)
    if (counts < 0).any():
        raise ValueError(f"{op}: numbers of repetitions must be at least 0, not {min(numbers)}")
    if not x._array.ndim:
        raise IndexError(f"{op}: axis must be None for a tensor without dimensions, not {axis}")
    length = x._array.shape[axis]
    if counts.size not in (1, length):
        raise ValueError(f"{op}: {counts.size} numbers of repetitions were given for {length} positions")
    total = sum(numbers) * (length if counts.size == 1 else 1)
    # Refuse a result that is too large before anything is allocated.
    as_shape(op, [*x._array.shape[:axis], total, *x._array.shape[axis + 1 :]])
    positions = np.repeat(np.arange(length), counts.reshape(-1) if counts.size > 1 else int(counts.reshape(-1)[0]))
    return FUNCTIONS["index_select"](x, Tensor._made(like(positions, x._array)), axis)


def meshgrid(
    op: str, vectors: Sequence[Tensor], indexing: str, spread: Callable[[Tensor, list[int]], Tensor] = expand
) -> list[Tensor]:
    """Return one tensor for each vector, all of the same shape; each repeats its vector along all dimensions but one.

    Args:
        indexing: "ij" for dimensions in the order of the vectors; "xy" exchanges the first two dimensions.
        spread: a function ``spread(x, shape)`` that repeats ``x`` along dimensions of length 1, as a copy or a view.

    Raises:
        ValueError: if a tensor has more than one dimension, or ``indexing`` is neither "ij" nor "xy".
    """
    checks.choice(op, "indexing", indexing, ("ij", "xy"))
    for x in vectors:
        need_tensor(op, x)
        if x._array.ndim > 1:
            raise ValueError(f"{op}: a vector must have one dimension or none, but this one has shape {x.shape}")
    order = list(range(len(vectors)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = [vectors[i]._array.size for i in order]
    grids = []
    for i, x in enumerate(vectors):
        shape_of_vector = [1] * len(vectors)
        shape_of_vector[order[i]] = x._array.size
        grids.append(spread(reshape(x, shape_of_vector), shape))
    return grids


def window_strides(op: str, x: Tensor, axis: Any, size: Any, step: Any) -> tuple[list[int], list[int]]:
    """Return the shape and the strides, in elements, of a view whose last dimension is a window along ``axis``.

    Raises:
        ValueError: if ``size`` is below 0 or above the length, or ``step`` is below 1.
        IndexError: if ``x`` does not have that axis.
    """
    axis, size, step = (
        as_axis(op, axis, max(x._array.ndim, 1)),
        checks.integer(op, "size", size),
        checks.integer(op, "step", step),
    )
    shape = list(x._array.shape) or [1]
    strides = [each // x._array.itemsize for each in x._array.strides] or [1]
    if not 0 <= size <= shape[axis]:
        raise ValueError(f"{op}: size must be from 0 to the length {shape[axis]} of axis {axis}, not {size}")
    if step < 1:
        raise ValueError(f"{op}: step must be at least 1, not {step}")
    last = strides[axis]
    shape[axis], strides[axis] = (shape[axis] - size) // step + 1, strides[axis] * step
    return [*shape, size], [*strides, last]


def row_norms(difference: Tensor, p: float) -> Tensor:
    """Return the p-norm over the last dimension; for p = 0, the number of elements other than 0.

    Where the norm is 0, its gradient is 0. For p = inf, each of several largest elements gets the whole gradient, as in
    PyTorch and Paddle, and the norm of rows without elements is 0.
    """
    last = difference._array.ndim - 1
    if p == 0:
        return FUNCTIONS["sum"](FUNCTIONS["abs"](FUNCTIONS["sign"](difference)), last)
    if p != math.inf:
        return squeeze(norm_along(difference, p, last), last)
    size = FUNCTIONS["abs"](difference)
    if difference._array.shape[last] == 0:
        return FUNCTIONS["sum"](size, last)
    largest = FUNCTIONS["max"](size.detach(), last, True)
    total = FUNCTIONS["sum"](FUNCTIONS["where"](FUNCTIONS["equal"](size.detach(), largest), size, 0.0), last)
    known = FUNCTIONS["isfinite"](total)
    # `shift` is 0 if `total` is finite, and it carries the gradient.
    shift = FUNCTIONS["subtract"](total, FUNCTIONS["where"](known, total.detach(), 0.0))
    return FUNCTIONS["where"](known, FUNCTIONS["add"](shift, squeeze(largest, last)), squeeze(largest, last))


def kth(op: str, x: Tensor, k: int, axis: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its position.

    Raises:
        ValueError: if ``k`` is below 1, or above the length of ``axis``.
        IndexError: if ``x`` does not have that axis.
    """
    line = reshape(x, [1]) if x._array.ndim == 0 else x
    axis = as_axis(op, axis, line._array.ndim)
    length = line._array.shape[axis]
    if not 1 <= k <= length:
        raise ValueError(f"{op}: k must be from 1 to the length {length} of axis {axis}, not {k}")
    order = np.argsort(host_array(line._array), axis, kind="stable")
    picked = np.ascontiguousarray(np.take(order, [k - 1], axis).astype(np.int64))
    index = Tensor._made(like(picked, x._array))
    values = FUNCTIONS["take_along_axis"](line, index, axis)
    if x._array.ndim == 0 or not keepdim:
        shape = [n for d, n in enumerate(line._array.shape) if d != axis]
        return reshape(values, shape), reshape(index, shape)
    return values, index


def reduced(op: str, reduction: str, x: Tensor, axis: Any, keepdim: Any) -> Tensor:
    """Return the result of the operation ``reduction`` over ``axis``; an error about an argument names ``op``."""
    try:
        return FUNCTIONS[reduction](x, axis, keepdim)
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise named_instead(op, reduction, error) from None


def logsumexp(x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    """Return the logarithm of the sum of exponentials over ``axis`` (None: all), without overflow in between."""
    (x,) = floats_of("logsumexp", x=x)
    keepdim = checks.flag("logsumexp", "keepdim", keepdim)
    highest = reduced("logsumexp", "max" if x._array.size else "sum", x.detach(), axis, True)
    # An infinite maximum is not subtracted, because inf - inf is nan.
    highest = FUNCTIONS["where"](FUNCTIONS["isinf"](highest), 0.0, highest)
    total = FUNCTIONS["sum"](FUNCTIONS["exp"](FUNCTIONS["subtract"](x, highest)), axis, keepdim)
    return FUNCTIONS["add"](FUNCTIONS["log"](total), reshape(highest, list(total._array.shape)))


def diff(op: str, x: Tensor, n: int, axis: int) -> Tensor:
    """Return the differences of neighbours along ``axis``, taken ``n`` times in succession.

    For bools, a difference is True if the neighbours are not equal.

    Raises:
        ValueError: if ``n`` is below 1.
    """
    if n < 1:
        raise ValueError(f"{op}: n must be at least 1, not {n}")
    difference = FUNCTIONS["not_equal" if x._array.dtype == np.bool_ else "subtract"]
    for _ in range(min(n, x._array.shape[axis])):  # further differences would be empty
        length = x._array.shape[axis]
        later = slice_(x, [axis], [min(1, length)], [length])
        x = difference(later, slice_(x, [axis], [0], [max(length - 1, 0)]))
    return x
