"""Values that a node saved for backward, and their state after writes.

A node saves tensors by reference: an array, its storage, and the storage's version. The storage refers to its *savers*,
the nodes that saved from it, by weak references, which keep no node alive. A write
(:mod:`minitensor.engine.saved.writing`) that overwrites saved bytes replaces the saved version by :class:`Preserved`,
if the bytes were copied first, or by :class:`Lost`. Backward calls :func:`recovered`, which returns the saved array
with its old values or raises an error that explains why it cannot.
"""

from __future__ import annotations

import weakref
from threading import RLock
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.core.errors import stale
from minitensor.engine.core.storage import Storage
from minitensor.engine.saved.patches import Patch, restored

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node, Saved

#: A saved tensor: the node that saved it, and its position in ``node.saved``.
Member = tuple["Node", int]

#: The value of ``Node.saved`` after backward has freed the saved tensors.
FREED: Any = "freed"


def remember(storage: Storage, node: Node, ref: Any = weakref.ref) -> None:
    """Register ``node`` as a saver of ``storage``, so that later writes check the tensors that it saved."""
    savers = storage.savers
    if savers is None:
        storage.savers = [ref(node)]
        return
    savers.append(ref(node))
    if len(savers) & 63 == 63:
        tidy(savers)


def tidy(savers: list[Any]) -> None:
    """Drop dead savers, so that the list stays small even if a million operations save from one storage.

    ``remember`` calls this function at every 64th entry. The list is scanned only if its length is one less than a
    power of two, so the cost per entry is constant. It is shortened only if about a quarter or more of it is dead.
    """
    count = len(savers) + 1
    if count & (count - 1) == 0:
        with _tidying:  # another thread may append entries meanwhile, after the scanned ones
            scanned = len(savers)
            living = [link for link in savers[:scanned] if link() is not None]
            if len(living) <= count * 3 // 4:
                savers[:scanned] = living


_tidying = RLock()


# ---------- the state of a saved tensor after writes ----------


class Preserved:
    """Replaces the version of a saved tensor after some of its bytes were preserved.

    Attributes:
        version: the version at which it was saved.
        patches: the preserved bytes. The oldest patch comes first, and takes precedence if two share a cell.
        left: the number of the tensor's cells that are in no patch, because they have not been overwritten.
        noted: under ``check_foreign_writes``, a ``SavedCopy`` of all values (``patches`` may be empty); otherwise None.
    """

    __slots__ = ("version", "patches", "left", "noted")

    def __init__(self, version: int, patches: tuple[Patch, ...], left: int, noted: Any = None) -> None:
        self.version, self.patches, self.left, self.noted = version, patches, left, noted


class Lost:
    """Replaces the version of a saved tensor after ``op`` overwrote bytes of it in the write to version ``made``."""

    __slots__ = ("version", "made", "op", "code", "instruction")

    def __init__(self, version: int, made: int, op: str, code: CodeType, instruction: int) -> None:
        self.version, self.made, self.op, self.code, self.instruction = version, made, op, code, instruction


def version_saved(saved: Saved) -> int:
    """Return the version at which a tensor was saved."""
    version = saved[2]
    return version if type(version) is int else version.version


def is_intact(saved: Saved) -> bool:
    """True if backward can still read the saved values."""
    _, storage, version = saved
    if type(version) is not int:
        if type(version) is Lost:
            return False
        if version.left == 0:
            return True  # all cells are preserved, so the storage is not needed
        version = version.version
    if storage.version == version:
        return True
    # Writes under "copy_on_write" preserve saved bytes. All writes from version `first` to `last` had this policy.
    first, last = getattr(storage, "preserving", (0, -1))
    return last == storage.version and first <= version


def recovered(node: Node, name: str, saved: Saved) -> np.ndarray:
    """Return the saved array with the values that it had when ``node`` saved it. Errors contain ``name``.

    Raises:
        RuntimeError: if the values are or may be lost; or, under ``check_foreign_writes``, if they were written from
            outside.
    """
    if not is_intact(saved):
        raise stale(node, name, saved)
    array, _, version = saved
    if type(version) is int:
        return array
    if version.patches:
        array = restored(array, version.patches)
    if version.noted is not None:
        version.noted.check(node, name, saved, array)
    return array
