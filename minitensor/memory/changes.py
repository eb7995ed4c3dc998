"""Read from the engine's events how many bytes were allocated, freed, written or saved, and on which device."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from minitensor.engine import events
from minitensor.engine.core.history import Leaf, Node, peek
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of, gpu_of, host_array, owner_of
from minitensor.engine.modes import modes
from minitensor.engine.operations.operands import CONSTANT
from minitensor.engine.saved.saved import FREED, version_saved
from minitensor.memory.backward_needs import node_of_write


class MemoryChange(NamedTuple):
    """A change of the allocated bytes of a device.

    Attributes:
        device: the name of the device.
        nbytes: the increase of the allocated bytes; negative for a release.
        is_allocation: True for a new storage on the host or a new block on a GPU; False for a release, and for
            gradients in flight (see :func:`change_of`).
    """

    device: str
    nbytes: int
    is_allocation: bool


def change_of(event: events.Event) -> MemoryChange | None:
    """Return the change of allocated bytes that ``event`` reports; None if it reports none.

    On the host, the allocated bytes are those of storages and of gradients in flight. These gradients have no storage:
    ``backward()`` has computed them and not passed them on yet. On a GPU, the allocated bytes are those of the
    allocator's blocks.
    """
    match event:
        case events.StorageCreated(storage) | events.StorageReleased(storage):
            if type(storage) is not Storage or storage.nbytes == 0:
                return None  # GPU memory is reported by its allocator
            is_allocation = type(event) is events.StorageCreated
            return MemoryChange("cpu", storage.nbytes if is_allocation else -storage.nbytes, is_allocation)
        case events.FlightChanged(nbytes):
            return MemoryChange("cpu", nbytes, False)
        case events.AllocatorChanged(change) if change.kind == "alloc":
            return MemoryChange(change.device, change.size, True)
        case events.AllocatorChanged(change) if change.kind == "free":
            return MemoryChange(change.device, -change.size, False)
    return None


def device_of(storage: Storage) -> str:
    """Return the name of the device of ``storage``."""
    return "cpu" if type(storage) is Storage else gpu_of(storage.buffer).name


def address_in(storage: Storage) -> int:
    """Return the address of the memory of ``storage``; on a GPU, the address of its block."""
    return address_of(storage.buffer if type(storage) is Storage else owner_of(storage.buffer))


def bytes_written(x: Tensor, where: Any) -> int:
    """Return the number of bytes that a write through ``x`` covered.

    Args:
        where: as in the event :class:`TensorWritten`. An element that an index lists twice counts twice.
    """
    if where is None:
        return x._array.nbytes
    if not isinstance(where, tuple):
        return where.nbytes
    index = tuple(host_array(part) if hasattr(part, "dtype") else part for part in where)
    # The index is applied to one byte broadcast to the shape of `x`, so that no array of that size is allocated.
    return np.broadcast_to(np.zeros((), np.bool_), x._array.shape)[index].size * x._array.itemsize


# ---------- saved for backward ----------


class SavedReference(NamedTuple):
    """A tensor saved for backward: its name in the rules of its operation, its array and storage, and its version."""

    what: str
    array: Any
    storage: Storage
    version: int


def saved_by(node: Node) -> list[SavedReference]:
    """Return the tensors, but no constants, that ``node`` saved for backward; [] if ``backward()`` has freed them."""
    if node.saved is FREED or not isinstance(node.saved, tuple):
        return []
    return [
        SavedReference(name, saved[0], saved[1], version_saved(saved))
        for name, saved in zip(node.op.saved_names, node.saved, strict=False)
        if type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage) and saved[1] is not CONSTANT
    ]


class NewNodes:
    """Find the nodes that operations record, in the sequence of events.

    Some operations emit the event of a new tensor before they record its node. At the next event, :meth:`late` examines
    that tensor again. Until then, only a weak reference to the tensor is stored. :meth:`late` and
    :meth:`on_event` return [], or one pair: the node, and the value ``where`` that :meth:`on_event` got with the
    tensor's event.
    """

    def __init__(self) -> None:
        self._late: tuple[weakref.ref[Tensor], Any] | None = None

    def late(self, event: events.Event | None = None) -> list[tuple[Node, Any]]:
        """Return the node that was recorded after the previous event (and before ``event``, if it is given), or []."""
        if self._late is None:
            return []
        (link, where), self._late = self._late, None
        x = link()
        if x is None or (isinstance(event, (events.TensorWritten, events.MetadataChanged)) and event.tensor is x):
            return []
        node = x._node
        return [(node, where)] if node is not None and _is_operation(node) else []

    def on_event(self, event: events.Event, where: Any) -> list[tuple[Node, Any]]:
        """Return the node that the operation of ``event`` recorded before it emitted the event; [] if there is none."""
        if not isinstance(event, (events.TensorCreated, events.TensorWritten)):
            return []
        x, created = event.tensor, type(event) is events.TensorCreated
        if _is_operation(peek(x)):
            node = x._node if created else node_of_write(x) if modes.grad else None
            return [] if node is None else [(node, where)]
        if created and modes.grad:
            self._late = weakref.ref(x), where
        return []


def _is_operation(node: Node | None) -> bool:
    return node is not None and type(node) is not Leaf
