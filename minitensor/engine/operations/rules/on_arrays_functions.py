"""Helpers of the rules on arrays for functions, scans and activations."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from minitensor.engine.kernels.activations import blocks
from minitensor.engine.kernels.functions import NO_BOUND
from minitensor.engine.kernels.reducing import total

Array = Any  # a numpy array, or an array on a GPU

#: The coefficients of u, u**3 and so on in -u / 3 + u**3 / 30 - ..., the slope of sin(u) / u. For u below 1, further
#: terms would change no bit of a float64.
SINC_SERIES = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11))


def sinc_slope(x: Array) -> Array:
    """Return the slope of sinc. Near 0, where the closed form would lose all digits, it is computed by a series."""
    u = x * math.pi
    near = abs(u) < 1
    small, large = np.where(near, u, 0), np.where(near, 1, u)
    square, series = small * small, 0.0
    for coefficient in reversed(SINC_SERIES):
        series = series * square + coefficient
    return math.pi * np.where(near, series * small, (np.cos(large) - np.sin(large) / large) / large)


def logit_gradient(g: Array, x: Array, eps: float) -> Array:
    """Return ``g / (x * (1 - x))``; 0 below ``eps`` or above ``1 - eps``; without ``eps``, nan outside 0 to 1."""
    low, beyond = (0.0, math.nan) if eps == NO_BOUND else (eps, 0.0)
    outside = (x < low) | (x > 1 - low)
    # The absolute value changes -0.0 to 0.0, so that the slope is inf and not -inf.
    inner = np.where(outside, x.dtype.type(0.5), np.absolute(x))
    with np.errstate(all="ignore"):
        return np.where(outside, x.dtype.type(beyond), g / (inner * (1 - inner)))


def no_slope(op: str) -> NoReturn:
    """Raise RuntimeError, because the slope of an incomplete gamma function along x is not a known function."""
    raise RuntimeError(
        f"{op} has a gradient for y only: its slope along x is not a known function, but this x requires a gradient. "
        f"Give {op} an x with stop_gradient=True, or its `detach()`."
    )


def softmax_gradient(g: Array, out: Array, axis: int) -> Array:
    """Return the gradient of softmax: ``out * (g - s)``, where s is the sum of ``g * out`` along ``axis``."""
    if out.ndim == 0:
        return out * (g - g * out)
    gx = np.empty_like(out, order="C")
    for part in blocks(out, axis):
        result, probabilities = gx[part], out[part]
        np.multiply(g[part], probabilities, out=result)
        np.subtract(g[part], total(result, axis, True), out=result)
        np.multiply(result, probabilities, out=result)
    return gx


def shaped(g: Array, shape: tuple[int, ...]) -> Array:
    """Return the elements of ``g`` in another shape."""
    return g.reshape(shape)


def _product(a: Array, b: Array) -> Array:
    """Return ``a * b``, but 0 where a factor is 0, even if the other is inf or nan."""
    return np.where((a == 0) | (b == 0), 0, a * b)


def cumprod_gradient(g: Array, x: Array, axis: int | None) -> Array:
    """Return the gradient of cumprod, computed without division, so that zeros work.

    The gradient of ``x[k]`` is ``g[k] + x[k + 1] * (g[k + 1] + x[k + 2] * (...))`` times the product of ``x[:k]``. The
    sum is computed in passes. The first pass knows the sum of the terms and the product of the factors for stretches of
    one element; each further pass joins neighbouring stretches, which doubles their length.
    """
    shape = x.shape
    if axis is None or not shape:
        x, g, axis = x.reshape(-1), g.reshape(-1), 0
    x, total = np.moveaxis(x, axis, -1), np.moveaxis(g, axis, -1).copy()
    length, stretch, factors = x.shape[-1], 1, x[..., 1:]
    while stretch < length:
        total[..., :-stretch] = total[..., :-stretch] + _product(factors, total[..., stretch:])
        factors = factors[..., :-stretch] * factors[..., stretch:]
        stretch *= 2
    before = np.ones_like(x)
    np.cumprod(x[..., :-1], axis=-1, out=before[..., 1:])
    return np.moveaxis(_product(before, total), -1, axis).reshape(shape)
