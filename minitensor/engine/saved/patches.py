"""Patches: bytes that were copied just before a write, and the saved tensors that are restored from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.core.regions import overlaps_itself
from minitensor.engine.core.storage import Storage, new_storage
from minitensor.engine.device.arrays import like
from minitensor.engine.saved.cells import Cells

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node

#: If a saved tensor has this many patches, small ones are joined. A loop that writes single elements makes many.
MANY = 32


class Patch:
    """The values of some cells just before a write.

    Attributes:
        cells: the preserved cells.
        values: the values of the cells, in their order.
        holders: the number of saved tensors that need the patch, if each of them needs all of its cells; 0 if some may
            need only a part.
        storages: the storages that count the patch's bytes: one for ``values``, one for each index array of ``cells``.
    """

    __slots__ = ("cells", "values", "holders", "storages")

    def __init__(self, cells: Cells, values: np.ndarray, holders: int = 0, storage: Storage | None = None) -> None:
        self.cells, self.values, self.holders = cells, values, holders
        self.storages = [new_storage(values) if storage is None else storage]
        self.storages += [new_storage(each) for each in cells.index_arrays]

    @property
    def nbytes(self) -> int:
        """The size of this patch in bytes."""
        return sum(storage.nbytes for storage in self.storages)

    def view_for(self, array: np.ndarray) -> np.ndarray | None:
        """Return the old values of ``array`` as a view; None if the patch is no stretch, or lacks some values."""
        cells = Cells.of(array)
        if not self.cells.is_stretch or cells.begin < self.cells.begin or cells.end > self.cells.end:
            return None
        begin = cells.begin - self.cells.begin
        stretch = self.values.reshape(-1)[begin : begin + cells.extent]
        return stretch.reshape(array.shape) if cells.layout is None else cells.layout.of(stretch)

    def put(self, memory: np.ndarray, begin: int) -> None:
        """Write the values into ``memory``, whose first element is the cell ``begin``. Skip cells outside."""
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

    def scatter_into(self, array: np.ndarray, numbers: np.ndarray) -> None:
        """Write the values into those elements of ``array`` whose cells, listed in ``numbers``, are in the patch."""
        mine = self.cells.numbers()
        order = np.argsort(mine, kind="stable")
        place = order[np.minimum(np.searchsorted(mine, numbers, sorter=order), mine.size - 1)]
        hit = mine[place] == numbers
        array[like(hit, array)] = self.values.ravel()[like(place[hit], array)]


def joined(patches: Sequence[Patch]) -> Patch:
    """Join patches into one. They must have no cell in common, and be needed by the same saved tensors."""
    numbers = np.concatenate([patch.cells.numbers() for patch in patches])
    order = np.argsort(numbers, kind="stable")
    cells = Cells.at(numbers[order], patches[0].cells.itemsize)
    values = np.concatenate([patch.values.ravel() for patch in patches])
    values = values[like(order, values)]
    return Patch(cells, values if cells.layout is None else values.reshape(cells.layout.shape), patches[0].holders)


def restored(array: np.ndarray, patches: Sequence[Patch]) -> np.ndarray:
    """Return a copy of ``array`` with its values before the writes that made ``patches``.

    Where patches overlap, the first one takes precedence, because it has the oldest values.
    """
    cells = Cells.of(array)
    if cells.extent <= 2 * array.size:
        memory = np.empty_like(array, shape=(cells.extent,))
        result = memory.reshape(array.shape) if cells.layout is None else cells.layout.of(memory)
        result[...] = array
        for patch in reversed(patches):
            patch.put(memory, cells.begin)
        return result
    # The array has gaps, like a column of a large matrix. The cells in between are not needed.
    result = array.copy()
    numbers = cells.numbers().reshape(array.shape)
    for patch in reversed(patches):
        patch.scatter_into(result, numbers)
    return result


# ---------- patches of a write, for the saved tensors that need them ----------


class SaveGroup:
    """Saved tensors that show the same cells and have the same patches.

    Attributes:
        members: the saved tensors, each as a node and a position in ``node.saved``.
        array: the array of the first member; the arrays of the others show the same cells.
        cells: the cells of ``array``.
        patches: the patches of earlier writes.
        left: the number of cells that no patch preserves yet.
        taken: the number of cells that the current write overwrites and its patches preserve.
    """

    __slots__ = ("members", "array", "cells", "patches", "left", "taken")

    def __init__(self, array: np.ndarray, patches: tuple[Patch, ...], left: int | None) -> None:
        self.members: list[tuple[Node, int]] = []
        self.array = array
        self.cells = Cells.unordered(array)
        if left is None:
            left = np.unique(self.cells.numbers()).size if overlaps_itself(array) else array.size
        self.patches, self.left, self.taken = patches, left, 0

    def needs_all(self, written: Cells) -> bool:
        """True if a quick test shows that the group needs all ``written`` cells."""
        cells = self.cells
        return not self.patches and cells.is_stretch and cells.begin <= written.begin and written.end <= cells.end

    def needed(self, written: Cells) -> tuple[int, np.ndarray]:
        """Return the written cells that no patch preserves yet: the first cell, and a bool for each cell from it on."""
        begin, end = max(self.cells.begin, written.begin), min(self.cells.end, written.end)
        marks = self.cells.marked(begin, end)
        for patch in self.patches:
            patch.cells.mark(marks, begin, False)
        if not written.is_stretch:
            marks &= written.marked(begin, end)
        return begin, marks


def preserved(
    groups: list[SaveGroup], storage: Storage, array: np.ndarray, whole: bool, written: Cells, own: Any
) -> list[tuple[Patch, list[SaveGroup]]]:
    """Return patches of the overwritten cells that saved tensors need, each patch with the groups that need it.

    If a copy of all written cells exists already (``own``), or takes less memory than patches with index arrays, it is
    the only patch. The function sets ``taken`` of each group.

    Args:
        array: the array that the write goes through.
        whole: True if the write overwrites all of ``array``; False if it overwrites only the elements that an advanced
            index selects.
        own: a saved copy of ``array`` that the operation needs itself.
    """
    alike = [group for group in groups if group.array.dtype == array.dtype == storage.buffer.dtype]
    if len(alike) < len(groups):
        # Arrays of different dtypes may have cells of different sizes, so these groups get patches of all their cells.
        return [_whole(group) for group in groups if group not in alike and group.left] + preserved(
            alike, storage, array, whole, written, own
        )
    if all(group.needs_all(written) for group in groups):
        for group in groups:
            group.taken = written.count
        pieces = [written] if whole else Cells.pieces(written.numbers(), written.itemsize)
        needing, parts = groups, [(cells, groups) for cells in pieces]
    else:
        needing, parts = _parts(groups, written)
    if not needing:
        return []
    if own is not None:
        return [(Patch(written, own[0], storage=own[1]), needing)]
    needed = sum(cells.count * written.itemsize + sum(each.nbytes for each in cells.index_arrays) for cells, _ in parts)
    if whole and needed > array.nbytes:
        return [(Patch(written, array.copy()), needing)]
    return [
        (Patch(cells, cells.copied(storage.buffer), sum(len(group.members) for group in part)), part)
        for cells, part in parts
    ]


def _whole(group: SaveGroup) -> tuple[Patch, list[SaveGroup]]:
    """Return a patch of all cells of ``group``. Cells that an older patch also has are restored from the older one."""
    group.taken = group.left
    return Patch(Cells.of(group.array), group.array.copy()), [group]


def _parts(groups: list[SaveGroup], written: Cells) -> tuple[list[SaveGroup], list[tuple[Cells, list[SaveGroup]]]]:
    """Return the groups that need written cells, and the needed cells in parts, each part with the groups for it."""
    parts: list[tuple[int, np.ndarray, list[SaveGroup]]] = []
    for group in groups:
        begin, marks = group.needed(written)
        group.taken = int(np.count_nonzero(marks))
        if group.taken:
            parts = _divide(parts, begin, marks, group)
    pieces = [
        (cells, part)
        for begin, marks, part in parts
        for cells in Cells.pieces(np.flatnonzero(marks) + begin, written.itemsize)
    ]
    return [group for group in groups if group.taken], pieces


def _divide(
    parts: list[tuple[int, np.ndarray, list[SaveGroup]]], begin: int, marks: np.ndarray, group: SaveGroup
) -> list[tuple[int, np.ndarray, list[SaveGroup]]]:
    """Return ``parts`` divided further, for another ``group`` that needs the cells marked in ``marks``.

    A part has a first cell, marks for the cells from there on, and the groups that need all the marked cells. The
    function overwrites the marks that it is given.
    """
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


def add(patch: Patch, groups: list[SaveGroup]) -> None:
    """Add ``patch`` to ``groups``. If a group has many patches, join ``patch`` with small ones that all groups have."""
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
    replaced = {id(each) for each in small}
    for group in groups:
        # The first patch takes precedence. The joined patch may be the first although its parts are not the oldest,
        # because no older patch has one of its cells.
        rest = tuple(each for each in group.patches if id(each) not in replaced)
        group.patches = (patch, *rest) if small else (*rest, patch)
