"""Check that a gradient can be added to an existing one, before any gradient is written."""

from __future__ import annotations

import numpy as np

from minitensor.engine.core.errors import gradient_reshaped, not_writeable
from minitensor.engine.core.regions import writeable
from minitensor.engine.core.tensor import Tensor


def refuse_unaddable(gradient: Tensor, g: np.ndarray) -> None:
    """Raise RuntimeError unless ``g`` can be added in place to ``gradient``."""
    if not writeable(gradient._array):
        raise not_writeable("backward", gradient)
    refuse_other_shape(gradient, g)


def refuse_other_shape(gradient: Tensor, g: np.ndarray) -> None:
    """Raise RuntimeError unless ``gradient`` has the shape of ``g``, apart from leading dimensions of length 1."""
    have = gradient._array.shape
    if have == g.shape:
        return
    size = max(len(have), len(g.shape))
    if (1,) * (size - len(have)) + have != (1,) * (size - len(g.shape)) + g.shape or len(have) < len(g.shape):
        raise gradient_reshaped(have, g.shape)
