"""Forward functions that read or write a diagonal of a matrix, or the triangle on one side of a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import flag
from minitensor.engine.kernels.indexed import copy_if_shared, from_front, whole
from minitensor.engine.kernels.numbers import number, stored

Array = np.ndarray


# ---------- triangles ----------


def diagonal_argument(diagonal: Any) -> tuple[Any, ...]:
    """Check an integer."""
    return (whole("diagonal", diagonal),)


def above(a: Array, diagonal: int) -> Array:
    """Return a mask for the matrices in the last two dimensions of ``a``: True at the cells above ``diagonal``."""
    if a.ndim < 2:
        raise ValueError(f"x must have at least two dimensions, but its shape is {list(a.shape)}")
    rows, columns = (np.arange(n, like=a) for n in a.shape[-2:])
    diagonal = max(-a.shape[-2], min(diagonal, a.shape[-1]))  # all diagonals beyond the corners give the same result
    return columns > rows[:, None] + diagonal


def _zero_where(mask: Array, a: Array, out: Array | None) -> Array:
    if out is None:
        return np.where(mask, a.dtype.type(0), a)
    np.copyto(out, 0, where=mask)
    return out


def tril(a: Array, diagonal: int, out: Array | None = None) -> Array:
    """``a``, with 0 above the diagonal."""
    return _zero_where(above(a, diagonal), a, out)


def triu(a: Array, diagonal: int, out: Array | None = None) -> Array:
    """``a``, with 0 below the diagonal."""
    return _zero_where(~above(a, diagonal - 1), a, out)


# ---------- filling a diagonal ----------


def fill_diagonal_arguments(value: Any, offset: Any, wrap: Any) -> tuple[Any, ...]:
    """Check a number, an integer and a bool."""
    return number("fill_diagonal", "value", value), whole("offset", offset), flag("", "wrap", wrap)


def main_diagonal(a: Array, offset: int, wrap: bool) -> tuple[Array, ...]:
    """Return an index of the main diagonal moved by ``offset`` columns, except for its cells outside the array."""
    shape = a.shape
    if len(shape) < 2:
        raise ValueError(f"x must have at least two dimensions, but its shape is {list(shape)}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError(f"with more than two dimensions all must be equally long; the shape is {list(shape)}")
    columns = shape[-1]
    if len(shape) == 2:
        rows = np.arange(shape[0], like=a)
        # With ``wrap``, one row is skipped and the diagonal begins again.
        column = rows % (columns + 1) if wrap else rows
        keep = (column < columns) & (column + offset >= 0) & (column + offset < columns)
        return rows[keep], column[keep] + offset
    along = np.arange(columns, like=a)
    along = along[(along + offset >= 0) & (along + offset < columns)]
    return (*(along for _ in shape[1:]), along + offset)


def fill_diagonal(a: Array, value: Any, offset: int, wrap: bool, out: Array | None = None) -> Array:
    """``a``, with ``value`` on its main diagonal, moved by ``offset`` columns.

    With ``wrap``, the diagonal begins again below, in a matrix with more rows than columns.
    """
    cells = main_diagonal(a, offset, wrap)
    one = stored("value", value, a.dtype)[()]
    out = a.copy() if out is None else out
    out[cells] = one
    return out


def matrix_diagonal_arguments(offset: Any, dim1: Any, dim2: Any) -> tuple[Any, ...]:
    """Check three integers."""
    return whole("offset", offset), whole("dim1", dim1), whole("dim2", dim2)


def matrix_diagonal(a: Array, offset: int, dim1: int, dim2: int) -> tuple[Array, tuple[Any, ...]]:
    """Return ``a`` with ``dim1`` and ``dim2`` as the last two dimensions, and the index of its matrices' diagonals."""
    if a.ndim < 2:
        raise ValueError(f"x must have at least two dimensions, but its shape is {list(a.shape)}")
    dim1, dim2 = from_front(dim1, a.ndim), from_front(dim2, a.ndim)
    if dim1 == dim2:
        raise ValueError(f"dim1 and dim2 must be different dimensions; both are {dim1}")
    matrices = np.moveaxis(a, (dim1, dim2), (-2, -1))
    rows, columns = matrices.shape[-2:]
    top, left = max(0, -offset), max(0, offset)
    along = np.arange(max(0, min(rows - top, columns - left)), like=a)
    return matrices, (..., along + top, along + left)


def diagonal_of(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    """A new array whose last dimension holds the diagonals of the matrices in the dimensions ``dim1`` and ``dim2``."""
    matrices, at = matrix_diagonal(a, offset, dim1, dim2)
    return matrices[at].copy()


def fill_diagonal_tensor(a: Array, b: Array, offset: int, dim1: int, dim2: int, out: Array | None = None) -> Array:
    """``a``, with one row of ``b`` on the diagonal of each of its matrices in the dimensions ``dim1`` and ``dim2``."""
    target = a.copy() if out is None else out
    matrices, at = matrix_diagonal(target, offset, dim1, dim2)
    wanted = (*matrices.shape[:-2], at[1].size)
    if b.shape != wanted:
        raise ValueError(f"y must have the shape {list(wanted)} of the diagonal, not {list(b.shape)}")
    matrices[at] = copy_if_shared(b, target)
    return target


def diag_embed(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Matrices in the dimensions ``dim1`` and ``dim2`` of a new array: ``a`` is on their diagonals, and 0 elsewhere."""
    if a.ndim == 0:
        raise ValueError("x must have at least one dimension, but its shape is []")
    shape = list(a.shape[:-1])
    for dim in sorted(from_front(each, a.ndim + 1) for each in (dim1, dim2)):
        shape.insert(dim, a.shape[-1] + abs(offset))
    zeros = np.zeros(shape, a.dtype, like=a)
    return fill_diagonal_tensor(zeros, a, offset, dim1, dim2, out=zeros)
