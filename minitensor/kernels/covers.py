"""Which elements of its target an in-place operation writes, where these are not all of them.

``COVERS[name](*arrays, *arguments)`` is an index for the target's array. What it does not name keeps its bytes, so that
nobody needs to preserve them. It raises what the operation itself would raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.kernels import diagonals
from minitensor.kernels.along_axis import positions
from minitensor.kernels.indexed import checked, from_front, places_of
from minitensor.kernels.masked import over

Array = np.ndarray


def _rows(a: Array, index: Array, axis: int) -> tuple[Any, ...]:
    axis = from_front(axis, a.ndim)
    return (*(slice(None),) * axis, checked(index.reshape(-1), a.shape[axis], axis))


def _along(a: Array, index: Array, axis: int, broadcast: bool) -> tuple[Array, ...]:
    flat, _ = positions(index, a.shape, axis, broadcast)
    if not flat.size:
        return (np.zeros(0, np.int64),) * a.ndim
    return np.unravel_index(flat, a.shape)


def _tensor_diagonal(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    marks = np.zeros_like(a, dtype=np.bool_)
    matrices, at = diagonals.matrix_diagonal(marks, offset, dim1, dim2)
    matrices[at] = True
    return marks


def _reduced(a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool) -> Any:
    return _along(a, index, axis, broadcast)


COVERS: dict[str, Callable[..., Any]] = {
    "index_add": lambda a, index, value, axis, alpha: _rows(a, index, axis),
    "index_fill": lambda a, index, value, axis: _rows(a, index, axis),
    "scatter": lambda a, index, updates, overwrite: _rows(a, index, 0),
    "index_put": lambda a, rows, value, accumulate, depth: places_of(rows, a.shape, depth),
    "put_along_axis": lambda a, index, values, axis, broadcast: _along(a, index, axis, broadcast),
    "scatter_add": lambda a, index, src, dim: _along(a, index, dim, False),
    **{f"put_along_axis_{how}": _reduced for how in ("add", "multiply", "mean", "amin", "amax")},
    "masked_fill": lambda a, mask, value: over(mask, a.shape),
    "masked_scatter": lambda a, mask, value: over(mask, a.shape),
    "where": lambda condition, a, b: np.logical_not(over(condition, a.shape)),
    "tril": lambda a, diagonal: np.broadcast_to(diagonals.above(a, diagonal), a.shape),
    "triu": lambda a, diagonal: np.broadcast_to(~diagonals.above(a, diagonal - 1), a.shape),
    "fill_diagonal": lambda a, value, offset, wrap: diagonals.main_diagonal(a.shape, offset, wrap),
    "fill_diagonal_tensor": lambda a, b, offset, dim1, dim2: _tensor_diagonal(a, offset, dim1, dim2),
    "embedding_renorm": lambda index, weight, max_norm, norm_type: _rows(weight, np.unique(index), 0),
}
