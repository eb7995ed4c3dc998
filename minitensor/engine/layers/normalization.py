"""Normalize to mean 0 and variance 1 over a batch, a layer, a group or an image, then scale and shift."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import Node
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.dtypes import HALVES
from minitensor.engine.kernels.sixteen_bits import wide
from minitensor.engine.layers.custom_operation import arguments_of, floats_of, operation, recorded, wanted_gradients
from minitensor.engine.modes import no_grad
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.operands import cast

Array = Any


def _axes(ndim: int) -> tuple[int, ...]:
    """Return all axes except axis 1, the channels."""
    return (0, *range(2, ndim))


def _beside(ndim: int) -> list[int]:
    """Return the shape in which one number per channel is broadcast over a batch."""
    return [1, -1, *[1] * (ndim - 2)]


def _on_arrays(node: Node, g: Array, x: Array, weight: Array | None) -> Any:
    mean, spread, *_ = arguments_of(node)
    axes, beside = _axes(x.ndim), _beside(x.ndim)
    normal = np.multiply(np.subtract(x, mean), spread)

    def gradient_of_x() -> Array:
        inner = g if weight is None else np.multiply(g, weight.reshape(beside))
        both = np.multiply(normal, np.multiply(inner, normal).mean(axis=axes, keepdims=True))
        np.add(both, inner.mean(axis=axes, keepdims=True), out=both)
        return np.multiply(np.subtract(inner, both, out=both), spread, out=both)

    return wanted_gradients(
        node, (gradient_of_x, lambda: np.multiply(g, normal).sum(axis=axes), lambda: g.sum(axis=axes))
    )


def _on_tensors(node: Node, g: Any, x: Any, weight: Any) -> Any:
    *_, epsilon = arguments_of(node)
    axes, beside = list(_axes(x.ndim)), _beside(x.ndim)
    average = FUNCTIONS["mean"]
    centred = x - average(x, axes, True)
    spread = FUNCTIONS["rsqrt"](average(centred * centred, axes, True) + epsilon)
    normal = centred * spread

    def gradient_of_x() -> Any:
        inner = g if weight is None else g * weight.reshape(beside)
        return (inner - average(inner, axes, True) - normal * average(inner * normal, axes, True)) * spread

    total = FUNCTIONS["sum"]
    return wanted_gradients(node, (gradient_of_x, lambda: total(g * normal, axes), lambda: total(g, axes)))


BATCH_NORM = operation("batch_norm", ("x", "weight"), _on_arrays, _on_tensors)


def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` for each channel (Ioffe and Szegedy 2015).

    In training, the mean and variance of the batch are used, where the variance is the mean of the squared deviations.
    One in-place write moves each running statistic towards its value in the batch. Without ``training``, the running
    statistics are used.

    Args:
        x: shape [rows, channels] or [images, channels, height, width].
        running_mean, running_var, weight, bias: shape [channels].
        momentum: the share of the running values that is kept; in PyTorch, momentum is the share that is replaced.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: unless all are tensors of floats on one device.
    """
    training = checks.flag("batch_norm", "training", training)
    momentum, epsilon = checks.real("batch_norm", "momentum", momentum), checks.real("batch_norm", "epsilon", epsilon)
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    if isinstance(x, Tensor) and x.ndim < 2:
        raise ValueError(f"batch_norm: x must be [rows, channels, ...], but its shape is {x.shape}")
    x, mean, variance, weight, bias = floats_of("batch_norm", x=x, **given)
    _check_channels("batch_norm", x, **given)
    if training:
        return of_batch(x, weight, bias, epsilon, running_mean, running_var, 1 - momentum)
    beside = _beside(x.ndim)
    scale = FUNCTIONS["rsqrt"](variance + epsilon)
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return x * scale.reshape(beside) + shift.reshape(beside)


def of_batch(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    share: float,
    larger: float = 1.0,
) -> Tensor:
    """Normalize by the mean and the variance of the batch.

    Args:
        running_mean, running_var: if given, each is moved by ``share`` towards the value of the batch, in one write.
        larger: a factor for the variance that updates ``running_var``. PyTorch's vocabulary passes n / (n - 1), where n
            is the number of elements in each channel.

    Raises:
        ValueError: if the batch has no elements.
    """
    a, axes, beside = wide(x._array), _axes(x.ndim), _beside(x.ndim)
    if a.size == 0:
        raise ValueError(f"batch_norm: a batch without elements has no mean; x has shape {x.shape}")
    with np.errstate(all="ignore"):
        mean = a.mean(axis=axes, keepdims=True)
        out = np.subtract(a, mean)
        variance = np.multiply(out, out).mean(axis=axes, keepdims=True)
        spread = 1 / np.sqrt(variance + a.dtype.type(epsilon))
        np.multiply(out, spread, out=out)
        if weight is not None:
            np.multiply(out, wide(weight._array).reshape(beside), out=out)
        if bias is not None:
            np.add(out, wide(bias._array).reshape(beside), out=out)
    with no_grad():
        for running, now in ((running_mean, mean), (running_var, variance * a.dtype.type(larger))):
            if running is not None:
                running.lerp_(Tensor._made(now.reshape(-1).astype(running._array.dtype)), share)
    counted = [new_storage(mean), new_storage(spread)]
    return recorded(out, BATCH_NORM, (x, weight, bias), ((0, 1), (0,)), mean, spread, counted, epsilon)


