"""Parts of the derivatives of functions, scans and activations, computed by recorded operations on tensors."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine.autograd.rules.on_tensors import OPERATIONS
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import ones_like
from minitensor.engine.kernels.functions import NO_BOUND
from minitensor.engine.operations.rules import on_arrays_functions as on_arrays
from minitensor.engine.views.joining import concat
from minitensor.engine.views.reshaping import reshape
from minitensor.engine.views.transposing import transpose


def sinc_slope(x: Tensor) -> Tensor:
    """Return the slope of sinc, with the same values as the function of this name on arrays."""
    u = x * math.pi
    where, near = OPERATIONS["where"], abs(u) < 1
    small, large = where(near, u, 0), where(near, 1, u)
    square, series = small * small, 0.0
    for coefficient in reversed(on_arrays.SINC_SERIES):
        series = series * square + coefficient
    closed = (OPERATIONS["cos"](large) - OPERATIONS["sin"](large) / large) / large
    return where(near, series * small, closed) * math.pi


def logit_gradient(g: Tensor, x: Tensor, eps: float) -> Tensor:
    """Return ``g / (x * (1 - x))``, with the same values as the function of this name on arrays."""
    low, beyond = (0.0, math.nan) if eps == NO_BOUND else (eps, 0.0)
    outside = Tensor._made((x._array < low) | (x._array > 1 - low))
    inner = OPERATIONS["where"](outside, 0.5, x) + 0.0  # turns -0.0 into 0.0, so that the slope is inf, not -inf
    return OPERATIONS["where"](outside, beyond, g) / (inner * (1.0 - inner))


def no_slope(op: str) -> Any:
    """Raise the same RuntimeError as the function of this name on arrays."""
    on_arrays.no_slope(op)


def softmax_gradient(g: Tensor, out: Tensor, axis: int) -> Tensor:
    """Return the gradient of softmax from its result."""
    product = g * out
    return out * (g - (product if out.ndim == 0 else OPERATIONS["sum"](product, axis, True)))


def shaped(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the elements of ``g`` in another shape."""
    return reshape(g, list(shape))


def cumprod_gradient(g: Tensor, x: Tensor, axis: int | None) -> Tensor:
    """Return the gradient of cumprod without a division, from products over 1, 2, 4 ... elements."""
    shape = x.shape
    if 0 in shape:
        return reshape(g, shape)
    if axis is None or not shape:
        x, g, axis = reshape(x, [-1]), reshape(g, [-1]), 0
    swapped = list(range(x.ndim))
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    x, total = transpose(x, swapped), transpose(g, swapped)
    length, stretch, factors = x.shape[-1], 1, x[..., 1:]
    while stretch < length:
        longer = total[..., :-stretch] + factors * total[..., stretch:]
        total = concat([longer, total[..., length - stretch :]], -1)
        if 2 * stretch < length:
            factors = factors[..., :-stretch] * factors[..., stretch:]
        stretch *= 2
    before = concat([ones_like(x[..., :1]), OPERATIONS["cumprod"](x[..., :-1], -1)], -1)
    return reshape(transpose(before * total, swapped), shape)
