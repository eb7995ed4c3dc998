"""Helpers of the rules on tensors for indexed, masked and diagonal operations.

An index or a mask has no gradient, so it is processed as an array.
"""

from __future__ import annotations

import math

import numpy as np

from minitensor.engine.autograd.rules.on_tensors import OPERATIONS, constant
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.kernels.diagonals import matrix_diagonal
from minitensor.engine.kernels.indexed import checked, last_of_each
from minitensor.engine.kernels.masked import over
from minitensor.engine.views.reshaping import reshape, unsqueeze

_where, _index_select, _index_add, _index_fill = (
    OPERATIONS[name] for name in ("where", "index_select", "index_add", "index_fill")
)
_masked_select, _masked_scatter = (OPERATIONS[name] for name in ("masked_select", "masked_scatter"))


def _zeros(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    return constant(np.zeros(shape, like._array.dtype, like=like._array))


def added_rows(g: Tensor, index: Tensor, axis: int, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient of the input of ``index_select`` or ``gather``."""
    g = unsqueeze(g, axis) if g.ndim < len(shape) else g
    return _index_add(_zeros(g, shape), index, axis, g)


def emptied_rows(g: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return ``g`` with 0 in the parts along ``axis`` that ``index`` lists."""
    return _index_fill(g, index, axis, 0.0)


def rows_once(g: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return the parts of ``g`` that ``index`` lists, each once."""
    rows = np.unique(checked(index._array.reshape(-1), g.shape[axis], axis))
    return _index_select(g, constant(rows), axis)


def written_rows(g: Tensor, index: Tensor, overwrite: bool, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient of the updates of ``scatter``."""
    rows = checked(index._array.reshape(-1), g.shape[0], 0)
    taken = _index_select(g, constant(rows), 0)
    if overwrite:
        last = last_of_each(rows).reshape(-1, *([1] * (g.ndim - 1)))
        taken = _where(constant(last), taken, 0.0)
    return reshape(taken, shape)


def _by_row(g: Tensor, depth: int) -> Tensor:
    """Return ``g`` with its first ``depth`` dimensions merged."""
    lead = math.prod(g.shape[:depth])
    return reshape(g, [lead, *g.shape[depth:]])


def emptied_places(g: Tensor, rows: Tensor, depth: int) -> Tensor:
    """Return ``g`` with 0 at the elements that ``index_put`` assigned."""
    return reshape(_index_fill(_by_row(g, depth), reshape(rows, [rows.size]), 0, 0.0), g.shape)


def written_places(g: Tensor, rows: Tensor, accumulate: bool, depth: int) -> Tensor:
    """Return the gradient of the value of ``index_put``, in the shape that the index selects."""
    lead = _by_row(g, depth)
    flat = checked(rows._array.reshape(-1), lead.shape[0], 0)
    taken = _index_select(lead, constant(flat), 0)
    if not accumulate:
        last = last_of_each(flat).reshape(-1, *([1] * (lead.ndim - 1)))
        taken = _where(constant(last), taken, 0.0)
    return reshape(taken, [*rows.shape, *g.shape[depth:]])


def put_back(g: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient of the input of ``masked_select``."""
    return _masked_scatter(_zeros(g, shape), mask, g)


def first_taken(g: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient of the value of ``masked_scatter``."""
    taken = _masked_select(g, constant(over(mask._array, g._array.shape).copy()))
    first = constant(np.arange(taken.size, like=g._array))
    return reshape(_index_add(_zeros(g, (math.prod(shape),)), first, 0, taken), shape)


def _diagonal_positions(g: Tensor, offset: int, dim1: int, dim2: int) -> tuple[Tensor, list[int]]:
    """Return the positions of the diagonal in the flattened tensor, and the shape of the diagonal."""
    numbers = np.arange(g.size, like=g._array).reshape(g._array.shape)
    matrices, at = matrix_diagonal(numbers, offset, dim1, dim2)
    picked = matrices[at].copy()
    return constant(picked.reshape(-1)), list(picked.shape)


def emptied_diagonal(g: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """Return ``g`` with 0 on the diagonals of its matrices in ``dim1`` and ``dim2``."""
    positions, _ = _diagonal_positions(g, offset, dim1, dim2)
    return reshape(_index_fill(reshape(g, [g.size]), positions, 0, 0.0), g.shape)


def diagonal_of(g: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """Return the diagonals of the matrices in ``dim1`` and ``dim2`` of ``g``."""
    positions, shape = _diagonal_positions(g, offset, dim1, dim2)
    return reshape(_index_select(reshape(g, [g.size]), positions, 0), shape)
