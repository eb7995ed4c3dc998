"""What an event of the engine says about bytes: whose they are, how many came or went, were written or were saved."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from minitensor.core.history import Leaf, Node
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.device.arrays import address_of, gpu_of, host_array, owner_of
from minitensor.explaining.needs import node_of_write
from minitensor.modes import modes
from minitensor.operations.operands import CONSTANT
from minitensor.saving.saved import FREED, version_saved


class Change(NamedTuple):
    """The bytes that count as allocated on a device have just changed by ``nbytes``; ``made``: by an allocation."""

    device: str
    nbytes: int
    made: bool


def change_told(kind: str, arguments: tuple[Any, ...]) -> Change | None:
    """The change of allocated bytes that an event tells; None for any other event.

    On the host these are storages, and gradients on their way through backward, which count as allocated and make no
    storage. On a GPU they are the blocks of its allocator.
    """
    if kind in ("alloc", "free"):
        (storage,) = arguments
        if type(storage) is not Storage or storage.nbytes == 0:
            return None  # what lies on a GPU is told of by its allocator
        return Change("cpu", storage.nbytes, True) if kind == "alloc" else Change("cpu", -storage.nbytes, False)
    if kind == "flight":
        return Change("cpu", arguments[0], False)
    if kind == "block":
        (event,) = arguments
        if event.kind == "alloc":
            return Change(event.device, event.size, True)
        if event.kind == "free":
            return Change(event.device, -event.size, False)
    return None


def device_of(storage: Storage) -> str:
    """The name of the device that ``storage`` lies on."""
    return "cpu" if type(storage) is Storage else gpu_of(storage.buffer).name


def address_in(storage: Storage) -> int:
    """Where the memory of ``storage`` begins: on a GPU, the address of its block."""
    return address_of(storage.buffer if type(storage) is Storage else owner_of(storage.buffer))


def bytes_written(x: Tensor, where: Any) -> int:
    """How many bytes a write through ``x`` covered; ``where`` as the ``"write"`` event has it.

    Elements that an index names twice count twice. Nothing of the size of ``x`` is allocated.
    """
    if where is None:
        return x._array.nbytes
    if not isinstance(where, tuple):
        return where.nbytes
    index = tuple(host_array(part) if hasattr(part, "dtype") else part for part in where)
    # A mask picks from a view of one byte, whatever the size of the tensor.
    return np.broadcast_to(np.zeros((), np.bool_), x._array.shape)[index].size * x._array.itemsize


# ---------- what was saved for backward ----------


class Kept(NamedTuple):
    """A tensor that an operation saved for backward: the operation's name for it, the array, its storage, version."""

    what: str
    array: Any
    storage: Storage
    version: int


def kept_by(node: Node) -> list[Kept]:
    """What ``node`` holds for its backward; nothing once a backward has used it. Numbers are no tensors."""
    if node.saved is FREED or not isinstance(node.saved, tuple):
        return []
    return [
        Kept(name, saved[0], saved[1], version_saved(saved))
        for name, saved in zip(node.op.saved_names, node.saved, strict=False)
        if type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage) and saved[1] is not CONSTANT
    ]


class NewNodes:
    """Follows the events and finds the nodes that operations have just recorded.

    Some operations tell that they made a tensor before they record it. So every event is given to :meth:`late` first:
    it looks once more at such a tensor, which is known by a weak reference only.
    """

    def __init__(self) -> None:
        self._late: tuple[weakref.ref[Tensor], Any] | None = None

    def late(self, kind: str = "", arguments: tuple[Any, ...] = ()) -> list[tuple[Node, Any]]:
        """The node, if there is one, that was recorded just after its event was told, with the ``where`` of that."""
        if self._late is None:
            return []
        (link, where), self._late = self._late, None
        x = link()
        if x is None or (kind in ("write", "meta") and arguments[0] is x):
            return []
        node = x._node
        return [(node, where)] if node is not None and _recorded(node) else []

    def told(self, kind: str, arguments: tuple[Any, ...], where: Any) -> list[tuple[Node, Any]]:
        """The node that was recorded before this event was told, with ``where``."""
        if kind not in ("make", "write"):
            return []
        x = arguments[0]
        if _recorded(x._node):
            node = x._node if kind == "make" else node_of_write(x) if modes.grad else None
            return [] if node is None else [(node, where)]
        if kind == "make" and modes.grad:
            self._late = weakref.ref(x), where
        return []


def _recorded(node: Node | None) -> bool:
    return node is not None and type(node) is not Leaf
