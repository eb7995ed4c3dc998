"""Pooling: a view of an image contains all its windows, and each window is reduced to one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.layers.convolution import pair
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.layers.image_patches import with_border
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.extreme_positions import argmax
from minitensor.engine.views.joining import stack
from minitensor.engine.views.parts import as_strided


def _windows(op: str, x: Tensor, kernel: tuple[int, int], stride: Any, padding: Any, fill: float) -> Any:
    """Return a view of all windows, of shape [images, channels, rows, columns, kernel height, kernel width]."""
    down, right = kernel if stride is None else pair(op, "stride", stride, 1)
    top, left = pair(op, "padding", padding, 0)
    if x.ndim != 4:
        raise ValueError(f"{op}: x must be [images, channels, height, width], but its shape is {x.shape}")
    if 2 * top > kernel[0] or 2 * left > kernel[1]:
        raise ValueError(f"{op}: a padding of {[top, left]} is more than half of the kernel {list(kernel)}")
    x = with_border(x, (top, left, top, left), fill)
    images, channels, height, width = x._array.shape
    rows, columns = (height - kernel[0]) // down + 1, (width - kernel[1]) // right + 1
    if min(rows, columns) < 1:
        raise ValueError(f"{op}: a window of {list(kernel)} does not fit into images of {[height, width]}")
    size = x._array.itemsize
    of_image, of_channel, of_row, of_column = (step // size for step in x._array.strides)
    return as_strided(
        x,
        [images, channels, rows, columns, *kernel],
        [of_image, of_channel, down * of_row, right * of_column, of_row, of_column],
        x.offset,
    )


def max_pool2d(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, name: str | None = None) -> Tensor:
    """Return the maximum of each window. If several elements are the maximum, the first receives the gradient.

    Args:
        x: images, of shape [images, channels, height, width].
        kernel_size, stride, padding: one integer, or two for height and width. By default the stride equals the kernel
            size.

    Returns:
        A tensor of shape [images, channels, rows, columns].

    Raises:
        ValueError: if ``x`` does not have four dimensions, if no window fits, or if the padding is more than half of
            the kernel.
        TypeError: if ``x`` is not a tensor of floats.
    """
    (x,) = floats_of("max_pool2d", x=x)
    windows = _windows("max_pool2d", x, pair("max_pool2d", "kernel_size", kernel_size, 1), stride, padding, -np.inf)
    each = windows.reshape([*windows.shape[:4], math.prod(windows.shape[4:])])
    if each.size == 0:  # without images there are no positions of maxima
        return FUNCTIONS["sum"](each, -1)
    place = argmax(each.detach(), -1, True)
    return FUNCTIONS["take_along_axis"](each, place, -1).squeeze(-1)


def avg_pool2d(
    x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, exclusive: bool = True, name: str | None = None
) -> Tensor:
    """Return the mean of each window.

    Args:
        x: images, of shape [images, channels, height, width].
        kernel_size, stride, padding: as for :func:`max_pool2d`.
        exclusive: True to leave out the padding from the means, as Paddle does by default; PyTorch's default is the
            opposite, ``count_include_pad=True``.

    Returns:
        A tensor of shape [images, channels, rows, columns].

    Raises:
        ValueError: if ``x`` does not have four dimensions, if no window fits, or if the padding is more than half of
            the kernel.
        TypeError: if ``x`` is not a tensor of floats.
    """
    exclusive = checks.flag("avg_pool2d", "exclusive", exclusive)
    (x,) = floats_of("avg_pool2d", x=x)
    kernel = pair("avg_pool2d", "kernel_size", kernel_size, 1)
    means = FUNCTIONS["mean"](_windows("avg_pool2d", x, kernel, stride, padding, 0.0), [4, 5])
    if not exclusive or max(pair("avg_pool2d", "padding", padding, 0)) == 0:
        return means
    inside = Tensor._made(np.ones_like(x._array[:1, :1]))
    return means / FUNCTIONS["mean"](_windows("avg_pool2d", inside, kernel, stride, padding, 0.0), [4, 5])


def adaptive_avg_pool2d(x: Tensor, output_size: Any, name: str | None = None) -> Tensor:
    """Divide each image into ``output_size`` parts of nearly equal size, and return the mean of each part.

    Part i of n is from ``floor(i * length / n)`` to ``ceil((i + 1) * length / n)``, so parts may overlap.

    Args:
        x: images, of shape [images, channels, height, width].
        output_size: one integer, or two for height and width.

    Returns:
        A tensor of shape [images, channels, *output_size].

    Raises:
        ValueError: if ``x`` does not have four dimensions, or if a size is below 1.
        TypeError: if ``x`` is not a tensor of floats.
    """
    (x,) = floats_of("adaptive_avg_pool2d", x=x)
    if x.ndim != 4:
        raise ValueError(
            f"adaptive_avg_pool2d: x must be [images, channels, height, width], but its shape is {x.shape}"
        )
    rows, columns = pair("adaptive_avg_pool2d", "output_size", output_size, 1)
    height, width = x.shape[2:]
    if height % rows == 0 and width % columns == 0:
        return avg_pool2d(x, (height // rows, width // columns))
    mean = FUNCTIONS["mean"]
    parts = [
        stack([mean(x[:, :, down, right], [2, 3]) for right in _parts(width, columns)], -1)
        for down in _parts(height, rows)
    ]
    return stack(parts, 2)


def _parts(length: int, count: int) -> list[slice]:
    return [slice(i * length // count, -((-(i + 1) * length) // count)) for i in range(count)]
