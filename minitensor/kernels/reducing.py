"""Reductions along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.dtypes import FLOATS

Array = np.ndarray


def axes(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` (None for all, a number, or several) names."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return tuple(range(len(shape)))
    return np.lib.array_utils.normalize_axis_tuple(tuple(axis) if isinstance(axis, (list, tuple)) else axis, len(shape))


def reduce_arguments(axis: Any, keepdim: Any) -> tuple[Any, ...]:
    """None, an integer or a tuple of integers; and a bool."""
    if hasattr(axis, "tolist"):
        axis = axis.tolist()
    if axis is not None:
        try:
            axis = tuple(i.__index__() for i in axis) if isinstance(axis, (list, tuple)) else axis.__index__()
        except AttributeError:
            raise TypeError(f"axis is an integer, a list of integers or None, not {axis!r}") from None
    return axis, bool(keepdim)


def sum_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Sum; of bools and integers as int64."""
    if a.dtype not in FLOATS:
        a = a.astype(np.int64)
    return a.sum(axis=axes(a.shape, axis), keepdims=keepdim)


def mean(a: Array, axis: Any, keepdim: bool) -> Array:
    """Mean."""
    return a.mean(axis=axes(a.shape, axis), keepdims=keepdim)


def prod(a: Array, axis: Any, keepdim: bool) -> Array:
    """Product."""
    return a.prod(axis=axes(a.shape, axis), keepdims=keepdim)


def _no_void(word: str, a: Array, axis: Any) -> None:
    if 0 in (a.shape[i] for i in axes(a.shape, axis)):
        raise ValueError(f"there is no {word} element along a dimension of length 0; the shape is {list(a.shape)}")


def max_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Largest element."""
    _no_void("largest", a, axis)
    return a.max(axis=axes(a.shape, axis), keepdims=keepdim)


def min_(a: Array, axis: Any, keepdim: bool) -> Array:
    """Smallest element."""
    _no_void("smallest", a, axis)
    return a.min(axis=axes(a.shape, axis), keepdims=keepdim)
