"""What a recording keeps: pieces of memory, and what happened to them.

A name is often learnt after the event. So an event refers to its piece of memory, which knows the best name so far. A
piece lives as long as an event that is kept speaks of it, or its storage does.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from minitensor.core.tensor import Tensor
from minitensor.device.memory_log import MemoryEvent
from minitensor.memory.naming import asked_name

#: How good a name is: read from an expression that shows the tensor; from an assignment; given by the program.
SHOWN, ASSIGNED, ASKED = 1, 2, 3


class Memory:
    """A piece of memory that events speak of, and what has been found out about it so far.

    Attributes:
        device, address, size, requested: where and how large it is, in bytes.
        storage: the number of its storage; 0 when it has none.
        version: the storage's, as far as it has been told.
        op, category: what made it, and what it is for.
    """

    __slots__ = (
        "device",
        "address",
        "size",
        "requested",
        "storage",
        "version",
        "op",
        "category",
        "_name",
        "_rank",
        "_tensor",
    )

    def __init__(self, device: str, address: int, size: int, requested: int, storage: int = 0) -> None:
        self.device, self.address, self.size, self.requested = device, address, size, requested
        self.storage = storage
        self.version = self._rank = 0
        self.op = self.category = self._name = ""
        self._tensor: weakref.ref[Tensor] | None = None

    def call(self, name: str, rank: int) -> None:
        """``name`` is a name for it; the better one stays."""
        if name and rank > self._rank:
            self._name, self._rank = name, rank

    def uncall(self, name: str) -> None:
        """``name``, read from an assignment, turned out to be another's."""
        if self._rank == ASSIGNED and self._name == name:
            self._name, self._rank = "", 0

    def shown_by(self, x: Tensor) -> None:
        """``x`` looks at it."""
        self.call(asked_name(x), ASKED)
        if self._tensor is None or self._tensor() is None:
            self._tensor = weakref.ref(x)

    @property
    def seen(self) -> bool:
        """Whether a tensor has been met that looks at it."""
        return self._tensor is not None

    def as_event(self) -> MemoryEvent:
        """What made it, as far as that is known, without line and time."""
        return MemoryEvent(
            "alloc",
            self.address,
            self.size,
            self.requested,
            self.name,
            self.op,
            category=self.category,
            device=self.device,
            storage=self.storage,
            version=self.version,
        )

    @property
    def name(self) -> str:
        """What the program calls it; empty when that is not known."""
        x = self._tensor() if self._tensor is not None else None
        if x is not None and self._rank < ASKED:
            self.call(asked_name(x), ASKED)
        return self._name


class Entry(NamedTuple):
    """An event as it is kept: what can be found out later is asked of ``memory`` when it is read."""

    kind: str
    memory: Memory | None
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


def told(entry: Entry) -> MemoryEvent:
    """The event, with all that is known by now."""
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
