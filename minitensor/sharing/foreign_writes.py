"""Writes that the engine does not see, found when they matter.

Memory that is shared (:mod:`minitensor.sharing.borrowing`) can be written by numpy or another library, and no version
tells. A backward that needs the old values would then be wrong, and nobody would know. With
:class:`check_foreign_writes`, what an operation saves of shared memory is also copied, and backward compares before it
uses it: it raises, and names
the operation that saved and the elements that changed.

A copy, not a checksum: copying costs no more time than reading, misses nothing, and can say what was there. The price
is memory, for shared storages only; it is not counted, so that the meter shows what it would show without the check.
Where the check is off nothing is copied and no operation does anything more.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.core.history import Saved
from minitensor.core.regions import address, overlaps_itself
from minitensor.core.storage import Storage
from minitensor.device.arrays import byte_bounds, gpu_of
from minitensor.saving.cells import Cells
from minitensor.saving.saved import Preserved
from minitensor.sharing import borrowing

if TYPE_CHECKING:
    from minitensor.core.history import Node


class Checking:
    """``on``: whether what is saved of shared memory is copied."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


checking = Checking()


# ---------- what was saved, and what is there now ----------


class Note:
    """How a saved tensor was when it was saved."""

    __slots__ = ("array", "__weakref__")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array.copy()

    def changed(self, now: np.ndarray) -> np.ndarray:
        """For each element, whether its bytes are others ``now``."""
        bits = np.dtype(f"u{now.itemsize}")
        return now.view(bits) != self.array.view(bits)

    def check(self, node: Node, what: str, saved: Saved, now: np.ndarray) -> None:
        """Compare before backward uses ``now``.

        Raises:
            RuntimeError: if an element is another.
        """
        changed = self.changed(now)
        if changed.any():
            raise written_outside(node, what, saved, self.array, now, changed)


def written_outside(
    node: Node, what: str, saved: Saved, then: np.ndarray, now: np.ndarray, changed: np.ndarray
) -> RuntimeError:
    """Backward needs a value that was written behind the engine's back."""
    array, storage, version = saved
    which = {"out": "output", "x": "first input", "y": "second input"}.get(what, what)
    if what == "x" and len(node.inputs) == 1:
        which = "input"
    count = int(np.count_nonzero(changed))
    first = tuple(int(i) for i in np.argwhere(changed)[0])
    name = f"element {list(first)}" if first else "its element"
    at = address(array) + sum(i * stride for i, stride in zip(first, array.strides, strict=True))
    byte = at - byte_bounds(storage.buffer)[0]
    others = f"; {count - 1} more of its {array.size} elements changed" if count > 1 else ""
    return RuntimeError(
        f"A tensor of shape {list(array.shape)} that backward needs has been written behind the engine's back, by "
        f"somebody who shares its memory: no version tells.\n"
        f"  saved:   {node.op.name} saved its {which} at version {version.version} ({node.place})\n"
        f"  changed: {name} (bytes {byte} to {byte + array.itemsize - 1} of the storage) was {then[first].item()} and "
        f"is {now[first].item()}{others}\n"
        f"Ways out: let numpy or the other library write before the operation, or after backward; write through a "
        f"tensor, as in `x[...] = value`, so that the version tells; or compute with a copy (`to_tensor`, `clone()`)."
    )


# ---------- noting what is saved ----------


class NotingSavers(list[Any]):
    """In place of the list of a storage's savers: whoever is put into it has what it saved copied."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage.savers or ())
        self.storage = weakref.ref(storage)
        #: The copies, by what they show: many operations save the same tensor.
        self.notes: weakref.WeakValueDictionary[Any, Note] = weakref.WeakValueDictionary()
        for link in self:
            self._note(link())

    def append(self, link: Any) -> None:
        """One more has saved: what it saved is noted."""
        super().append(link)
        self._note(link())

    def _note(self, node: Node | None) -> None:
        storage = self.storage()
        # The guard of a layer's call saves in order to learn of writes; no backward reads it.
        if node is None or type(node.saved) is not tuple or node.op.name == "guard":
            return
        if storage is None or not borrowing.is_shared(storage):
            return
        entries = list(node.saved)
        for k, entry in enumerate(entries):
            if type(entry) is not tuple or len(entry) != 3 or entry[1] is not storage or not entry[0].size:
                continue
            array, _, version = entry
            if type(version) is int:
                cells = np.unique(Cells.reached(array).numbers()).size if overlaps_itself(array) else array.size
                entries[k] = array, storage, Preserved(version, (), cells, self._note_of(array))
        node.saved = tuple(entries)

    def _note_of(self, array: np.ndarray) -> Note:
        key = address(array), array.shape, array.strides
        note = self.notes.get(key)
        if note is None or note.changed(array).any():
            self.notes[key] = note = Note(array)
        return note


# ---------- switching it on and off ----------

_noting: weakref.WeakSet[Storage] = weakref.WeakSet()


def _note_from_now(storage: Storage) -> None:
    """``storage`` is shared: begin to note what is saved of it, if that is asked for."""
    if checking.on and gpu_of(storage.buffer) is None:
        # Also where it has been noted before: what was saved while nobody shared it was not.
        storage.savers = NotingSavers(storage)
        _noting.add(storage)


def _switch(on: bool) -> None:
    checking.on = on
    if on:
        for storage in borrowing.shared_storages():
            _note_from_now(storage)
        return
    for storage in list(_noting):
        if type(storage.savers) is NotingSavers:
            storage.savers = list(storage.savers) or None
    _noting.clear()


borrowing.when_shared.append(_note_from_now)


class check_foreign_writes:
    """Have backward raise where it would use a value that was overwritten from outside since it was saved.

    Works at once when called, and as a context manager puts the former state back at the end. It covers what is saved,
    of memory that is shared, while it is on; and what had been saved of it, as it was when the check began or the
    memory was first shared. What was noted stays noted: its backward may come later.

    The error is a RuntimeError. It names the operation and the line that saved, the first element that changed, its
    bytes in the storage, and the values before and after. What backward does not need may be written freely, and so may
    everything once it has run.

    Args:
        on: False to stop noting.

    Raises:
        TypeError: for anything but True and False.
    """

    __slots__ = ("_before", "_on")

    def __init__(self, on: bool = True) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"check_foreign_writes: on is True or False, not {on!r}")
        self._on, self._before = on, checking.on
        _switch(on)

    def __enter__(self) -> None:
        _switch(self._on)

    def __exit__(self, *_: object) -> None:
        _switch(self._before)
