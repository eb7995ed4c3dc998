"""Find the saved tensors that a write overwrote or made stale, and count the bytes that were preserved for them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory_stage.explanation.report_rows import SavedTensor, SourceLine
from memory_stage.messages import joined, message, plural, said
from minitensor.engine.autograd.context import GUARD
from minitensor.engine.core.history import Node, Saved
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of
from minitensor.engine.saved.cells import Cells
from minitensor.engine.saved.patches import Patch
from minitensor.engine.saved.saved import FREED, Lost, is_intact, version_saved
from minitensor.memory.backward_needs import row_of
from minitensor.memory.source_lines import Site

#: A saved tensor that became stale: its node, its names in the derivative rule, and its entry in a row.
Stale = tuple["weakref.ref[Node]", list[str], SavedTensor]


@dataclass
class OverwrittenSaves:
    """The saved tensors whose bytes one write overwrote.

    Attributes:
        patches: the number of preserved bytes, by the id of the storage that holds them.
        preserved_for: the saved tensors that can still be read.
        stale: the saved tensors that could be read before this write and cannot be read after it.
        cells: the cells of the stale tensors.
    """

    patches: dict[int, int] = field(default_factory=dict)
    preserved_for: list[SavedTensor] = field(default_factory=list)
    stale: list[Stale] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)

    def add(self, storage: Storage, savers: list[tuple[Node, int]], patch: Patch | None) -> None:
        """Add the tensors at ``savers`` (nodes and positions) that a write overwrote; ``patch`` may preserve them."""
        if patch is not None:
            self.patches[id(patch.storages[0])] = patch.nbytes
        kept, lost = [], []
        for node, k in savers:
            saved = node.saved[k]
            if node.op is GUARD:
                continue
            if type(saved[2]) is not Lost:
                kept.append((node, k))
            elif _was_readable(storage, version_saved(saved)):
                lost.append((node, k))
                self.cells.append(Cells.of(saved[0]))
        self.preserved_for += [saved for _, _, saved in _saved_tensors(kept, lost=False)]
        self.stale += [(weakref.ref(node), names, saved) for node, names, saved in _saved_tensors(lost, lost=True)]

    def preserved(self, besides: Iterable[int]) -> int:
        """Return the number of preserved bytes outside the operation's own storages; ``besides`` has their ids."""
        own = set(besides)
        return sum(nbytes for storage, nbytes in self.patches.items() if storage not in own)


def _saved_tensors(savers: Iterable[tuple[Node, int]], lost: bool) -> Iterator[tuple[Node, list[str], SavedTensor]]:
    """Yield an entry for each saved tensor. A tensor that a node saved twice, as in ``x * x``, has one entry."""
    groups: dict[tuple[Any, ...], tuple[Node, list[int]]] = {}
    for node, k in savers:
        array = node.saved[k][0]
        key = id(node), id(node.saved[k][1]), address_of(array), array.shape, array.strides
        groups.setdefault(key, (node, []))[1].append(k)
    for node, positions in groups.values():
        array = node.saved[positions[0]][0]
        line = SourceLine.of(Site(node.code, node.instruction, {}).place)
        saved_names = node.op.saved_names
        names = [saved_names[k] for k in positions if k < len(saved_names)]
        role = _role_of(node.op.name, names)
        yield node, names, SavedTensor(node.op.name, line, role, list(array.shape), array.nbytes, lost)


def _role_of(op: str, names: list[str]) -> str:
    """Return the role of a saved tensor: ``input``, ``output``, ``inputs x and y``; else ``saved tensor``."""
    row = row_of(op) or row_of(op + "_")
    if names == ["out"]:
        return said(message("output"))
    if row is None or not set(names) <= set(row.operands):
        return said(message("saved tensor"))
    if len(row.operands) == 1:
        return said(message("input"))
    return said(plural("input {names}", "inputs {names}", len(names), names=joined(names)))


def _was_readable(storage: Storage, version: int) -> bool:
    """Return True if a tensor saved at ``version`` could be read until the last write."""
    first, last = getattr(storage, "preserving", (0, -1))
    return version == storage.version - 1 or (last == storage.version - 1 and first <= version)


def _saved_tensors_on(storage: Storage) -> Iterator[tuple[Node, int, Saved]]:
    """Yield the tensors on ``storage`` that living nodes saved: node, index in ``node.saved``, entry there."""
    for link in storage.savers or ():
        node = link()
        if node is None or node.saved is FREED or node.op is GUARD:
            continue
        for k, saved in enumerate(node.saved):
            if type(saved) is tuple and len(saved) == 3 and saved[1] is storage:
                yield node, k, saved


def unnoticed(storage: Storage, written: Cells) -> list[SavedTensor]:
    """Return the saved tensors in ``written`` cells that backward() will read although the bytes have changed.

    The write did not change the version of their storage, and backward() has no copy to compare them with.
    """
    found = [
        (node, k)
        for node, k, saved in _saved_tensors_on(storage)
        if is_intact(saved) and getattr(saved[2], "noted", None) is None and Cells.of(saved[0]).overlaps(written)
    ]
    return [saved for _, _, saved in _saved_tensors(found, lost=True)]


def stale_by_version(storage: Storage) -> list[Stale]:
    """Return the saved tensors that the last write made stale by the version alone: none of their bytes changed."""
    found = [
        (node, k)
        for node, k, saved in _saved_tensors_on(storage)
        if type(saved[2]) is not Lost and not is_intact(saved) and _was_readable(storage, version_saved(saved))
    ]
    return [(weakref.ref(node), names, saved) for node, names, saved in _saved_tensors(found, lost=False)]


def written_cells(x: Tensor, where: Any) -> Cells:
    """Return the cells of ``x`` that a write covered; ``where`` is as in the event ``TensorWritten``."""
    array = x._array
    return Cells.picked(array, where) if isinstance(where, tuple) else Cells.of(array if where is None else where)


def preservable(x: Tensor, where: Any, cells: list[Cells]) -> int:
    """Return the number of bytes in the written part of ``x`` that also belong to one of ``cells``."""
    array, written = x._array, written_cells(x, where)
    needed = np.zeros(written.extent, np.bool_)
    for each in cells:
        needed |= each.marked(written.begin, written.end)
    return int(np.count_nonzero(needed & written.marked(written.begin, written.end))) * array.itemsize
