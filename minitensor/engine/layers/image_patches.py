"""Unfold images into patches, each of which is a column of a matrix, and add such columns back to images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.layers.convolution import pair
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.views.parts import as_strided
from minitensor.engine.views.reshaping import reshape

Sizes = tuple[int, int]


def _borders(op: str, paddings: Any) -> tuple[int, int, int, int]:
    """Return the widths of the border: top, left, bottom, right."""
    if isinstance(paddings, (list, tuple)) and len(paddings) == 4:
        widths = [checks.integer(op, "paddings", width) for width in paddings]
        if min(widths) < 0:
            raise ValueError(f"{op}: paddings must be at least 0, not {shown(paddings)}")
        return tuple(widths)  # type: ignore[return-value]  # four integers
    top, left = pair(op, "paddings", paddings, 0)
    return top, left, top, left


def _counts(op: str, shape: Any, kernel: Sizes, strides: Sizes, borders: Any, dilations: Sizes) -> Sizes:
    """Return the numbers of rows and columns of windows that fit into images of ``shape``."""
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


def with_border(x: Tensor, borders: tuple[int, int, int, int], fill: float = 0.0) -> Tensor:
    """Return images with a border (top, left, bottom, right) of ``fill``, or ``x`` itself if all widths are 0."""
    if borders == (0, 0, 0, 0):
        return x
    (top, left, bottom, right), (images, channels, height, width) = borders, x._array.shape
    shape = images, channels, height + top + bottom, width + left + right
    room = Tensor._made(np.full_like(x._array, fill, order="C", shape=shape))
    room[:, :, top : top + height, left : left + width] = x
    return room


def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """Return the patches under a window that slides over images, each patch as a column.

    Args:
        x: images, of shape [images, channels, height, width].
        kernel_sizes, strides, dilations: one integer, or two for height and width.
        paddings: the width of a border of zeros: one integer, two, or four (top, left, bottom, right).

    Returns:
        A tensor of shape [images, channels * kernel height * kernel width, patches].

    Raises:
        ValueError: if no window fits, or ``x`` does not have four dimensions.
        TypeError: if ``x`` is not a tensor of floats.
    """
    (x,) = floats_of("unfold", x=x)
    if x.ndim != 4:
        raise ValueError(f"unfold: x must be [images, channels, height, width], but its shape is {x.shape}")
    kernel, steps = pair("unfold", "kernel_sizes", kernel_sizes, 1), pair("unfold", "strides", strides, 1)
    gaps, borders = pair("unfold", "dilations", dilations, 1), _borders("unfold", paddings)
    images, channels, height, width = x._array.shape
    rows, columns = _counts("unfold", (height, width), kernel, steps, borders, gaps)
    padded = with_border(x, borders)
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
    """Put the patches of :func:`unfold` back to their positions in images. Overlapping elements are summed.

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
    (x,) = floats_of("fold", x=x)
    height, width = pair("fold", "output_sizes", output_sizes, 1)
    kernel, steps = pair("fold", "kernel_sizes", kernel_sizes, 1), pair("fold", "strides", strides, 1)
    gaps, borders = pair("fold", "dilations", dilations, 1), _borders("fold", paddings)
    if x.ndim != 3 or x.shape[1] % math.prod(kernel):
        raise ValueError(
            f"fold: x must be [images, channels * {math.prod(kernel)}, patches], but its shape is {x.shape}"
        )
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
    whole_images = reshape(added, [images, channels, tall, wide])
    return whole_images[:, :, top : top + height, left : left + width] if any(borders) else whole_images
