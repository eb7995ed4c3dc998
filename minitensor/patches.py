"""Patches: bytes that were preserved just before a write took them, and saved tensors put together again of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitensor.cells import Cells
from minitensor.storage import Storage, new_storage


class Patch:
    """What some cells held just before a write.

    Attributes:
        cells: where they are.
        values: what they held, in the order of ``cells``.
        holders: how many saved tensors it was made for, which all need all of it; 0 where it holds more than they need.
        storages: what counts its bytes: those of the values first, then those of the notes of ``cells``.
    """

    __slots__ = ("cells", "values", "holders", "storages")

    def __init__(self, cells: Cells, values: np.ndarray, holders: int = 0, storage: Storage | None = None) -> None:
        self.cells, self.values, self.holders = cells, values, holders
        self.storages = [new_storage(values) if storage is None else storage]
        self.storages += [new_storage(note) for note in cells.notes]

    @property
    def nbytes(self) -> int:
        """Bytes that this patch holds."""
        return sum(storage.nbytes for storage in self.storages)

    def shown(self, array: np.ndarray) -> np.ndarray | None:
        """``array`` as it was, as a view of this patch; None where the patch is not one stretch that covers it."""
        wanted = Cells.of(array)
        if not self.cells.is_stretch or wanted.begin < self.cells.begin or wanted.end > self.cells.end:
            return None
        begin = wanted.begin - self.cells.begin
        stretch = self.values.reshape(-1)[begin : begin + wanted.extent]
        return stretch.reshape(array.shape) if wanted.layout is None else wanted.layout.of(stretch)

    def put(self, memory: np.ndarray, begin: int) -> None:
        """Write the values into ``memory``, one entry for each cell of a stretch that begins at ``begin``."""
        cells = self.cells
        shift = cells.begin - begin
        if shift >= memory.size or shift + cells.extent <= 0:
            return
        if cells.is_stretch:
            first, last = max(shift, 0), min(shift + cells.extent, memory.size)
            memory[first:last] = self.values.reshape(-1)[first - shift : last - shift]
        elif cells.layout is not None and shift >= 0 and shift + cells.extent <= memory.size:
            cells.layout.of(memory[shift : shift + cells.extent])[...] = self.values
        else:
            at = cells.numbers() - begin
            inside = (at >= 0) & (at < memory.size)
            memory[at[inside]] = self.values.ravel()[inside]

    def give(self, array: np.ndarray, numbers: np.ndarray) -> None:
        """Write the values into ``array``, whose elements stand for the cells ``numbers``."""
        mine = self.cells.numbers()
        order = np.argsort(mine, kind="stable")
        place = order[np.minimum(np.searchsorted(mine, numbers, sorter=order), mine.size - 1)]
        hit = mine[place] == numbers
        array[hit] = self.values.ravel()[place[hit]]


def joined(patches: Sequence[Patch]) -> Patch:
    """One patch in place of several that have the same holders and no cell in common."""
    numbers = np.concatenate([patch.cells.numbers() for patch in patches])
    order = np.argsort(numbers, kind="stable")
    cells = Cells.at(numbers[order], patches[0].cells.itemsize)
    values = np.concatenate([patch.values.ravel() for patch in patches])[order]
    return Patch(cells, values if cells.layout is None else values.reshape(cells.layout.shape), patches[0].holders)


def as_it_was(array: np.ndarray, patches: Sequence[Patch]) -> np.ndarray:
    """``array`` before the writes that ``patches``, the oldest first, were made for; an array of its own."""
    cells = Cells.of(array)
    if cells.extent <= 2 * array.size:
        memory = np.empty_like(array, shape=(cells.extent,))
        shown = memory.reshape(array.shape) if cells.layout is None else cells.layout.of(memory)
        shown[...] = array
        for patch in reversed(patches):
            patch.put(memory, cells.begin)
        return shown
    # A column of a large matrix, say: what lies between its cells does not matter.
    shown = array.copy()
    numbers = cells.numbers().reshape(array.shape)
    for patch in reversed(patches):
        patch.give(shown, numbers)
    return shown
