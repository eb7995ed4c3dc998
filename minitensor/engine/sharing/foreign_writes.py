"""Detect writes from outside the engine before backward uses the overwritten values.

numpy or another library can write shared memory (:mod:`minitensor.engine.sharing.numpy_memory`) without changing a
version. A backward that needs the old values would then be silently wrong. With :class:`check_foreign_writes`, an
operation that saves a tensor on shared memory also copies it, and backward compares the tensor with the copy before it
uses the tensor. If they differ, backward raises an error that names the operation and the changed elements.

The check compares copies instead of checksums. Copying takes no longer, misses no change, and provides the old value
for the message. Only tensors on shared storages are copied. The copies are not counted, so that the memory counters
show the same values as without the check. If the check is off, operations do no additional work.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.history import Saved
from minitensor.engine.core.regions import overlaps_itself
from minitensor.engine.core.storage import Storage
from minitensor.engine.device.arrays import address_of, byte_bounds, gpu_of
from minitensor.engine.saved.cells import Cells
from minitensor.engine.saved.saved import Preserved
from minitensor.engine.sharing import numpy_memory

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node


class Checking:
    """The state of the check. ``on`` is true if saved tensors on shared memory are copied."""

    on = False


checking = Checking()


# ---------- saved and present values ----------


class SavedCopy:
    """Copy of a saved tensor from the time when it was saved."""

    __slots__ = ("array", "__weakref__")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array.copy()

    def changed(self, now: np.ndarray) -> np.ndarray:
        """Return a mask of the elements whose bytes in ``now`` differ from the copy."""
        bits = np.dtype(f"u{now.itemsize}")
        return now.view(bits) != self.array.view(bits)

    def check(self, node: Node, name: str, saved: Saved, now: np.ndarray) -> None:
        """Raise RuntimeError if an element of ``now``, which backward is about to use, differs from the copy."""
        changed = self.changed(now)
        if changed.any():
            raise written_outside(node, name, saved, self.array, now, changed)


def written_outside(
    node: Node, name: str, saved: Saved, then: np.ndarray, now: np.ndarray, changed: np.ndarray
) -> RuntimeError:
    """Return the error for a saved tensor that was overwritten from outside the engine.

    Args:
        name: the name of the tensor in the gradient rules.
        then, now: the elements of the tensor when it was saved, and now.
        changed: a mask of the elements that differ.
    """
    array, storage, version = saved
    first_input = "input" if len(node.inputs) == 1 else "first input"
    which = {"out": "output", "x": first_input, "y": "second input"}.get(name, name)
    count = int(np.count_nonzero(changed))
    first = tuple(int(i) for i in np.argwhere(changed)[0])
    where = f"element {list(first)}" if first else "its element"
    at = address_of(array) + sum(i * stride for i, stride in zip(first, array.strides, strict=True))
    byte = at - byte_bounds(storage.buffer)[0]
    others = f"; {count - 1} more of its {array.size} elements changed" if count > 1 else ""
    return RuntimeError(
        f"A tensor of shape {list(array.shape)} that backward needs was overwritten from outside the engine, by "
        f"another user of its memory, so its version did not change.\n"
        f"  saved:   {node.op.name} saved its {which} at version {version.version} ({node.place})\n"
        f"  changed: {where} (bytes {byte} to {byte + array.itemsize - 1} of the storage) was {then[first].item()} and "
        f"is {now[first].item()}{others}\n"
        f"Ways out: let numpy or the other library write before the operation, or after backward; write through a "
        f"tensor, as in `x[...] = value`, so that the version changes; or compute with a copy (`to_tensor`, `clone()`)."
    )


# ---------- copying saved tensors ----------


class CopyingSavers(list[Any]):
    """The savers of a shared storage. When a node is appended, the tensors that it saved are copied."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage.savers or ())
        self.storage = weakref.ref(storage)
        #: The copies; the keys are address and layout. Operations that save the same tensor share a copy.
        self.copies: weakref.WeakValueDictionary[Any, SavedCopy] = weakref.WeakValueDictionary()
        for link in self:
            self._copy_saved(link())

    def append(self, link: Any) -> None:
        """Append ``link``, a weak reference to a node, and copy the tensors that the node saved."""
        super().append(link)
        self._copy_saved(link())

    def _copy_saved(self, node: Node | None) -> None:
        storage = self.storage()
        # The guard node of a user-defined layer saves tensors to be notified of writes. Backward does not read them.
        if node is None or type(node.saved) is not tuple or node.op.name == "guard":
            return
        if storage is None or not numpy_memory.is_shared(storage):
            return
        entries = list(node.saved)
        for k, entry in enumerate(entries):
            if type(entry) is not tuple or len(entry) != 3 or entry[1] is not storage or not entry[0].size:
                continue
            array, _, version = entry
            if type(version) is int:
                cells = np.unique(Cells.unordered(array).numbers()).size if overlaps_itself(array) else array.size
                entries[k] = array, storage, Preserved(version, (), cells, self._copy_of(array))
        node.saved = tuple(entries)

    def _copy_of(self, array: np.ndarray) -> SavedCopy:
        key = address_of(array), array.shape, array.strides
        copy = self.copies.get(key)
        if copy is None or copy.changed(array).any():
            self.copies[key] = copy = SavedCopy(array)
        return copy


# ---------- switching on and off ----------

_copying: weakref.WeakSet[Storage] = weakref.WeakSet()


def _copy_from_now(storage: Storage) -> None:
    """If the check is on, copy all tensors that are or will be saved from ``storage``, unless it is on a GPU."""
    if checking.on and gpu_of(storage.buffer) is None:
        # Replace the list even if it is a CopyingSavers: a tensor saved while the storage was not shared has no copy.
        storage.savers = CopyingSavers(storage)
        _copying.add(storage)


def _switch(on: bool) -> None:
    checking.on = on
    if on:
        for storage in numpy_memory.shared_storages():
            _copy_from_now(storage)
        return
    for storage in list(_copying):
        if type(storage.savers) is CopyingSavers:
            storage.savers = list(storage.savers) or None
    _copying.clear()


numpy_memory.when_shared.append(_copy_from_now)


class check_foreign_writes:
    """Make backward raise if it would use a value that was overwritten from outside since it was saved.

    The check starts with the call. As a context manager, it restores the former state at the end. It covers the tensors
    on shared memory that operations save while it is on. For tensors saved earlier, it detects writes after the check
    began, or after their memory was first shared. When the check ends, existing copies remain for later backward
    passes.

    The error is a RuntimeError. It names the operation and the line that saved the tensor, the first changed element,
    its bytes in the storage, and its values before and after. Values that backward does not need may be written at any
    time, and all values may be written after backward has run.

    Args:
        on: False to stop copying.

    Raises:
        TypeError: if ``on`` is not a bool.
    """

    __slots__ = ("_before", "_on")

    def __init__(self, on: bool = True) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"check_foreign_writes: on must be True or False, not {shown(on)}")
        self._on, self._before = on, checking.on
        _switch(on)

    def __enter__(self) -> None:
        _switch(self._on)

    def __exit__(self, *_: object) -> None:
        _switch(self._before)
