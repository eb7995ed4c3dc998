"""Batch normalization: each channel gets mean 0 and variance 1 over the batch, then a scale and a shift of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Node
from minitensor.core.storage import new_storage
from minitensor.core.tensor import Tensor
from minitensor.modes import no_grad
from minitensor.nn.recording import arguments_of, floats_of, ones_that_want, operation, recorded
from minitensor.operations import FUNCTIONS

Array = Any


def _axes(ndim: int) -> tuple[int, ...]:
    """All but the channels, which are dimension 1."""
    return (0, *range(2, ndim))


def _beside(ndim: int) -> list[int]:
    """The shape in which one number for each channel meets a batch."""
    return [1, -1, *[1] * (ndim - 2)]


def _on_arrays(node: Node, g: Array, x: Array, weight: Array | None) -> Any:
    mean, spread, *_ = arguments_of(node)
    axes, beside = _axes(x.ndim), _beside(x.ndim)
    normal = np.multiply(np.subtract(x, mean), spread)

    def of_x() -> Array:
        inner = g if weight is None else np.multiply(g, weight.reshape(beside))
        both = np.multiply(normal, np.multiply(inner, normal).mean(axis=axes, keepdims=True))
        np.add(both, inner.mean(axis=axes, keepdims=True), out=both)
        return np.multiply(np.subtract(inner, both, out=both), spread, out=both)

    return ones_that_want(node, (of_x, lambda: np.multiply(g, normal).sum(axis=axes), lambda: g.sum(axis=axes)))


def _on_tensors(node: Node, g: Any, x: Any, weight: Any) -> Any:
    *_, epsilon = arguments_of(node)
    axes, beside = list(_axes(x.ndim)), _beside(x.ndim)
    average = FUNCTIONS["mean"]
    centred = x - average(x, axes, True)
    spread = FUNCTIONS["rsqrt"](average(centred * centred, axes, True) + epsilon)
    normal = centred * spread

    def of_x() -> Any:
        inner = g if weight is None else g * weight.reshape(beside)
        return (inner - average(inner, axes, True) - normal * average(inner * normal, axes, True)) * spread

    total = FUNCTIONS["sum"]
    return ones_that_want(node, (of_x, lambda: total(g * normal, axes), lambda: total(g, axes)))


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
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` for each channel.

    In training, mean and variance are those of the batch (the variance divided by the number of elements), and the
    running ones are moved towards them in place: one counted write each. Otherwise the running ones are used.

    Args:
        x: shape [rows, channels] or [images, channels, height, width].
        running_mean, running_var, weight, bias: shape [channels].
        momentum: how much of the running values stays; PyTorch calls what goes by this name.

    Raises:
        ValueError: when the shapes do not fit.
        TypeError: for anything but tensors of floats on one device.
    """
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    if isinstance(x, Tensor) and x.ndim < 2:
        raise ValueError(f"batch_norm: x is [rows, channels, ...]; it has shape {x.shape}")
    floats = floats_of("batch_norm", x=x, **given)
    for what, each in given.items():
        if each is not None and each.shape != [x.shape[1]]:
            raise ValueError(
                f"batch_norm: {what} has shape {each.shape}; x of shape {x.shape} has {x.shape[1]} channels"
            )
    x, mean, variance, weight, bias = floats  # type: ignore[assignment]  # five were given
    if training:
        return _of_batch(x, running_mean, running_var, weight, bias, momentum, epsilon)
    beside = _beside(x.ndim)
    scale: Any = FUNCTIONS["rsqrt"](variance + epsilon)  # type: ignore[operator]  # tensors by now
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale  # type: ignore[operator]  # tensors by now
    return x * scale.reshape(beside) + shift.reshape(beside)


def _of_batch(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    epsilon: float,
) -> Tensor:
    a, axes, beside = x._array, _axes(x.ndim), _beside(x.ndim)
    if a.size == 0:
        raise ValueError(f"batch_norm: a batch without elements has no mean; x has shape {x.shape}")
    with np.errstate(all="ignore"):
        mean = a.mean(axis=axes, keepdims=True)
        out = np.subtract(a, mean)
        variance = np.multiply(out, out).mean(axis=axes, keepdims=True)
        spread = 1 / np.sqrt(variance + a.dtype.type(epsilon))
        np.multiply(out, spread, out=out)
        if weight is not None:
            np.multiply(out, weight._array.reshape(beside), out=out)
        if bias is not None:
            np.add(out, bias._array.reshape(beside), out=out)
    with no_grad():
        for running, now in ((running_mean, mean), (running_var, variance)):
            running.lerp_(Tensor._made(now.reshape(-1).astype(running._array.dtype)), 1 - momentum)
    counted = [new_storage(mean), new_storage(spread)]
    return recorded(out, BATCH_NORM, (x, weight, bias), ((0, 1), (0,)), mean, spread, counted, epsilon)
