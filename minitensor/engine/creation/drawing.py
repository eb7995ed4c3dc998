"""Create tensors of random numbers. Many of these functions have an in-place form, which fills an existing tensor.

The numbers are from the generator that ``minitensor.seed`` restarts. No gradient passes to parameters such as ``mean``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.core.errors import devices_differ, not_broadcastable
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape, float_dtype, like, made_here
from minitensor.engine.device.arrays import as_array, broadcast_shapes, gpu_of
from minitensor.engine.device.places import current
from minitensor.engine.kernels import random as kernels
from minitensor.engine.random import source


def _empty(op: str, shape: Any, dtype: Any, gpu: Any) -> Any:
    """Return an array to draw into, on ``gpu`` (None: the host)."""
    array = np.empty(as_shape(op, shape), float_dtype(op, dtype))
    return array if gpu is None else gpu.put(array)


def rand(shape: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of ``shape`` with uniform random numbers from 0 (included) to 1 (excluded).

    Args:
        dtype: a floating dtype; float32 by default.

    Raises:
        ValueError: if a length is negative.
        TypeError: if the dtype is not a floating one, or the shape is not a list of integers.
    """
    return made_here(
        "rand", kernels.between_0_and_1(source.generator, as_shape("rand", shape), float_dtype("rand", dtype))
    )


def randn(shape: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of ``shape`` with numbers from the normal distribution of mean 0 and variance 1.

    Args:
        dtype: a floating dtype; float32 by default.

    Raises:
        ValueError: if a length is negative.
        TypeError: if the dtype is not a floating one, or the shape is not a list of integers.
    """
    drawn = np.empty(as_shape("randn", shape), float_dtype("randn", dtype))
    return made_here("randn", kernels.standard_normal(drawn))


def rand_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Return random numbers as ``rand`` does, in the shape and dtype of ``x``.

    Args:
        dtype: a floating dtype; by default that of ``x``.

    Raises:
        TypeError: if ``x`` is not a tensor, or the dtype is not floating.
    """
    return like("rand_like", rand, x, dtype)


def randn_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Return random numbers as ``randn`` does, in the shape and dtype of ``x``.

    Args:
        dtype: a floating dtype; by default that of ``x``.

    Raises:
        TypeError: if ``x`` is not a tensor, or the dtype is not floating.
    """
    return like("randn_like", randn, x, dtype)


def uniform(
    shape: Any, dtype: Any = None, min: float = 0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Return a tensor of ``shape`` with uniform random numbers between ``min`` and ``max``; float32 by default.

    Args:
        seed: 0 to draw from the program's generator; any other number seeds a new generator for this call.

    Raises:
        ValueError, TypeError: if ``min`` is above ``max``, or a parameter is not a number.
        TypeError: if the dtype is not a floating one.
    """
    drawn = _empty("uniform", shape, dtype, current.gpu)
    low, high, seed = kernels.uniform_arguments(min, max, seed, "uniform")
    return Tensor._made(kernels.uniform(drawn, low, high, seed, drawn), "uniform")


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Return random numbers from the normal distribution of this mean and standard deviation.

    Args:
        mean, std: numbers, or tensors whose shapes are broadcast against each other.
        shape: the shape of the result if both are numbers (the dtype is float32 then); otherwise ignored.

    Returns:
        If both are numbers, a tensor of ``shape``; otherwise a tensor of the broadcast shape of the given tensors, in
        the dtype to which they are promoted.

    Raises:
        ValueError, TypeError: if a deviation is negative, or a parameter is neither a number nor a tensor.
        TypeError: if ``mean`` and ``std`` are numbers and there is no ``shape``.
    """
    return Tensor._made(_normal("normal", mean, std, shape), "normal")


def _normal(op: str, mean: Any, std: Any, shape: Any) -> Any:
    """Return the numbers of :func:`normal` as an array; errors name ``op``."""
    parameters = [x._array for x in (mean, std) if isinstance(x, Tensor)]
    if not parameters:
        if shape is None:
            raise TypeError(f"{op}: shape must be given if mean and std are numbers")
        drawn = _empty(op, shape, None, current.gpu)
        mean, std = kernels.mean_and_deviation(op, mean, std)
        return kernels.normal(drawn, mean, std, drawn)
    gpu = gpu_of(parameters[0])
    if gpu_of(parameters[-1]) is not gpu:
        raise devices_differ(op, tuple(parameters))
    try:
        spread = broadcast_shapes(*(x.shape for x in parameters))
    except ValueError:
        raise not_broadcastable(op, [x.shape for x in parameters]) from None
    drawn = _empty(op, spread, np.result_type(*parameters), gpu)
    middle, deviation = (
        x._array if isinstance(x, Tensor) else kernels.finite(op, "mean or std", x) for x in (mean, std)
    )
    if np.any(np.less(deviation, 0)):
        raise ValueError(f"{op}: std must be at least 0, not {np.min(deviation).item()}")
    kernels.normal(drawn, 0.0, 1.0, drawn)
    with np.errstate(all="ignore"):
        return as_array(drawn * deviation + middle).astype(drawn.dtype, copy=False)


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Return e to the power of the numbers that :func:`normal` draws.

    Args:
        mean, std, shape: as for :func:`normal`.

    Raises:
        ValueError, TypeError: as for :func:`normal`.
    """
    drawn = _normal("log_normal", mean, std, shape)
    with np.errstate(all="ignore"):
        return Tensor._made(as_array(np.exp(drawn)), "log_normal")


def bernoulli(x: Any, p: float | None = None, name: str | None = None) -> Tensor:
    """Return random zeros and ones in the shape and dtype of ``x``.

    Args:
        x: for each element of the result, the probability that it is 1.
        p: one probability for all elements, which replaces those in ``x``.

    Raises:
        TypeError: if ``x`` is not a tensor of floats.
        ValueError: if an element is not a probability.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"bernoulli: x must be a Tensor, not {type(x).__name__}")
    drawn = _empty("bernoulli", x.shape, x.dtype, gpu_of(x._array))
    (probability,) = kernels.bernoulli_arguments(x if p is None else p, "bernoulli")
    return Tensor._made(kernels.bernoulli(drawn, probability, drawn), "bernoulli")


#: All functions of this module, by name.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (bernoulli, log_normal, normal, rand, rand_like, randn, randn_like, uniform)
}
