"""The cells of a storage that a write covered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memory_stage.engines.protocol import CellLayout
from memory_stage.trace import cells

# If a write selected more cells than this, ``runs`` has only one run, from the first to the last of them.
MOST_PICKED = 10_000


@dataclass
class Cover:
    """The cells that a write covered.

    Attributes:
        runs: pairs of the first and the last cell of a run of neighbouring cells, in ascending order.
        count: the number of covered cells.
        exact: True if every cell in ``runs`` was written.
    """

    runs: list[cells.Run]
    count: int
    exact: bool = True
    _holds: Callable[[int], bool] | None = None

    def holds(self, cell: int) -> bool:
        """True if the write covered ``cell``."""
        if not any(first <= cell <= last for first, last in self.runs):
            return False
        return self._holds is None or self._holds(cell)

    @classmethod
    def all_of(cls, length: int) -> Cover:
        """Return the cover of a whole storage of ``length`` cells."""
        return cls([(0, length - 1)] if length else [], length)

    @classmethod
    def of_write(cls, written: CellLayout | np.ndarray) -> Cover:
        """Return the cover of a write. ``written`` is a layout, or the indices of the cells in ascending order."""
        if isinstance(written, np.ndarray):
            return cls.picked(written)
        shape, strides, offset = written
        size = math.prod(shape)
        runs, total = cells.runs_of(shape, strides, offset, cells.SMALL)
        if total <= cells.SMALL:
            return cls(cells.merged(runs), size)
        reach = cells.reach(shape, strides, offset)
        return cls([reach], size, False, lambda cell: cells.holds(shape, strides, offset, cell))

    @classmethod
    def picked(cls, numbers: np.ndarray) -> Cover:
        """Return the cover of the cells with the indices ``numbers``, which are in ascending order."""
        if numbers.size <= MOST_PICKED:
            return cls(cells.merged((i, i) for i in numbers.tolist()), numbers.size)
        first, last = int(numbers[0]), int(numbers[-1])
        marks = np.zeros(last - first + 1, bool)
        marks[numbers - first] = True
        bits = np.packbits(marks)  # packed to save memory, because the recording keeps it until its end

        def holds(cell: int) -> bool:
            byte, bit = divmod(cell - first, 8)
            return bool(bits[byte] << bit & 128)

        return cls([(first, last)], numbers.size, False, holds)
