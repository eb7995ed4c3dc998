"""Functions that rearrange elements: patches of images, repetitions, grids of coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.errors import named_instead
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.layers.activations import norm_along
from minitensor.engine.layers.convolution import pair
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import as_axis, need_tensor, whole
from minitensor.engine.views.joining import expand
from minitensor.engine.views.parts import as_strided, slice_
from minitensor.engine.views.reshaping import reshape, squeeze
from minitensor.engine.views.transposing import transpose

Sizes = tuple[int, int]


def _borders(op: str, paddings: Any) -> tuple[int, int, int, int]:
    """Return the widths of the border: top, left, bottom, right."""
    if isinstance(paddings, (list, tuple)) and len(paddings) == 4:
        widths = [whole(f"{op}: paddings", width) for width in paddings]
        if min(widths) < 0:
            raise ValueError(f"{op}: paddings are at least 0, not {paddings!r}")
        return tuple(widths)  # type: ignore[return-value]  # four integers
    top, left = pair(op, "paddings", paddings, 0)
    return top, left, top, left


def _counts(op: str, shape: Any, kernel: Sizes, strides: Sizes, borders: Any, dilations: Sizes) -> Sizes:
    """Return how often the window fits into images of ``shape``, in rows and in columns."""
    top, left, bottom, right = borders
    found = []
    for length, size, step, gap in zip(
        (shape[0] + top + bottom, shape[1] + left + right), kernel, strides, dilations, strict=True
    ):
        count = (length - gap * (size - 1) - 1) // step + 1
        if count < 1:
            raise ValueError(f"{op}: a window of {list(kernel)} does not fit into images of {list(shape)}")
        found.append(count)
    return found[0], found[1]


def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """Return the patches that a window sees on its way over images, each as a column.

    Args:
        x: images, of shape [images, channels, height, width].
        kernel_sizes, strides, dilations: one integer, or two for height and width.
        paddings: the width of a border of zeros: one integer, two, or four (top, left, bottom, right).

    Returns:
        A tensor of shape [images, channels * kernel height * kernel width, patches].

    Raises:
        ValueError: if no window fits, or ``x`` has another number of dimensions.
        TypeError: if ``x`` is not a tensor of floats.
    """
    (x,) = floats_of("unfold", x=x)  # type: ignore[assignment]  # one result per argument
    if x.ndim != 4:
        raise ValueError(f"unfold: x is [images, channels, height, width]; its shape is {x.shape}")
    kernel, steps = pair("unfold", "kernel_sizes", kernel_sizes, 1), pair("unfold", "strides", strides, 1)
    gaps, borders = pair("unfold", "dilations", dilations, 1), _borders("unfold", paddings)
    images, channels, height, width = x._array.shape
    rows, columns = _counts("unfold", (height, width), kernel, steps, borders, gaps)
    top, left, bottom, right = borders
    padded: Any = x
    if any(borders):
        shape = (images, channels, height + top + bottom, width + left + right)
        padded = Tensor._made(np.zeros_like(x._array, order="C", shape=shape))
        padded[:, :, top : top + height, left : left + width] = x
    itemsize = padded._array.itemsize
    of_image, of_channel, of_row, of_column = (step // itemsize for step in padded._array.strides)
    patches = as_strided(
        padded,
        [images, channels, *kernel, rows, columns],
        [of_image, of_channel, gaps[0] * of_row, gaps[1] * of_column, steps[0] * of_row, steps[1] * of_column],
        padded.offset,
    )
    return reshape(patches, [images, channels * math.prod(kernel), rows * columns])


def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Tensor:
    """Add patches, each a column, at their places in images: the opposite of :func:`unfold`. Overlaps are summed.

    Args:
        x: patches, of shape [images, channels * kernel height * kernel width, patches].
        output_sizes: height and width of the images.
        kernel_sizes, strides, paddings, dilations: as for :func:`unfold`.

    Returns:
        A tensor of shape [images, channels, height, width].

    Raises:
        ValueError: if the number of patches, or their size, does not fit.
        TypeError: if ``x`` is not a tensor of floats.
    """
    (x,) = floats_of("fold", x=x)  # type: ignore[assignment]  # one result per argument
    height, width = pair("fold", "output_sizes", output_sizes, 1)
    kernel, steps = pair("fold", "kernel_sizes", kernel_sizes, 1), pair("fold", "strides", strides, 1)
    gaps, borders = pair("fold", "dilations", dilations, 1), _borders("fold", paddings)
    if x.ndim != 3 or x.shape[1] % math.prod(kernel):
        raise ValueError(f"fold: x is [images, channels * {math.prod(kernel)}, patches]; its shape is {x.shape}")
    rows, columns = _counts("fold", (height, width), kernel, steps, borders, gaps)
    if x.shape[2] != rows * columns:
        raise ValueError(f"fold: images of {[height, width]} have {rows * columns} patches, not {x.shape[2]}")
    images, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    top, left, bottom, right = borders
    tall, wide = height + top + bottom, width + left + right
    down, across = (
        np.arange(size)[:, None] * gap + np.arange(count) * step
        for size, gap, count, step in zip(kernel, gaps, (rows, columns), steps, strict=True)
    )
    cells = (down[:, None, :, None] * wide + across[None, :, None, :]).reshape(-1)
    flat = Tensor._made(np.zeros_like(x._array, order="C", shape=(images * channels, tall * wide)))
    added = FUNCTIONS["index_add"](flat, Tensor._made(cells), 1, reshape(x, [images * channels, cells.size]))
    whole_images: Any = reshape(added, [images, channels, tall, wide])
    return whole_images[:, :, top : top + height, left : left + width] if any(borders) else whole_images


def tile(op: str, x: Tensor, times: list[int]) -> Tensor:
    """Return ``x`` repeated ``times`` along its last dimensions; new ones are added in front.

    Raises:
        ValueError: if a number is negative.
    """
    if any(n < 0 for n in times):
        raise ValueError(f"{op}: numbers of repetitions are at least 0, not {times}")
    shape = [1] * (len(times) - x.ndim) + list(x.shape)
    times = [1] * (x.ndim - len(times)) + times
    pairs = [length for n, length in zip(times, shape, strict=True) for length in (n, length)]
    spread = expand(reshape(x, [length for n in shape for length in (1, n)]), pairs)
    return reshape(spread, [n * length for n, length in zip(times, shape, strict=True)])


def repeat_interleave(op: str, x: Tensor, repeats: Any, axis: int) -> Tensor:
    """Return ``x`` with every position along ``axis`` repeated as often as ``repeats`` says.

    Raises:
        ValueError: if a number is negative, or there is not one for each position.
    """
    given = repeats.tolist() if isinstance(repeats, np.ndarray) else repeats
    numbers = checks.integers(op, "repeats", given) if isinstance(given, (list, tuple)) else [whole(op, given)]
    counts = np.array(numbers, np.int64)
    if (counts < 0).any():
        raise ValueError(f"{op}: numbers of repetitions are at least 0, not {min(numbers)}")
    if not x._array.ndim:
        raise IndexError(f"{op}: dimension {axis} was given, but the tensor has none")
    length = x._array.shape[axis]
    if counts.size not in (1, length):
        raise ValueError(f"{op}: {counts.size} numbers of repetitions were given for {length} positions")
    total = sum(numbers) * (length if counts.size == 1 else 1)
    as_shape(op, [*x._array.shape[:axis], total, *x._array.shape[axis + 1 :]])  # refused before anything is allocated
    positions = np.repeat(np.arange(length), counts.reshape(-1) if counts.size > 1 else int(counts.reshape(-1)[0]))
    return FUNCTIONS["index_select"](x, Tensor._made(positions), axis)


def meshgrid(op: str, vectors: Sequence[Tensor], indexing: str) -> list[Tensor]:
    """Return one tensor for each vector, all of the same shape; each repeats its vector along the other dimensions.

    Args:
        indexing: "ij" for dimensions in the order of the vectors; "xy" swaps the first two.

    Raises:
        ValueError: if a tensor has more than one dimension, or ``indexing`` is neither.
    """
    checks.choice(op, "indexing", indexing, ("ij", "xy"))
    for x in vectors:
        need_tensor(op, x)
        if x._array.ndim > 1:
            raise ValueError(f"{op}: vectors have one dimension or none; this one has shape {x.shape}")
    shape = [x._array.size for x in vectors]
    grids = []
    for i, x in enumerate(vectors):
        own = [1] * len(vectors)
        own[i] = x._array.size
        grid = expand(reshape(x, own), shape)
        if indexing == "xy" and len(vectors) > 1:
            grid = transpose(grid, [1, 0, *range(2, len(vectors))])
        grids.append(grid)
    return grids


def window_strides(op: str, x: Tensor, axis: Any, size: Any, step: Any) -> tuple[list[int], list[int]]:
    """Return shape and strides, in elements, of the windows along ``axis``, which become the last dimension.

    Raises:
        ValueError: if ``size`` is below 0 or above the length, or ``step`` is below 1.
        IndexError: if ``x`` does not have that axis.
    """
    axis, size, step = as_axis(op, axis, max(x._array.ndim, 1)), whole(f"{op}: size", size), whole(f"{op}: step", step)
    shape = list(x._array.shape) or [1]
    strides = [each // x._array.itemsize for each in x._array.strides] or [1]
    if not 0 <= size <= shape[axis]:
        raise ValueError(f"{op}: size is from 0 to the length {shape[axis]} of axis {axis}, not {size}")
    if step < 1:
        raise ValueError(f"{op}: step is at least 1, not {step}")
    last = strides[axis]
    shape[axis], strides[axis] = (shape[axis] - size) // step + 1, strides[axis] * step
    return [*shape, size], [*strides, last]


def row_norms(difference: Tensor, p: float) -> Tensor:
    """Return the p-norm over the last dimension; its gradient is 0 where the norm is 0."""
    last = difference._array.ndim - 1
    if p == 0:
        return FUNCTIONS["sum"](FUNCTIONS["abs"](FUNCTIONS["sign"](difference)), last)
    return squeeze(norm_along(difference, p, last), last)


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
        raise ValueError(f"{op}: k is from 1 to the length {length} of axis {axis}, not {k}")
    order = np.argsort(host_array(line._array), axis, kind="stable")
    picked = np.ascontiguousarray(np.take(order, [k - 1], axis).astype(np.int64))
    index = Tensor._made(like(picked, x._array))
    values = FUNCTIONS["take_along_axis"](line, index, axis)
    if x._array.ndim == 0 or not keepdim:
        shape = [n for d, n in enumerate(line._array.shape) if d != axis]
        return reshape(values, shape), reshape(index, shape)
    return values, index


def reduced(op: str, reduction: str, x: Tensor, axis: Any, keepdim: Any) -> Tensor:
    """Return the result of the table's ``reduction`` over ``axis``; an error about an argument names ``op``."""
    try:
        return FUNCTIONS[reduction](x, axis, keepdim)
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise named_instead(op, reduction, error) from None