# ---------- normalizations without a batch, made of operations of the table ----------


def _normal(x: Any, axes: list[int], epsilon: float) -> Any:
    """Return ``x`` with mean 0 and variance 1 over ``axes``. The variance is the mean of the squared deviations."""
    dtype = x._array.dtype
    if dtype in HALVES:  # in float16, squares of 256 and more overflow
        return cast(_normal(cast(x, np.dtype(np.float32)), axes, epsilon), dtype)
    mean = FUNCTIONS["mean"]
    centred = x - mean(x, axes, True)
    return centred * FUNCTIONS["rsqrt"](mean(centred * centred, axes, True) + epsilon)


def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Normalize each example over its last dimensions (Ba, Kiros and Hinton 2016).

    Args:
        normalized_shape: the lengths of these dimensions; an integer means only the last dimension.
        weight, bias: shape ``normalized_shape``.

    Raises:
        ValueError: if ``x`` does not end in these dimensions, or if ``weight`` or ``bias`` has another shape.
    """
    shape = list(as_shape("layer_norm", normalized_shape))
    epsilon = checks.real("layer_norm", "epsilon", epsilon)
    x, weight, bias = floats_of("layer_norm", x=x, weight=weight, bias=bias)
    for what, each in (("weight", weight), ("bias", bias)):
        if each is not None and list(each.shape) != shape:
            raise ValueError(f"layer_norm: {what} must have the shape {shape} of normalized_shape, not {each.shape}")
    if not shape or list(x.shape)[-len(shape) :] != shape:
        raise ValueError(f"layer_norm: the shape of x must end in {shape}, but it is {x.shape}")
    return _scale_and_shift(_normal(x, list(range(x.ndim - len(shape), x.ndim)), epsilon), weight, bias, shape)


def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-5,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Divide the channels of each image into ``num_groups`` groups and normalize each group (Wu and He 2018).

    Args:
        x: shape [images, channels, ...].
        weight, bias: one number for each channel.

    Raises:
        ValueError: if the channels cannot be divided into that many groups or have no elements, or if ``weight`` or
            ``bias`` has another shape.
    """
    num_groups = checks.integer("group_norm", "num_groups", num_groups)
    epsilon = checks.real("group_norm", "epsilon", epsilon)
    x, weight, bias = floats_of("group_norm", x=x, weight=weight, bias=bias)
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(f"group_norm: the channels of x, [images, channels, ...], cannot be divided into {num_groups} "
                         f"groups; the shape of x is {x.shape}")  # fmt: skip
    _check_channels("group_norm", x, weight=weight, bias=bias)
    if 0 in x.shape[1:]:
        raise ValueError(f"group_norm: channels without elements have no mean; x has shape {x.shape}")
    grouped = x.reshape([x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups])
    return _scale_and_shift(_normal(grouped, [2], epsilon).reshape(x.shape), weight, bias, _beside(x.ndim))


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Normalize each channel of each image (Ulyanov, Vedaldi and Lempitsky 2016).

    Running statistics are not kept: ``running_mean`` and ``running_var`` must be None.

    Raises:
        ValueError: if ``x`` has fewer than three dimensions, if running statistics are given, if
            ``use_input_stats`` is false, or if ``weight`` or ``bias`` does not have one number for each channel.
    """
    eps = checks.real("instance_norm", "eps", eps)
    uses_input = checks.flag("instance_norm", "use_input_stats", use_input_stats)
    if running_mean is not None or running_var is not None or not uses_input:
        raise ValueError("instance_norm: it normalizes by the image's own statistics; running ones are not kept")
    x, weight, bias = floats_of("instance_norm", x=x, weight=weight, bias=bias)
    if x.ndim < 3:
        raise ValueError(f"instance_norm: x must be [images, channels, ...], but its shape is {x.shape}")
    _check_channels("instance_norm", x, weight=weight, bias=bias)
    return _scale_and_shift(_normal(x, list(range(2, x.ndim)), eps), weight, bias, _beside(x.ndim))


def _check_channels(op: str, x: Tensor, **given: Tensor | None) -> None:
    """Raise ValueError unless each tensor in ``given`` that is not None has one number for each channel."""
    for name in given:
        if (each := given[name]) is not None and each._array.shape != x._array.shape[1:2]:
            raise ValueError(f"{op}: {name} has shape {each.shape}; x of shape {x.shape} has {x.shape[1]} channels")


def _scale_and_shift(normal: Any, weight: Any, bias: Any, shape: list[int]) -> Any:
    if weight is not None:
        normal = normal * weight.reshape(shape)
    return normal if bias is None else normal + bias.reshape(shape)
