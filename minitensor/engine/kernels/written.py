"""Return the elements that an operation writes, as an advanced index into its target.

An operation calls one of these functions in two cases. If a node saved the target, only the written elements have to be
preserved. If there is a listener, the event about the write describes these elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.kernels.along_axis import positions
from minitensor.engine.kernels.diagonals import above, main_diagonal, matrix_diagonal
from minitensor.engine.kernels.indexed import checked, copy_if_shared, from_front, places_of
from minitensor.engine.kernels.masked import over

Array = np.ndarray
Index = tuple[Any, ...]


def index_for_event(a: Array, part: Callable[[], Index]) -> Index | None:
    """Return the index that ``part()`` returns, with copies of arrays that share memory with the target ``a``.

    Return None if ``part()`` raises an error, because the operation will raise it, too.
    """
    try:
        return tuple(copy_if_shared(each, a) if hasattr(each, "dtype") else each for each in part())
    except (ValueError, IndexError, TypeError):
        return None


def rows_at(a: Array, index: Array, axis: int) -> Index:
    """Return the parts along ``axis`` that ``index`` lists."""
    axis = from_front(axis, a.ndim)
    return *(slice(None),) * axis, checked(index, a.shape[axis], axis).reshape(-1)


def places_at(a: Array, rows: Array, depth: int) -> Index:
    """Return the elements at ``rows``: positions in the first ``depth`` dimensions, which are flattened to one."""
    return places_of(rows, a.shape, depth)


def elements_at(a: Array, index: Array, axis: int, broadcast: bool) -> Index:
    """Return the single elements along ``axis`` that ``index`` lists."""
    flat, _ = positions(index, a.shape, axis, broadcast)
    return np.unravel_index(flat, a.shape) if flat.size else (np.zeros(0, np.int64, like=a),) * a.ndim


def where_true(a: Array, mask: Array) -> Index:
    """Return the elements where ``mask``, broadcast to the target, is true."""
    return (over(mask, a.shape),)


def side(a: Array, diagonal: int, upper: bool) -> Index:
    """Return the elements above ``diagonal`` if ``upper`` is true, else the elements below it."""
    return ..., above(a, diagonal) if upper else ~above(a, diagonal - 1)


def main(a: Array, offset: int, wrap: bool) -> Index:
    """Return the main diagonal, moved by ``offset`` columns."""
    return main_diagonal(a, offset, wrap)


def diagonal(a: Array, offset: int, dim1: int, dim2: int) -> Index:
    """Return the diagonal of each matrix in the dimensions ``dim1`` and ``dim2``."""
    _, (_, rows, columns) = matrix_diagonal(a, offset, dim1, dim2)
    index: list[Any] = [slice(None)] * a.ndim
    index[dim1], index[dim2] = rows, columns
    return tuple(index)
