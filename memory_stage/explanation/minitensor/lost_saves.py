"""What a write took of what other operations had saved, and what it made stale."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory_stage.explanation.rows import SavedTensor, Spot
from minitensor.engine.autograd.context import GUARD
from minitensor.engine.core.history import Node, Saved
from minitensor.engine.core.regions import address
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.saved.cells import Cells
from minitensor.engine.saved.patches import Patch
from minitensor.engine.saved.saved import FREED, Lost, is_right, version_saved
from minitensor.memory.backward_needs import row_of
from minitensor.memory.source_lines import Site

#: A saved tensor that became stale: its node, the names it is saved by, and how a row tells it.
Stale = tuple["weakref.ref[Node]", list[str], SavedTensor]


@dataclass
class Taken:
    """What a write took of what others had saved.

    Attributes:
        patches: the bytes that were preserved, by the identity of the storage that holds them.
        preserved_for: the savers.
        stale: those that lost bytes and were right before.
        cells: where the bytes of those lie.
    """

    patches: dict[int, int] = field(default_factory=dict)
    preserved_for: list[SavedTensor] = field(default_factory=list)
    stale: list[Stale] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)

    def add(self, storage: Storage, savers: list[tuple[Node, int]], patch: Patch | None) -> None:
        """The write took bytes that ``savers`` had saved; ``patch`` preserves them, unless it is None."""
        if patch is not None:
            self.patches[id(patch.storages[0])] = patch.nbytes
        kept, lost = [], []
        for node, k in savers:
            saved = node.saved[k]
            if node.op is GUARD:
                continue
            if type(saved[2]) is not Lost:
                kept.append((node, k))
            elif _was_right(storage, version_saved(saved)):
                lost.append((node, k))
                self.cells.append(Cells.of(saved[0]))
        self.preserved_for += [told for _, _, told in _saved_tensors(kept, lost=False)]
        self.stale += [(weakref.ref(node), names, told) for node, names, told in _saved_tensors(lost, lost=True)]

    def preserved(self, besides: Iterable[int]) -> int:
        """Bytes that were preserved, where no storage in ``besides``, which an operation keeps itself, has them."""
        own = set(besides)
        return sum(nbytes for storage, nbytes in self.patches.items() if storage not in own)


def _saved_tensors(savers: Iterable[tuple[Node, int]], lost: bool) -> Iterator[tuple[Node, list[str], SavedTensor]]:
    """How to tell what each node saved; what it saved twice (as in ``x * x``) once."""
    groups: dict[tuple[Any, ...], tuple[Node, list[int]]] = {}
    for node, k in savers:
        array = node.saved[k][0]
        key = id(node), id(node.saved[k][1]), address(array), array.shape, array.strides
        groups.setdefault(key, (node, []))[1].append(k)
    for node, positions in groups.values():
        array = node.saved[positions[0]][0]
        spot = Spot.of(Site(node.code, node.instruction, {}).place)
        saved_names = node.op.saved_names
        names = [saved_names[k] for k in positions if k < len(saved_names)]
        what = _what(node.op.name, names)
        yield node, names, SavedTensor(node.op.name, spot, what, list(array.shape), array.nbytes, lost)


def _what(op: str, names: list[str]) -> str:
    """``input``, ``output``, ``inputs x and y``."""
    row = row_of(op) or row_of(op + "_")
    if names == ["out"]:
        return "output"
    if row is None or not set(names) <= set(row.operands):
        return "saved tensor"
    if len(row.operands) == 1:
        return "input"
    return f"input{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def _was_right(storage: Storage, version: int) -> bool:
    """Whether what was saved at ``version`` was right just before the last write."""
    first, last = getattr(storage, "preserving", (0, -1))
    return version == storage.version - 1 or (last == storage.version - 1 and first <= version)


def _saved_of(storage: Storage) -> Iterator[tuple[Node, int, Saved]]:
    """What living nodes have saved of ``storage``: the node, the position in its ``saved``, and the entry there."""
    for link in storage.savers or ():
        node = link()
        if node is None or node.saved is FREED or node.op is GUARD:
            continue
        for k, saved in enumerate(node.saved):
            if type(saved) is tuple and len(saved) == 3 and saved[1] is storage:
                yield node, k, saved


def unnoticed(storage: Storage, written: Cells) -> list[SavedTensor]:
    """What was saved of cells that were written while the version of their storage stayed: it is held to be right."""
    found = [
        (node, k)
        for node, k, saved in _saved_of(storage)
        if is_right(saved) and getattr(saved[2], "noted", None) is None and _meet(Cells.of(saved[0]), written)
    ]
    return [told for _, _, told in _saved_tensors(found, lost=True)]


def _meet(a: Cells, b: Cells) -> bool:
    begin, end = max(a.begin, b.begin), min(a.end, b.end)
    return begin < end and bool((a.marked(begin, end) & b.marked(begin, end)).any())


def moved(storage: Storage) -> list[Stale]:
    """What became stale by the last write although none of its bytes were taken: only the version has moved."""
    found = [
        (node, k)
        for node, k, saved in _saved_of(storage)
        if type(saved[2]) is not Lost and not is_right(saved) and _was_right(storage, version_saved(saved))
    ]
    return [(weakref.ref(node), names, told) for node, names, told in _saved_tensors(found, lost=False)]


def written_cells(x: Tensor, where: Any) -> Cells:
    """The part of ``x`` that a write covered."""
    array = x._array
    return Cells.picked(array, where) if isinstance(where, tuple) else Cells.of(array if where is None else where)


def preservable(x: Tensor, where: Any, cells: list[Cells]) -> int:
    """Bytes that lie in the written part of ``x`` and in one of ``cells``."""
    array, written = x._array, written_cells(x, where)
    needed = np.zeros(written.extent, np.bool_)
    for each in cells:
        needed |= each.marked(written.begin, written.end)
    return int(np.count_nonzero(needed & written.marked(written.begin, written.end))) * array.itemsize
