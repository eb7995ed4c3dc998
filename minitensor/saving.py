"""Saving for backward, and what happens when a write takes what was saved.

A node saves tensors by reference: an array, its storage, and the version that the storage had. The storage knows who
saved from it, by weak references: a saver that dies first costs nothing. Just before a write, :func:`before_write`
finds the savers whose bytes it is about to take. Under the policy "copy_on_write" those bytes, and no others, are
preserved in a :class:`Patch`; under the others the savers learn that their tensor is :class:`Lost`, and which line took
it. :func:`recovered` is what backward asks: the saved array as it was, or the error that says why there is none.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.errors import stale
from minitensor.events import watch
from minitensor.modes import modes
from minitensor.regions import Layout, address, memory_of, span
from minitensor.storage import Storage, new_storage

if TYPE_CHECKING:
    from minitensor.history import Node

#: A saved array, the storage it lies in, and the version at which it was saved: an integer, or in its place
#: :class:`Preserved` or :class:`Lost` once a write took some of its bytes.
Saved = tuple[np.ndarray, Storage, Any]

#: Stands in ``Node.saved`` once a backward without ``retain_graph`` has used it.
FREED: Any = "freed"


def remember(storage: Storage, node: Node) -> None:
    """``node`` has saved from ``storage``: a later write must know."""
    savers = storage.savers
    if savers is None:
        storage.savers = [weakref.ref(node)]
        return
    savers.append(weakref.ref(node))
    count = len(savers)
    if count >= 64 and count & (count - 1) == 0:
        # At every doubling the dead are dropped, so that a storage read a million times stays small.
        savers[:] = [link for link in savers if link() is not None]


# ---------- cells: where bytes lie ----------


class Cells:
    """The cells of memory that an array reaches, or those at given positions.

    Attributes:
        lowest: the address (bytes) of the first.
        extent: how many cells lie from there to the last.
        layout: how an array lies in this stretch; None when all cells of the stretch are meant.
        positions: the cells that are meant, counted from ``lowest``, in place of a layout.
    """

    __slots__ = ("lowest", "extent", "layout", "positions")

    def __init__(self, lowest: int, extent: int, layout: Layout | None = None, positions: Any = None) -> None:
        self.lowest, self.extent, self.layout, self.positions = lowest, extent, layout, positions

    @classmethod
    def of(cls, array: np.ndarray) -> Cells:
        """The cells of ``array``."""
        lowest, extent = span(array)
        if array.flags.c_contiguous:
            return cls(lowest, extent)
        size = array.itemsize
        strides = tuple(stride // size for stride in array.strides)
        return cls(lowest, extent, Layout((address(array) - lowest) // size, array.shape, strides))

    @classmethod
    def picked(cls, array: np.ndarray, index: Any) -> Cells:
        """The cells of ``array[index]`` for an advanced index."""
        whole = cls.of(array)
        numbers = np.arange(whole.extent)
        seen = numbers.reshape(array.shape) if whole.layout is None else whole.layout.of(numbers)
        positions = np.unique(seen[index])
        if positions.size == 0:
            return cls(whole.lowest, 0)
        first = int(positions[0])
        return cls(
            whole.lowest + first * array.itemsize, int(positions[-1]) - first + 1, positions=positions - first
        )

    def mark(self, marks: np.ndarray, lowest: int, itemsize: int, value: bool) -> None:
        """Set the cells in ``marks``, one entry for each cell of a stretch that begins at ``lowest``."""
        shift = (self.lowest - lowest) // itemsize
        if self.layout is None and self.positions is None:
            marks[max(shift, 0) : max(shift + self.extent, 0)] = value
        elif self.layout is not None and shift >= 0 and shift + self.extent <= marks.size:
            self.layout.of(marks[shift : shift + self.extent])[...] = value
        else:
            at = self.numbers() + shift
            marks[at[(at >= 0) & (at < marks.size)]] = value

    def numbers(self) -> np.ndarray:
        """Every cell, counted from ``lowest``, in the order of the array's elements."""
        if self.positions is not None:
            return self.positions
        every = np.arange(self.extent)
        return every if self.layout is None else self.layout.of(every).ravel()


