"""Find the writes that PyTorch refuses because they read a part of the memory that they write.

PyTorch compares the first and last addresses of two tensors, and only if the elements of both have no gaps. It accepts
two tensors with the same cells in the same order, except in a write by index and in a scatter.
``tests/minitensor/vocabulary/test_refusals_table.py`` compares these rules with ``facts/learners.json``, group "a part
of itself".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitensor.engine.core.regions import span
from minitensor.engine.core.tensor import Tensor

#: Writes that read a single number or read elements one after another. PyTorch does not check these.
_UNCHECKED = frozenset({"fill_", "masked_fill_", "index_fill_", "masked_scatter_"})


@dataclass(frozen=True)
class ArrayExtent:
    """The memory of an array.

    Attributes:
        begin, end: addresses.
        strides: in bytes.
        dense: True if its elements have no gaps between them.
    """

    begin: int
    end: int
    strides: tuple[int, ...]
    dense: bool

    @classmethod
    def of(cls, array: Any) -> ArrayExtent:
        """Return the extent of ``array``."""
        begin, count = span(array)
        return cls(begin, begin + count * array.itemsize, array.strides, array.size == count > 0)

    def overlaps(self, other: ArrayExtent) -> bool:
        """True if PyTorch finds that the two overlap."""
        return self.dense and other.dense and self.begin < other.end and other.begin < self.end

    def is_equal(self, other: ArrayExtent) -> bool:
        """True if PyTorch considers the two equal; it compares their ends and strides only."""
        return (self.begin, self.end, self.strides) == (other.begin, other.end, other.strides)


def extents(inputs: Iterable[Any]) -> list[ArrayExtent]:
    """Return the extents of the tensors among ``inputs``. A number has none."""
    arrays = [each._array for each in inputs if isinstance(each, Tensor)]
    return [ArrayExtent.of(array) for array in arrays if not isinstance(array, np.generic)]


def reads_a_part(x: Tensor, op: str, inputs: tuple[Any, ...], where: Any, read: list[ArrayExtent]) -> bool:
    """Return True if PyTorch refuses ``op``, which wrote the cells ``where`` of ``x``, because of its operands.

    Args:
        read: the arrays that the same call has read before it wrote.
    """
    others = [each for each in inputs[1:] if isinstance(each, Tensor)]
    if op in _UNCHECKED:
        return False
    by_index = isinstance(where, tuple)
    if op == "setitem":
        values = [each for each in others if not _is_spread(each, x, where)]
        target = ArrayExtent.of(_remaining_part(x._array, where) if by_index else where)
    else:
        values, target = others, ArrayExtent.of(x._array)
    known = extents(values)
    if by_index:
        return any(target.overlaps(each) for each in known)
    return any(target.overlaps(each) and not target.is_equal(each) for each in (*known, *read))


def _is_spread(value: Tensor, x: Tensor, where: Any) -> bool:
    """True if an assignment broadcasts its value, in which case PyTorch does not look for an overlap."""
    if not isinstance(where, tuple):
        return value._array.size == 1 or _without_ones(value._array.shape) != _without_ones(where.shape)
    mask = where[0] if len(where) == 1 else None
    return value._array.size == 1 and getattr(mask, "dtype", None) == np.bool_


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without leading dimensions of length 1."""
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def _remaining_part(array: Any, where: tuple[Any, ...]) -> Any:
    """Return the part of an array that remains after the numbers and slices of an advanced index."""
    # A single True selects everything.
    where = tuple(each for each in where if np.ndim(each) or getattr(each, "dtype", None) != np.bool_)
    basic = tuple(each if not np.ndim(each) or isinstance(each, slice) else slice(None) for each in where)
    basic = tuple(int(each) if isinstance(each, (np.ndarray, np.integer)) else each for each in basic)
    return array[basic if Ellipsis in basic else (*basic, ...)]  # an array even if a single number is picked
