"""Writes that PyTorch refuses because they read a part of what they write.

It compares where tensors begin and end, of those whose elements lie without gaps only. What two of them have in common
may be all of their cells, in the same order; a write by index and a scatter do not take that either. The rules are
held against ``facts/learners.json``, group "a part of itself", by ``tests/vocabulary/test_refusals_table.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitensor.engine.core.regions import span
from minitensor.engine.core.tensor import Tensor

#: Writes that take a number from a tensor, or what they take one after the other: these are not looked at.
_UNCHECKED = frozenset({"fill_", "masked_fill_", "index_fill_", "masked_scatter_"})


@dataclass(frozen=True)
class Extent:
    """Where an array lies.

    Attributes:
        begin, end: addresses.
        strides: in bytes.
        dense: whether its elements fill that without gaps.
    """

    begin: int
    end: int
    strides: tuple[int, ...]
    dense: bool

    @classmethod
    def of(cls, array: Any) -> Extent:
        """That of ``array``."""
        begin, count = span(array)
        return cls(begin, begin + count * array.itemsize, array.strides, array.size == count > 0)

    def meets(self, other: Extent) -> bool:
        """Whether PyTorch finds a cell in both."""
        return self.dense and other.dense and self.begin < other.end and other.begin < self.end

    def is_the_same(self, other: Extent) -> bool:
        """Whether PyTorch takes the two for one: it does not compare what lies between their ends."""
        return (self.begin, self.end, self.strides) == (other.begin, other.end, other.strides)


def extents(inputs: Iterable[Any]) -> list[Extent]:
    """Where the tensors among ``inputs`` lie. A number lies nowhere."""
    arrays = [each._array for each in inputs if isinstance(each, Tensor)]
    return [Extent.of(array) for array in arrays if not isinstance(array, np.generic)]


def reads_a_part(x: Tensor, op: str, inputs: tuple[Any, ...], where: Any, read: list[Extent]) -> bool:
    """Whether PyTorch refuses ``op``, which wrote the cells ``where`` of ``x``, for what it reads.

    Args:
        read: what the same call has read before it wrote.
    """
    others = [each for each in inputs[1:] if isinstance(each, Tensor)]
    if op in _UNCHECKED:
        return False
    by_index = isinstance(where, tuple)
    if op == "setitem":
        values = [each for each in others if not _is_spread(each, x, where)]
        target = Extent.of(_sliced(x._array, where) if by_index else where)
    else:
        values, target = others, Extent.of(x._array)
    known = extents(values)
    if by_index:
        return any(target.meets(each) for each in known)
    return any(target.meets(each) and not target.is_the_same(each) for each in (*known, *read))


def _is_spread(value: Tensor, x: Tensor, where: Any) -> bool:
    """Whether an assignment spreads one number, or a smaller value, over what it writes: it looks for no overlap."""
    if not isinstance(where, tuple):
        return value._array.size == 1 or _without_ones(value._array.shape) != _without_ones(where.shape)
    mask = where[0] if len(where) == 1 else None
    return value._array.size == 1 and getattr(mask, "dtype", None) == np.bool_


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without leading dimensions of length 1."""
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def _sliced(array: Any, where: tuple[Any, ...]) -> Any:
    """The part of an array that an index by arrays picks from: numbers and slices come first."""
    basic = tuple(each if not np.ndim(each) or isinstance(each, slice) else slice(None) for each in where)
    return array[tuple(int(each) if isinstance(each, (np.ndarray, np.integer)) else each for each in basic)]
