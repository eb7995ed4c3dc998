"""Convolution in two dimensions as a matrix product: each window of the input is one column of a matrix.

The convolution ``y`` of an input ``x`` with a kernel ``w`` is linear in both. With a third array ``g`` of the shape of
``y``, the number ``T(x, w, g) = sum(g * y)`` is linear in all three. This module computes its three slopes:

    y = dT/dg, from x and w          the convolution
    dT/dx, from w and g              the gradient of the input
    dT/dw, from x and g              the gradient of the kernel

An operation that computes one slope has the other two slopes as its gradients, so there are gradients of any order.
Only ``x`` and ``w`` are saved. Backward computes the columns again, in parts that fit into the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.history import Node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import restrided
from minitensor.engine.kernels.sixteen_bits import wide
from minitensor.engine.layers.custom_operation import arguments_of, floats_of, operation, recorded, wanted_gradients
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import need_tensor

Array = Any

#: The bytes of columns that are computed together. A step of a small network (32 images of 28 x 28) took 11.8 ms with
#: 64 KiB, 8.0 ms with 256 KiB, 9.3 ms with 1 MiB and 10.3 ms with all columns at once. On a GPU, a few large blocks are
#: faster.
COLUMNS = {"host": 256 << 10, "gpu": 256 << 20}


class Windows(NamedTuple):
    """The settings of a convolution and the shapes of its input and kernels, which determine the windows.

    ``stride``, ``padding`` and ``dilation`` each have a number for the height and one for the width, in elements. The
    channels are divided into ``groups``, each of which has its own kernels.
    """

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    x_shape: tuple[int, ...]
    w_shape: tuple[int, ...]

    @property
    def out(self) -> tuple[int, int]:
        """The height and width of the result."""
        return tuple(  # type: ignore[return-value]  # a tuple of two
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(
                self.x_shape[2:], self.w_shape[2:], self.stride, self.padding, self.dilation, strict=True
            )
        )

    @property
    def y_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.x_shape[0], self.w_shape[0], *self.out

    @property
    def column(self) -> int:
        """The number of elements in one window with the channels of one group."""
        return self.w_shape[1] * self.w_shape[2] * self.w_shape[3]


# ---------- columns ----------


def _blocks(windows: Windows, like: Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of images whose columns are computed together: first index (included) and last (excluded)."""
    device = "host" if type(like) is np.ndarray else "gpu"
    height, width = windows.out
    each = max(1, windows.column * windows.groups * height * width * like.itemsize)
    step = max(1, COLUMNS[device] // each)
    for first in range(0, windows.x_shape[0], step):
        yield first, min(first + step, windows.x_shape[0])


def _pad(x: Array, windows: Windows) -> Array:
    """Return ``x`` with zeros around each image, or ``x`` itself without padding."""
    (top, left), (height, width) = windows.padding, x.shape[2:]
    if top == left == 0:
        return x
    padded = np.zeros_like(x, order="C", shape=(*x.shape[:2], height + 2 * top, width + 2 * left))
    _inner(padded, windows)[...] = x
    return padded


def _inner(padded: Array, windows: Windows) -> Array:
    """Return a view of ``padded`` without its padding."""
    (top, left), (height, width) = windows.padding, windows.x_shape[2:]
    return padded[:, :, top : top + height, left : left + width]


def _tiles(padded: Array, windows: Windows) -> Array:
    """Return a view of all windows, of shape [images, channels, kernel height, kernel width, height, width]."""
    down, right = padded.strides[2:]
    (rows, columns), (apart_down, apart_right) = windows.stride, windows.dilation
    shape = (*padded.shape[:2], *windows.w_shape[2:], *windows.out)
    strides = (*padded.strides[:2], down * apart_down, right * apart_right, down * rows, right * columns)
    return restrided(padded, shape, strides)


def _columns(x: Array, windows: Windows) -> Array:
    """Return a copy of all windows, of shape [images, groups, elements of a window, windows]."""
    height, width = windows.out
    tiles = _tiles(_pad(x, windows), windows).copy()
    return tiles.reshape(len(x), windows.groups, windows.column, height * width)


def _kernels(w: Array, windows: Windows) -> Array:
    """Return the kernels as matrices, of shape [groups, kernels of a group, elements of a window]."""
    return w.reshape(windows.groups, windows.w_shape[0] // windows.groups, windows.column)


def _by_group(g: Array, windows: Windows) -> Array:
    """Return ``g``, which has the shape of the result, as matrices: [images, groups, kernels of a group, windows]."""
    return g.reshape(len(g), windows.groups, windows.w_shape[0] // windows.groups, -1)


# ---------- the three slopes, on arrays ----------


def _result(x: Array, w: Array, windows: Windows) -> Array:
    y = np.empty_like(x, order="C", shape=windows.y_shape)
    kernels = _kernels(w, windows)
    for first, last in _blocks(windows, x):
        np.matmul(kernels, _columns(x[first:last], windows), out=_by_group(y[first:last], windows))
    return y


def _input_slope(w: Array, g: Array, windows: Windows) -> Array:
    gx = np.empty_like(g, order="C", shape=windows.x_shape)
    turned = np.swapaxes(_kernels(w, windows), -1, -2)
    (rows, columns), (apart_down, apart_right), (height, width) = windows.stride, windows.dilation, windows.out
    top, left = windows.padding
    padded = None
    for first, last in _blocks(windows, g):
        parts = np.matmul(turned, _by_group(g[first:last], windows))
        parts = parts.reshape(last - first, windows.x_shape[1], *windows.w_shape[2:], height, width)
        shape = (last - first, windows.x_shape[1], windows.x_shape[2] + 2 * top, windows.x_shape[3] + 2 * left)
        if padded is None or padded.shape != shape:
            padded = np.empty_like(g, order="C", shape=shape)
        padded.fill(0)
        for i in range(windows.w_shape[2]):
            for j in range(windows.w_shape[3]):
                down, right = i * apart_down, j * apart_right
                target = padded[:, :, down : down + rows * height : rows, right : right + columns * width : columns]
                np.add(target, parts[:, :, i, j], out=target)
        gx[first:last] = _inner(padded, windows)
    return gx


def _kernel_slope(x: Array, g: Array, windows: Windows) -> Array:
    gw = np.zeros_like(g, order="C", shape=windows.w_shape)
    kernels = _kernels(gw, windows)
    for first, last in _blocks(windows, x):
        turned = np.swapaxes(_columns(x[first:last], windows), -1, -2)
        np.add(kernels, np.matmul(_by_group(g[first:last], windows), turned).sum(axis=0), out=kernels)
    return gw


# ---------- as operations ----------

_ON_ARRAYS = {"g": _result, "x": _input_slope, "w": _kernel_slope}


def _slopes(inputs: tuple[str, str]) -> tuple[Any, Any]:
    """Return the gradient rules, on arrays and on tensors, of the operation whose inputs are two of x, w and g.

    The third of x, w and g is the gradient that arrives at the operation in backward.
    """
    third = next(name for name in "xwg" if name not in inputs)

    def others(kind: str, arrived: Any, saved: tuple[Any, ...]) -> tuple[Any, Any]:
        known = {third: arrived, **dict(zip(inputs, saved, strict=True))}
        first, second = (known[name] for name in "xwg" if name != kind)
        return first, second

    def on_arrays(node: Node, arrived: Array, *saved: Array) -> Any:
        (windows,) = arguments_of(node)
        slopes = [lambda kind=kind: _ON_ARRAYS[kind](*others(kind, arrived, saved), windows) for kind in inputs]
        bias = [lambda: arrived.sum(axis=(0, 2, 3))] * (len(node.inputs) - 2)
        return wanted_gradients(node, slopes + bias)

    def on_tensors(node: Node, arrived: Tensor, *saved: Tensor) -> Any:
        (windows,) = arguments_of(node)
        slopes = [lambda kind=kind: _slope(kind, *others(kind, arrived, saved), windows) for kind in inputs]
        bias = [lambda: FUNCTIONS["sum"](arrived, [0, 2, 3])] * (len(node.inputs) - 2)
        return wanted_gradients(node, slopes + bias)

    return on_arrays, on_tensors


#: For each of x, w and g, the operation that computes the slope along this array. The other two arrays are its inputs.
_OPERATIONS = {
    kind: operation(name, inputs, *_slopes(inputs))
    for kind, name, inputs in (
        ("g", "conv2d", ("x", "w")),
        ("x", "conv2d_input_gradient", ("w", "g")),
        ("w", "conv2d_weight_gradient", ("x", "g")),
    )
}


def _slope(kind: str, first: Tensor, second: Tensor, windows: Windows, bias: Tensor | None = None) -> Tensor:
    with np.errstate(all="ignore"):
        out = _ON_ARRAYS[kind](wide(first._array), wide(second._array), windows)
        if bias is not None:
            np.add(out, wide(bias._array).reshape(-1, 1, 1), out=out)
    inputs = (first, second) if bias is None else (first, second, bias)
    return recorded(out, _OPERATIONS[kind], inputs, ((1,), (0,)), windows)


# ---------- the function ----------


def pair(op: str, name: str, given: Any, least: int) -> tuple[int, int]:
    """Return height and width; one integer stands for both.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a number is below ``least`` or too large, or if a list does not have two numbers.
    """
    numbers = list(given) if isinstance(given, (list, tuple)) else [given, given]
    if len(numbers) != 2:
        raise ValueError(f"{op}: {name} must be one integer or two (height, width), not {shown(given)}")
    first, second = (checks.integer(op, name, number) for number in numbers)
    if max(first, second) >= 2**31:
        raise ValueError(f"{op}: {name} must be below 2**31, not {shown(given)}")
    if min(first, second) < least:
        raise ValueError(f"{op}: {name} must be at least {least}, not {shown(given)}")
    return first, second


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Slide each kernel of ``weight`` over each image of ``x`` and sum the products.

    Args:
        x: images, of shape [images, channels, height, width].
        weight: kernels, of shape [kernels, channels / groups, height, width].
        bias: one number for each kernel.
        stride, padding, dilation: one integer, or two for height and width. Images are padded with zeros.
        groups: the number of groups of channels; each has its own kernels.

    Raises:
        ValueError: if the shapes do not fit, or if no window fits into an image.
        TypeError: unless all are tensors of floats on one device.
    """
    need_tensor("conv2d", weight, "weight")
    x, weight, bias = floats_of("conv2d", x=x, weight=weight, bias=bias)
    windows = Windows(
        pair("conv2d", "stride", stride, 1),
        pair("conv2d", "padding", padding, 0),
        pair("conv2d", "dilation", dilation, 1),
        checks.integer("conv2d", "groups", groups),
        x._array.shape,
        weight._array.shape,
    )
    _check(x, weight, bias, windows)
    return _slope("g", x, weight, windows, bias)


def _check(x: Tensor, weight: Tensor, bias: Tensor | None, windows: Windows) -> None:
    if x.ndim != 4 or weight.ndim != 4:
        raise ValueError(
            f"conv2d: x is [images, channels, height, width] and weight [kernels, channels, height, width]; their "
            f"shapes are {x.shape} and {weight.shape}"
        )
    kernels, channels, groups = weight.shape[0], x.shape[1], windows.groups
    if groups < 1 or channels % groups or kernels % groups or weight.shape[1] * groups != channels:
        raise ValueError(
            f"conv2d: weight of shape {weight.shape} in {groups} groups is for images of {weight.shape[1] * groups} "
            f"channels; x has shape {x.shape}"
        )
    if bias is not None and list(bias.shape) != [kernels]:
        raise ValueError(f"conv2d: bias must have the shape [{kernels}], one number for each kernel, not {bias.shape}")
    if min(windows.out) < 1:
        raise ValueError(
            f"conv2d: a kernel of shape {weight.shape[2:]} with dilation {list(windows.dilation)} does not fit into "
            f"images of shape {x.shape[2:]} with padding {list(windows.padding)}"
        )
