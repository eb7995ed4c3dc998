"""What a node saved for backward, and what became of it.

A node saves tensors by reference: an array, its storage, and the version that the storage had. The storage knows who
saved from it, by weak references: a saver that dies first costs nothing. A write (:mod:`minitensor.saving.writing`)
that takes saved bytes leaves word of it in place of the version: they are :class:`Preserved`, or :class:`Lost`.
:func:`recovered` is what backward asks: the saved array as it was, or the error that says why there is none.
"""

from __future__ import annotations

import weakref
from threading import RLock
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.core.errors import stale
from minitensor.core.storage import Storage
from minitensor.saving.patches import Patch, as_it_was

if TYPE_CHECKING:
    from minitensor.core.history import Node, Saved

#: A node and the position of a saved tensor in its ``saved``.
Member = tuple["Node", int]

#: Stands in ``Node.saved`` once a backward without ``retain_graph`` has used it.
FREED: Any = "freed"


def remember(storage: Storage, node: Node, ref: Any = weakref.ref) -> None:
    """``node`` has saved from ``storage``: a later write must know."""
    savers = storage.savers
    if savers is None:
        storage.savers = [ref(node)]
        return
    savers.append(ref(node))
    if len(savers) & 63 == 63:
        tidy(savers)


def tidy(savers: list[Any]) -> None:
    """Drop the dead, so that the list of a storage that is read a million times stays small.

    Called at every 64th entry, it looks only at each doubling, and copies only what then shrinks: a constant cost for
    each entry, however long they live.
    """
    count = len(savers) + 1  # called with 63, 127, ... entries, so that the empty list of a constant never is
    if count & (count - 1) == 0:
        with _tidying:  # another thread may be reading the same storage: what it notes meanwhile comes behind these
            looked_at = len(savers)
            living = [link for link in savers[:looked_at] if link() is not None]
            if len(living) <= count * 3 // 4:
                savers[:looked_at] = living


_tidying = RLock()


# ---------- what became of a saved tensor ----------


class Preserved:
    """In place of a version: bytes of the saved tensor were preserved.

    Attributes:
        version: the version at which it was saved.
        patches: what holds them. The oldest comes first, and is right where two have a cell in common.
        left: how many of its cells are not preserved, because no write has taken them.
        noted: how all of it was, under ``check_foreign_writes``; there may be no patches then.
    """

    __slots__ = ("version", "patches", "left", "noted")

    def __init__(self, version: int, patches: tuple[Patch, ...], left: int, noted: Any = None) -> None:
        self.version, self.patches, self.left, self.noted = version, patches, left, noted


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
    if type(version) is not int:
        if type(version) is Lost:
            return False
        if version.left == 0:
            return True  # nothing of it depends on the storage any more
        version = version.version
    if storage.version == version:
        return True
    # Writes under "copy_on_write" harm nobody: what they took was preserved. All since then must have been such.
    kept_from, kept_to = getattr(storage, "kept", (0, -1))
    return kept_to == storage.version and kept_from <= version


def recovered(node: Node, what: str, saved: Saved) -> np.ndarray:
    """The saved array as it was when ``node`` saved it, although its storage has been written since.

    Raises:
        RuntimeError: when it is lost, or may be; or, under ``check_foreign_writes``, was written from outside.
    """
    if not is_right(saved):
        raise stale(node, what, saved)
    array, _, version = saved
    if type(version) is int:
        return array
    if version.patches:
        array = as_it_was(array, version.patches)
    if version.noted is not None:
        version.noted.check(node, what, saved, array)
    return array
