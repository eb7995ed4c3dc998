"""Which cells of a storage a write covered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor
from minitensor.device.arrays import host_array
from minitensor.stage.recording import cells

MOST_PICKED = 10_000  # cells that an index picks are told apart; of more, the first and the last


@dataclass
class Cover:
    """The cells that a write covered.

    Attributes:
        runs: of neighbours, rising; ``exact`` when they hold no other cells.
        count: how many cells.
    """

    runs: list[cells.Run]
    count: int
    exact: bool = True
    _holds: Callable[[int], bool] | None = None

    def holds(self, cell: int) -> bool:
        """Whether it was written."""
        if not any(first <= cell <= last for first, last in self.runs):
            return False
        return self._holds is None or self._holds(cell)

    @classmethod
    def all_of(cls, buffer: np.ndarray) -> Cover:
        """Every cell of a storage."""
        return cls([(0, buffer.size - 1)] if buffer.size else [], buffer.size)

    @classmethod
    def of_write(cls, x: Tensor, buffer: np.ndarray, where: Any) -> Cover:
        """What a write through ``x`` covered, as the engine says ``where``."""
        if isinstance(where, tuple):
            return cls.picked(_positions(x, buffer, where))
        array = x._array if where is None else where
        shape, strides, offset = cells.layout(array, buffer)
        runs, total = cells.runs_of(shape, strides, offset, cells.SMALL)
        if total <= cells.SMALL:
            return cls(cells.merged(runs), array.size)
        reach = cells.reach(shape, strides, offset)
        return cls([reach], array.size, False, lambda cell: cells.holds(shape, strides, offset, cell))

    @classmethod
    def picked(cls, numbers: np.ndarray) -> Cover:
        """Cells that are given one by one, rising."""
        if numbers.size <= MOST_PICKED:
            return cls(cells.merged((i, i) for i in numbers.tolist()), numbers.size)
        first, last = int(numbers[0]), int(numbers[-1])
        marks = np.zeros(last - first + 1, bool)
        marks[numbers - first] = True
        bits = np.packbits(marks)  # kept as long as the recording

        def holds(cell: int) -> bool:
            byte, bit = divmod(cell - first, 8)
            return bool(bits[byte] << bit & 128)

        return cls([(first, last)], numbers.size, False, holds)


def _positions(x: Tensor, buffer: np.ndarray, where: Any) -> np.ndarray:
    """The cells that an index array or a mask picks, rising; of a mask of a dense tensor, without sorting."""
    shape, strides, offset = cells.layout(x._array, buffer)
    if len(where) == 1 and x._array.flags.c_contiguous and hasattr(where[0], "dtype"):
        mask = host_array(where[0])
        if mask.dtype.kind == "b" and mask.shape == x._array.shape:
            return offset + np.flatnonzero(mask)
    found = np.asarray(offset)
    where = tuple(host_array(each) if hasattr(each, "dtype") else each for each in where)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        along = (np.arange(n) * stride).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        found = found + np.broadcast_to(along, shape)[where]
    return np.unique(found)
