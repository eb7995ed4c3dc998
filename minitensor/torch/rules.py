"""What the rules of this vocabulary call besides the engine's own: on arrays, and on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor


def not_outside(x: np.ndarray, min: Any, max: Any) -> np.ndarray:
    """Where ``clamp`` let ``x`` through: between the bounds or on one of them, as in PyTorch."""
    passed = np.ones_like(x, np.bool_) if min is None else x >= min
    return passed if max is None else np.logical_and(passed, x <= max)


def not_outside_on_tensors(x: Tensor, min: Any, max: Any) -> Tensor:
    """The same for a gradient that is recorded."""
    return Tensor._made(not_outside(x._array, min, max))


ON_ARRAYS = {"not_outside": not_outside}
ON_TENSORS = {"not_outside": not_outside_on_tensors}
