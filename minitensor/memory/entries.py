"""The data of a recording: pieces of memory, and events about them.

The name of a tensor is often found only after an event. Therefore an event refers to a :class:`TrackedMemory`, which
has the best name found so far.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.memory.naming import given_name

#: The sources of a name, from the least to the most reliable one: an expression that uses the tensor, an assignment of
#: the tensor to a variable, and ``x.name``, if the program has set it.
USED, ASSIGNED, GIVEN = 1, 2, 3


class TrackedMemory:
    """A piece of memory, with the information found so far.

    Attributes:
        device, address: the device, and the address on that device.
        storage: the number of the storage; 0 if there is none.
        size, requested: the size in bytes, and the requested bytes, which an allocator may have rounded up to the size.
        version: the version of the storage at the last event.
        op, category: the operation that allocated the memory, and the purpose of the memory: "gradient", "saved" or "".
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
        """Set the name if its source (``rank``) is more reliable than the source of the present name."""
        if name and rank > self._rank:
            self._name, self._rank = name, rank

    def drop_name(self, name: str) -> None:
        """Remove ``name``, which belongs to another piece of memory, if its source was an assignment."""
        if self._rank == ASSIGNED and self._name == name:
            self._name, self._rank = "", 0

    def register(self, x: Tensor) -> None:
        """Record that ``x`` uses this memory."""
        self.set_name(given_name(x), GIVEN)
        if self._tensor is None or self._tensor() is None:
            self._tensor = weakref.ref(x)

    @property
    def has_tensor(self) -> bool:
        """True if a tensor that uses this memory has been registered."""
        return self._tensor is not None

    def as_event(self) -> MemoryEvent:
        """Return the allocation of this memory as an event, without line and time."""
        return MemoryEvent(
            kind="alloc",
            address=self.address,
            size=self.size,
            requested=self.requested,
            name=self.name,
            op=self.op,
            category=self.category,
            device=self.device,
            storage=self.storage,
            version=self.version,
        )

    @property
    def name(self) -> str:
        """The name that the program uses for this memory; empty if unknown."""
        x = self._tensor() if self._tensor is not None else None
        if x is not None and self._rank < GIVEN:
            self.set_name(given_name(x), GIVEN)
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
    """Return ``entry`` as a public event, with the present name and purpose of its memory."""
    memory = entry.memory
    op = entry.op or (memory.op if memory is not None and entry.kind == "alloc" else "")
    return MemoryEvent(
        kind=entry.kind,
        address=entry.address,
        size=entry.size,
        requested=entry.requested,
        name="" if memory is None else memory.name,
        op=op,
        file=entry.file,
        line=entry.line,
        time_us=entry.time_us,
        category="" if memory is None else memory.category,
        device_free=entry.device_free,
        device=entry.device,
        storage=0 if memory is None else memory.storage,
        version=entry.version,
    )
