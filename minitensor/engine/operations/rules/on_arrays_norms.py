"""Helper of the rule for ``renorm`` on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.kernels.indexed import from_front
from minitensor.engine.kernels.matrices import slice_norms

Array = Any  # a numpy array, or an array on a GPU


def renorm_gradient(g: Array, x: Array, p: float, axis: int, max_norm: float) -> Array:
    """Return the gradient of ``x``: ``g`` in unchanged slices, else the gradient of ``x * max_norm / norm``."""
    axis = from_front(axis, x.ndim)
    norms = slice_norms(x, p, axis)
    others = tuple(d for d in range(x.ndim) if d != axis)
    with np.errstate(all="ignore"):
        # `slope` is the slope of the norm along x. At x = 0, the slope is taken as 0.
        slope = np.where(x == 0, x.dtype.type(0), np.sign(x) * (np.abs(x) / norms) ** (p - 1))
        along = np.sum(g * x, axis=others, keepdims=True) / norms
        return np.where(norms > max_norm, (g - along * slope) * (max_norm / norms), g).astype(g.dtype)