def _touch(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have a cell in common; True when that is too hard to tell."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=100_000))
    except np.exceptions.TooHardError:
        return True


# ---------- what became of a saved tensor ----------


class Patch:
    """Bytes preserved just before a write took them.

    Attributes:
        cells: where they were.
        values: the elements, one-dimensional where ``cells`` has no layout.
        storages: what counts them.
    """

    __slots__ = ("cells", "values", "storages")

    def __init__(self, cells: Cells, values: np.ndarray, storage: Storage | None = None) -> None:
        self.cells, self.values = cells, values
        self.storages = [new_storage(values) if storage is None else storage]
        if cells.positions is not None:
            self.storages.append(new_storage(cells.positions))

    @property
    def nbytes(self) -> int:
        """Bytes that this patch holds."""
        return sum(storage.nbytes for storage in self.storages)

    def put(self, buffer: np.ndarray, lowest: int) -> None:
        """Write the elements into ``buffer``, one entry for each cell of a stretch that begins at ``lowest``."""
        cells = self.cells
        shift = (cells.lowest - lowest) // buffer.itemsize
        if cells.layout is not None and shift >= 0 and shift + cells.extent <= buffer.size:
            cells.layout.of(buffer[shift : shift + cells.extent])[...] = self.values
            return
        if cells.layout is None and cells.positions is None:
            begin, end = max(shift, 0), min(shift + cells.extent, buffer.size)
            if begin < end:
                buffer[begin:end] = self.values[begin - shift : end - shift]
            return
        at = cells.numbers() + shift
        inside = (at >= 0) & (at < buffer.size)
        buffer[at[inside]] = self.values.ravel()[inside]

    def shown(self, array: np.ndarray) -> np.ndarray | None:
        """``array`` as it was, as a view of this patch; None where the patch is not one stretch that covers it."""
        if self.cells.layout is not None or self.cells.positions is not None:
            return None
        wanted = Cells.of(array)
        shift = (wanted.lowest - self.cells.lowest) // array.itemsize
        if shift < 0 or shift + wanted.extent > self.cells.extent:
            return None
        stretch = self.values[shift : shift + wanted.extent]
        return stretch.reshape(array.shape) if wanted.layout is None else wanted.layout.of(stretch)


class Preserved:
    """In place of a version: bytes of the saved tensor were preserved. The oldest patch comes first."""

    __slots__ = ("version", "patches")

    def __init__(self, version: int, patches: tuple[Patch, ...]) -> None:
        self.version, self.patches = version, patches


class Lost:
    """In place of a version: bytes of the saved tensor were overwritten, by ``op``, which made version ``made``."""

    __slots__ = ("version", "made", "op", "code", "instruction")

    def __init__(self, version: int, made: int, op: str, code: CodeType, instruction: int) -> None:
        self.version, self.made, self.op, self.code, self.instruction = version, made, op, code, instruction


def version_saved(saved: Saved) -> int:
    """The version at which a tensor was saved."""
    version = saved[2]
    return version if type(version) is int else version.version


def is_right(saved: Saved) -> bool:
    """Whether backward can still have the saved tensor as it was."""
    _, storage, version = saved
    if type(version) is Lost:
        return False
    version = version_saved(saved)
    if storage.version == version:
        return True
    # Writes under "copy_on_write" harm nobody: what they took was preserved. All since then must have been such.
    kept_from, kept_to = getattr(storage, "kept", (0, -1))
    return kept_to == storage.version and kept_from <= version


def recovered(node: Node, what: str, saved: Saved) -> np.ndarray:
    """The saved array as it was when ``node`` saved it, although its storage has been written since.

    Raises:
        RuntimeError: when it is lost, or may be.
    """
    if not is_right(saved):
        raise stale(node, what, saved)
    array, _, version = saved
    if type(version) is int:
        return array  # no write has touched these bytes
    lowest, extent = span(array)
    memory = np.empty_like(version.patches[0].values, shape=(extent,))
    cells = Cells.of(array)
    shown = memory.reshape(array.shape) if cells.layout is None else cells.layout.of(memory)
    shown[...] = array
    for patch in reversed(version.patches):
        patch.put(memory, lowest)
    return shown


# ---------- around a write ----------


class Plan:
    """What a write is about to take, and from whom.

    Attributes:
        savers: pairs of a node and the position in its ``saved``.
        patch: what will stand in for the bytes; None when nobody needs any, or the policy preserves none.
        keeps: whether the policy is "copy_on_write".
    """

    __slots__ = ("savers", "patch", "keeps")

    def __init__(self, savers: list[tuple[Node, int]], patch: Patch | None, keeps: bool) -> None:
        self.savers, self.patch, self.keeps = savers, patch, keeps


def before_write(storage: Storage, array: np.ndarray, own: Saved | None = None, index: Any = None) -> Plan | None:
    """Find who still needs the bytes that a write through ``array`` (at ``index``, when advanced) is about to take.

    Nothing changes yet: the write may still fail. ``own`` is a copy of all of ``array`` that was made anyway.
    """
    savers = _at_risk(storage, array)
    keeps = modes.policy == "copy_on_write"
    if not keeps:
        if index is not None and savers:
            written = Cells.picked(array, index)
            savers = [(node, k) for node, k in savers if _needed(node.saved[k], written, array.itemsize).any()]
        return Plan(savers, None, False) if savers else None
    # Nothing is preserved for a saver that an earlier write under another policy has made stale.
    right = [(node, k) for node, k in savers if is_right(node.saved[k])]
    return Plan(savers, _preserved(right, storage, array, own, index) if right else None, True)


def after_write(plan: Plan, storage: Storage, op: str, code: CodeType, instruction: int) -> None:
    """The write has happened and made a version: tell the savers."""
    version = storage.version
    if plan.keeps:
        kept_from, kept_to = getattr(storage, "kept", (0, -1))
        storage.kept = (kept_from if kept_to == version - 1 else version - 1), version
    for node, k in plan.savers:
        saved = node.saved[k]
        entries = list(node.saved)
        keeps = plan.keeps and is_right(saved)
        entries[k] = _preserved_in(saved, plan.patch) if keeps else _lost(saved, version, op, code, instruction)
        node.saved = tuple(entries)
    if plan.savers and watch.listener is not None:
        watch.listener("taken", storage, plan.savers, plan.patch)


def _lost(saved: Saved, made: int, op: str, code: CodeType, instruction: int) -> Saved:
    return saved[0], saved[1], Lost(version_saved(saved), made, op, code, instruction)


def _preserved_in(saved: Saved, patch: Patch | None) -> Saved:
    """A saved tensor whose bytes ``patch`` preserves (or, where it is None, an earlier one does)."""
    array, storage, version = saved
    if patch is None:
        return saved
    if type(version) is int:
        shown = patch.shown(array)
        if shown is not None:
            return shown, patch.storages[0], 0  # nothing of it depends on the old storage any more
        return array, storage, Preserved(version, (patch,))
    return array, storage, Preserved(version.version, (*version.patches, patch))


def _at_risk(storage: Storage, array: np.ndarray) -> list[tuple[Node, int]]:
    """Who has saved bytes of ``array`` that are not lost yet. The dead are dropped from the list on the way."""
    found = []
    living = {}
    for link in storage.savers:
        node = link()
        if node is None or node.saved is FREED or link in living:
            continue
        stays = False
        for k, entry in enumerate(node.saved):
            if type(entry) is tuple and len(entry) == 3 and entry[1] is storage:
                stays = True
                if type(entry[2]) is not Lost and _touch(entry[0], array):
                    found.append((node, k))
        if stays:
            living[link] = None
    storage.savers = list(living) or None
    return found


def _needed(saved: Saved, written: Cells, itemsize: int) -> np.ndarray:
    """For each cell of the stretch of ``written``: whether it is written, and ``saved`` still needs it there."""
    marks = np.zeros(written.extent, np.bool_)
    Cells.of(saved[0]).mark(marks, written.lowest, itemsize, True)
    if type(saved[2]) is Preserved:
        for patch in saved[2].patches:
            patch.cells.mark(marks, written.lowest, itemsize, False)
    if written.layout is not None or written.positions is not None:
        targets = np.zeros(written.extent, np.bool_)
        written.mark(targets, written.lowest, itemsize, True)
        marks &= targets
    return marks


def _preserved(
    savers: list[tuple[Node, int]], storage: Storage, array: np.ndarray, own: Saved | None, index: Any
) -> Patch | None:
    """A patch of the cells of ``array`` (at ``index``) that some saver needs, each once."""
    written = Cells.of(array) if index is None else Cells.picked(array, index)
    if index is None and own is not None:
        if written.layout is None:
            return Patch(written, own[0].reshape(-1), own[1])
        return Patch(written, own[0], own[1])
    size = array.itemsize
    # Only the stretch that the write and the savers have in common matters.
    stretches = [Cells.of(node.saved[k][0]) for node, k in savers]
    lowest = max(written.lowest, min(cells.lowest for cells in stretches))
    end = min(
        written.lowest + written.extent * size, max(cells.lowest + cells.extent * size for cells in stretches)
    )
    common = np.zeros(max(end - lowest, 0) // size, np.bool_)
    stretch = Cells(lowest, common.size)
    for node, k in savers:
        common |= _needed(node.saved[k], stretch, size)
    if written.layout is not None or written.positions is not None:
        targets = np.zeros(common.size, np.bool_)
        written.mark(targets, lowest, size, True)
        common &= targets
    at = np.flatnonzero(common)
    if at.size == 0:
        return None
    first, last = int(at[0]), int(at[-1])
    here = lowest + first * size
    memory = memory_of(storage.buffer)
    begin = (here - span(storage.buffer)[0]) // size
    stretch = Cells(here, last - first + 1)
    if at.size == stretch.extent:
        return Patch(stretch, memory[begin : begin + stretch.extent].copy())
    if index is None and at.size == array.size:
        return Patch(written, array.copy())
    for node, k in savers:
        saved = node.saved[k][0]
        if type(node.saved[k][2]) is int and at.size == saved.size and _needed(node.saved[k], stretch, size).sum() == at.size:
            return Patch(Cells.of(saved), saved.copy())
    positions = (at - first).astype(np.int32 if stretch.extent < 2**31 else np.int64)
    return Patch(Cells(here, stretch.extent, positions=positions), memory[begin : begin + stretch.extent][positions])
