"""What the rules of this vocabulary call besides the engine's own: on arrays, and on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Node, Operation, new_node
from minitensor.core.tensor import Tensor
from minitensor.creation.making import zeros_like
from minitensor.modes import modes


def not_outside(x: np.ndarray, min: Any, max: Any) -> np.ndarray:
    """Where ``clamp`` let ``x`` through: between the bounds or on one of them, as in PyTorch."""
    passed = np.ones_like(x, np.bool_) if min is None else x >= min
    return passed if max is None else np.logical_and(passed, x <= max)


def not_outside_on_tensors(x: Tensor, min: Any, max: Any) -> Tensor:
    """The same for a gradient that is recorded."""
    return Tensor._made(not_outside(x._array, min, max))


def with_no_slope(gradient: np.ndarray, saved: np.ndarray) -> np.ndarray:
    """``gradient``, which is the same for all ``saved`` near by."""
    return gradient


def with_no_slope_on_tensors(gradient: Tensor, saved: Tensor) -> Tensor:
    """The same for a gradient that is recorded: what ``saved`` was computed from gets the gradient 0, and not none."""
    source = saved._current()
    if not modes.grad or source is None:
        return gradient
    out = Tensor._alias(gradient._array, gradient._storage)
    out._node = new_node(_NO_SLOPE, (gradient._current(), source), (), gradient._array.shape)
    return out


def _and_zeros(node: Node, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return g, np.zeros_like(g)


def _and_zeros_on_tensors(node: Node, g: Tensor) -> tuple[Tensor, Tensor]:
    return g, zeros_like(g)


_NO_SLOPE = Operation("no_slope", _and_zeros)
_NO_SLOPE.later = lambda: _and_zeros_on_tensors

ON_ARRAYS = {"not_outside": not_outside, "with_no_slope": with_no_slope}
ON_TENSORS = {"not_outside": not_outside_on_tensors, "with_no_slope": with_no_slope_on_tensors}
