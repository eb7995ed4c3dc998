"""Patches: bytes that were preserved just before a write took them, and saved tensors put together again of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.core.regions import overlaps_itself
from minitensor.core.storage import Storage, new_storage
from minitensor.device.arrays import like
from minitensor.saving.cells import Cells

if TYPE_CHECKING:
    from minitensor.core.history import Node

#: From so many patches of one saved tensor on, small ones are joined: a loop that writes element by element makes many.
MANY = 32


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
            memory[like(at[inside], memory)] = self.values.ravel()[like(inside, memory)]

    def give(self, array: np.ndarray, numbers: np.ndarray) -> None:
        """Write the values into ``array``, whose elements stand for the cells ``numbers``."""
        mine = self.cells.numbers()
        order = np.argsort(mine, kind="stable")
        place = order[np.minimum(np.searchsorted(mine, numbers, sorter=order), mine.size - 1)]
        hit = mine[place] == numbers
        array[like(hit, array)] = self.values.ravel()[like(place[hit], array)]


def joined(patches: Sequence[Patch]) -> Patch:
    """One patch in place of several that have the same holders and no cell in common."""
    numbers = np.concatenate([patch.cells.numbers() for patch in patches])
    order = np.argsort(numbers, kind="stable")
    cells = Cells.at(numbers[order], patches[0].cells.itemsize)
    values = np.concatenate([patch.values.ravel() for patch in patches])
    values = values[like(order, values)]
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


# ---------- what a write takes, and from whom ----------


class Group:
    """Saved tensors that are alike: they show the same cells, and the same of those are preserved.

    Attributes:
        members: pairs of a node and a position in its ``saved``.
        cells: the cells that each of them shows.
        patches: what is preserved already, and
        left: how many cells are not.
        taken: how many of these the write takes.
    """

    __slots__ = ("members", "cells", "patches", "left", "taken")

    def __init__(self, array: np.ndarray, patches: tuple[Patch, ...], left: int | None) -> None:
        self.members: list[tuple[Node, int]] = []
        self.cells = Cells.reached(array)
        if left is None:
            left = np.unique(self.cells.numbers()).size if overlaps_itself(array) else array.size
        self.patches, self.left, self.taken = patches, left, 0

    def needs_all(self, written: Cells) -> bool:
        """Whether all cells that are written are needed, as far as that is plain to see."""
        cells = self.cells
        return not self.patches and cells.is_stretch and cells.begin <= written.begin and written.end <= cells.end

    def needed(self, written: Cells) -> tuple[int, np.ndarray]:
        """The first cell of a stretch, and for each cell of it whether it is written and still needed."""
        begin, end = max(self.cells.begin, written.begin), min(self.cells.end, written.end)
        marks = self.cells.marked(begin, end)
        for patch in self.patches:
            patch.cells.mark(marks, begin, False)
        if not written.is_stretch:
            marks &= written.marked(begin, end)
        return begin, marks


def preserved(
    groups: list[Group], storage: Storage, array: np.ndarray | None, written: Cells, own: Any
) -> list[tuple[Patch, list[Group]]]:
    """Patches of what is written and needed, each cell once.

    Args:
        array: what the write goes through; None where an index picks of it.
        own: a saved copy of all of ``array`` that was made anyway.
    """
    if all(group.needs_all(written) for group in groups):
        for group in groups:
            group.taken = written.count
        pieces = [written] if array is not None else Cells.pieces(written.numbers(), written.itemsize)
        needing, parts = groups, [(cells, groups) for cells in pieces]
    else:
        needing, parts = _parts(groups, written)
    if not needing:
        return []
    if own is not None:
        return [(Patch(written, own[0], storage=own[1]), needing)]
    needed = sum(cells.count * written.itemsize + sum(note.nbytes for note in cells.notes) for cells, _ in parts)
    if array is not None and needed > array.nbytes:  # to tell scattered cells takes more than to keep the others, too
        return [(Patch(written, array.copy()), needing)]
    return [
        (Patch(cells, cells.copied(storage.buffer), sum(len(group.members) for group in part)), part)
        for cells, part in parts
    ]


def _parts(groups: list[Group], written: Cells) -> tuple[list[Group], list[tuple[Cells, list[Group]]]]:
    """Who needs any of the cells that are written; and these cells, divided by who needs them."""
    parts: list[tuple[int, np.ndarray, list[Group]]] = []
    for group in groups:
        begin, marks = group.needed(written)
        group.taken = int(np.count_nonzero(marks))
        if group.taken:
            parts = _divided(parts, begin, marks, group)
    pieces = [
        (cells, part)
        for begin, marks, part in parts
        for cells in Cells.pieces(np.flatnonzero(marks) + begin, written.itemsize)
    ]
    return [group for group in groups if group.taken], pieces


def _divided(
    parts: list[tuple[int, np.ndarray, list[Group]]], begin: int, marks: np.ndarray, group: Group
) -> list[tuple[int, np.ndarray, list[Group]]]:
    """Divide cells further, which are told apart by the groups that need them: ``group`` needs those in ``marks``."""
    divided = []
    for start, theirs, others in parts:
        low, high = max(start, begin), min(start + theirs.size, begin + marks.size)
        both = theirs[low - start : high - start] & marks[low - begin : high - begin] if low < high else None
        if both is None or not both.any():
            divided.append((start, theirs, others))
            continue
        divided.append((low, both, [*others, group]))
        theirs[low - start : high - start] &= ~both
        marks[low - begin : high - begin] &= ~both
        if theirs.any():
            divided.append((start, theirs, others))
    if marks.any():
        divided.append((begin, marks, [group]))
    return divided


def add(patch: Patch, groups: list[Group]) -> None:
    """One patch more for ``groups``. Of many, small ones that these groups alone hold are joined with it."""
    small: list[Patch] = []
    if patch.holders and any(len(group.patches) >= MANY for group in groups):
        shared = set.intersection(*({id(each) for each in group.patches} for group in groups))
        alike = [p for p in groups[0].patches if p.holders == patch.holders and id(p) in shared]
        total = patch.values.size
        for each in sorted(alike, key=lambda p: p.values.size):
            if each.values.size <= total:
                small.append(each)
                total += each.values.size
    if small:
        patch = joined([*small, patch])
    gone = {id(each) for each in small}
    for group in groups:
        # In front: what was joined is older than some, and no older patch has a cell of it.
        rest = tuple(each for each in group.patches if id(each) not in gone)
        group.patches = (patch, *rest) if small else (*rest, patch)
