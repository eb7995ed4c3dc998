"""The data of a recording: pieces of memory, and the events that concern them.

The name of a tensor is often found only after an event. Therefore an event refers to a :class:`TrackedMemory`, which
has the best name so far. It lives as long as its storage, or longer if a recorded event refers to it.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.memory.naming import asked_name

#: Where a name was read, from the least to the most reliable source: an expression that uses the tensor, an assignment,
#: or ``x.name``, which the program set.
SHOWN, ASSIGNED, ASKED = 1, 2, 3


class TrackedMemory:
    """A piece of memory in the events, with the information found so far.

    Attributes:
        device, address: its device, and its address there.
        storage: the number of its storage; 0 if it has none.
        size, requested: its size in bytes, and the bytes that were requested, which an allocator may round up.
        version: the version of its storage at the last event.
        op, category: the operation that allocated it, and its purpose ("gradient" or "saved").
    """

    __slots__ = (
        *("device", "address", "size", "requested", "storage", "version", "op", "category"),
        *("_name", "_rank", "_tensor"),
    )

    def __init__(self, device: str, address: int, size: int, requested: int, storage: int = 0) -> None:
        self.device, self.address, self.size, self.requested = device, address, size, requested
        self.storage = storage
        self.version = self._rank = 0
        self.op = self.category = self._name = ""
        self._tensor: weakref.ref[Tensor] | None = None

    def set_name(self, name: str, rank: int) -> None:
        """Set the name if ``rank``, the reliability of its source, is higher than that of the present name."""
        if name and rank > self._rank:
            self._name, self._rank = name, rank

    def drop_name(self, name: str) -> None:
        """Remove ``name`` if it was read from an assignment. Called when it belongs to another piece of memory."""
        if self._rank == ASSIGNED and self._name == name:
            self._name, self._rank = "", 0

    def register(self, x: Tensor) -> None:
        """Record that ``x`` uses this memory."""
        self.set_name(asked_name(x), ASKED)
        if self._tensor is None or self._tensor() is None:
            self._tensor = weakref.ref(x)

    @property
    def has_tensor(self) -> bool:
        """True if a tensor that uses this memory has been registered."""
        return self._tensor is not None

    def as_event(self) -> MemoryEvent:
        """Return the allocation of this memory as an event, without line and time."""
        more: dict[str, Any] = {"category": self.category, "device": self.device, "storage": self.storage}
        more["version"] = self.version
        return MemoryEvent("alloc", self.address, self.size, self.requested, self.name, self.op, **more)

    @property
    def name(self) -> str:
        """The name in the program; empty if unknown."""
        x = self._tensor() if self._tensor is not None else None
        if x is not None and self._rank < ASKED:
            self.set_name(asked_name(x), ASKED)
        return self._name


class RecordedEvent(NamedTuple):
    """An event as a recording stores it. Names that are found later are added to ``memory``."""

    kind: str
    memory: TrackedMemory | None
    address: int
    size: int
    requested: int
    version: int
    op: str
    file: str
    line: int
    time_us: int
    device_free: int
    device: str


def as_memory_event(entry: RecordedEvent) -> MemoryEvent:
    """Return ``entry`` as a public event, with the name and the purpose of its memory that are known by now."""
    memory = entry.memory
    name, category, storage, op = "", "", 0, entry.op
    if memory is not None:
        name, category, storage = memory.name, memory.category, memory.storage
        op = op or (memory.op if entry.kind == "alloc" else "")
    return MemoryEvent(
        entry.kind,
        entry.address,
        entry.size,
        entry.requested,
        name,
        op,
        entry.file,
        entry.line,
        entry.time_us,
        category,
        entry.device_free,
        entry.device,
        storage,
        entry.version,
    )
