"""Helpers of the rules on arrays for indexed, masked and diagonal operations.

The gradient of overwritten elements is set to 0, never multiplied by 0, because inf and nan times 0 are nan. If several
values were assigned to one position, the last one gets the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.device.arrays import as_array
from minitensor.engine.kernels import diagonals, masked
from minitensor.engine.kernels import indexed as kernels
from minitensor.engine.kernels.indexed import checked, last_of_each, places_of

Array = Any  # a numpy array, or an array on a GPU


# ---------- parts along one axis ----------


def added_rows(g: Array, index: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """Return the gradient of the input of ``index_select`` or ``gather``, a sum for parts that were read twice."""
    g = np.expand_dims(g, axis) if g.ndim < len(shape) else g
    return kernels.index_add(np.zeros(shape, g.dtype, like=g), index, g, axis, 1)


def emptied_rows(g: Array, index: Array, axis: int) -> Array:
    """Return ``g`` with 0 in the parts that ``index`` lists along ``axis``."""
    return kernels.index_fill(g, index, np.zeros((), g.dtype, like=g), axis)


def rows_once(g: Array, index: Array, axis: int) -> Array:
    """Return the parts of ``g`` that ``index`` lists along ``axis``, each once."""
    rows = np.unique(checked(index.reshape(-1), g.shape[axis], axis))
    return np.take(g, rows, axis=axis)


def written_rows(g: Array, index: Array, overwrite: bool, shape: tuple[int, ...]) -> Array:
    """Return the gradient of the updates of ``scatter``: 0 if another update has overwritten the row later."""
    rows = checked(index.reshape(-1), g.shape[0], 0)
    taken = g[rows]
    if overwrite:
        taken[~last_of_each(rows)] = 0
    return taken.reshape(shape)


# ---------- positions ----------


def emptied_places(g: Array, rows: Array, depth: int) -> Array:
    """Return ``g`` with 0 at the elements that ``index_put`` assigned."""
    rest = g.copy()
    rest[places_of(rows, g.shape, depth)] = 0
    return rest


def written_places(g: Array, rows: Array, accumulate: bool, depth: int) -> Array:
    """Return the gradient of the value of ``index_put``, in the shape that the index selects."""
    places = places_of(rows, g.shape, depth)
    taken = as_array(g[places])
    if not accumulate:
        flat = checked(rows.reshape(-1), int(np.prod(g.shape[:depth], dtype=np.int64)), 0)
        taken = taken.copy()
        taken[~last_of_each(flat).reshape(rows.shape)] = 0
    return taken


# ---------- masks ----------


def put_back(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """Return the gradient of the input of ``masked_select``."""
    return masked.masked_scatter(np.zeros(shape, g.dtype, like=g), mask, g)


def first_taken(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """Return the gradient of the value of ``masked_scatter``, of which only the first elements were used."""
    taken = masked.masked_select(g, mask)
    whole = np.zeros_like(g, shape=(int(np.prod(shape, dtype=np.int64)),))
    whole[: taken.size] = taken
    return whole.reshape(shape)


# ---------- diagonals ----------


def emptied_diagonal(g: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Return ``g`` with 0 on the diagonals of its matrices in ``dim1`` and ``dim2``."""
    zeros = np.zeros_like(diagonals.diagonal_of(g, offset, dim1, dim2))
    return diagonals.fill_diagonal_tensor(g, zeros, offset, dim1, dim2)


def diagonal_of(g: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Return the diagonals of the matrices in ``dim1`` and ``dim2``."""
    return diagonals.diagonal_of(g, offset, dim1, dim2)