def logsumexp(x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    """Return the logarithm of the sum of exponentials over ``axis`` (None: all), without overflow in between."""
    (x,) = floats_of("logsumexp", x=x)  # type: ignore[assignment]  # one result per argument
    keepdim = checks.flag("logsumexp", "keepdim", keepdim)
    highest = reduced("logsumexp", "max" if x._array.size else "sum", x.detach(), axis, True)
    # An infinite one would make nan of inf - inf, and exp(inf) is inf already.
    highest = FUNCTIONS["where"](FUNCTIONS["isinf"](highest), 0.0, highest)
    total = FUNCTIONS["sum"](FUNCTIONS["exp"](FUNCTIONS["subtract"](x, highest)), axis, keepdim)
    return FUNCTIONS["add"](FUNCTIONS["log"](total), reshape(highest, list(total._array.shape)))


def diff(op: str, x: Tensor, n: int, axis: int) -> Tensor:
    """Return the differences of neighbours along ``axis``, taken ``n`` times: of bools, whether they differ.

    Raises:
        ValueError: if ``n`` is below 0.
    """
    if n < 0:
        raise ValueError(f"{op}: n is at least 0, not {n}")
    difference = FUNCTIONS["not_equal" if x._array.dtype == np.bool_ else "subtract"]
    for _ in range(min(n, x._array.shape[axis])):  # the rest would subtract empty tensors
        length = x._array.shape[axis]
        later = slice_(x, [axis], [min(1, length)], [length])
        x = difference(later, slice_(x, [axis], [0], [max(length - 1, 0)]))
    return x
