"""A log of the last memory events of a device, with one small record per event.

A record holds only numbers and text, never a tensor, so the log keeps no memory of the program alive.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from minitensor.engine.checks import shown
from minitensor.engine.device.allocator import Block, CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError


class MemoryEvent(NamedTuple):
    """A change of memory, or of the data in it.

    Attributes:
        kind: ``"alloc"``, ``"free"``, ``"oom"``, ``"segment_alloc"``, ``"segment_free"``; and three kinds that are not
            from the allocator: ``"write"`` (an in-place write, after which the storage has ``version``), ``"version"``
            (the storage got another version without a write), ``"save"`` (an operation saved cells for backward, when
            the storage had ``version``).
        address: the address of the block or segment, or of the written or saved cells; 0 for ``"oom"``.
        size: the bytes of the block, of the segment, or of the written or saved cells; for ``"oom"``, the bytes of the
            segment that could not be reserved.
        requested: the requested bytes; for a segment, its size.
        name: the name of the tensor, or empty.
        op: the operation that caused the event.
        file, line: the line of the program that called the operation; empty and 0 if unknown.
        time_us: the time in microseconds since 1970.
        category: the purpose of the memory ("parameter", "gradient", ...), or empty.
        device_free: for ``"oom"``: the bytes of the device that were not reserved.
        device: the name of the device, such as ``"cpu"``; empty if there is only one.
        storage: the number of the storage in the recording, from 1; 0 for memory that belongs to no storage (a gradient
            that backward has not passed on yet, or scratch memory).
        version: the version of this storage after the event.
    """

    kind: str
    address: int
    size: int
    requested: int
    name: str = ""
    op: str = ""
    file: str = ""
    line: int = 0
    time_us: int = 0
    category: str = ""
    device_free: int = 0
    device: str = ""
    storage: int = 0
    version: int = 0


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


class EventLog:
    """A log that keeps the last ``limit`` events.

    Attributes:
        events: the kept events, the oldest first.
        recorded: the number of all events so far.

    Raises:
        TypeError, ValueError: ``limit`` is not an integer, or less than 1.
    """

    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise TypeError(f"limit must be an integer, not {shown(limit)}.")
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {shown(limit)}.")
        if limit > sys.maxsize:
            raise ValueError(f"limit must be at most {sys.maxsize}, not {shown(limit)}.")
        self.events: deque[Any] = deque(maxlen=limit)
        self.recorded = 0

    @property
    def dropped(self) -> int:
        """The number of events that are no longer kept."""
        return self.recorded - len(self.events)

    def add(self, event: Any) -> None:
        """Add an event; drop the oldest if there are too many."""
        self.recorded += 1
        self.events.append(event)


class MemoryLog(EventLog):
    """A log of the calls to ``allocator``, which must be made through this log. It keeps the last ``limit`` events.

    The reservation of a segment is logged before the allocation of the block that needed the segment. The release of
    segments is logged before the out-of-memory error that followed. A request of 0 bytes logs no event.

    Attributes:
        allocator: the allocator that is called.
        live: the ``"alloc"`` event of every block in use, by address.

    Raises:
        ValueError: if ``allocator`` has a log that was not closed.
    """

    def __init__(self, allocator: CachingAllocator, limit: int = 100_000, clock: Callable[[], int] = now_us) -> None:
        super().__init__(limit)
        if allocator.on_segment is not None:
            raise ValueError("allocator: another log follows its segments; close that log first.")
        self.allocator = allocator
        self.live: dict[int, MemoryEvent] = {}
        self._clock = clock
        self._now = 0
        allocator.on_segment = self._segment

    def allocate(
        self,
        nbytes: int,
        name: str = "",
        op: str = "",
        file: str = "",
        line: int = 0,
        category: str = "",
        time_us: int | None = None,
    ) -> Block:
        """Return the block of :meth:`CachingAllocator.allocate`, and log the call.

        ``time_us`` is the time of the event; None means now.
        """
        self._now = self._clock() if time_us is None else time_us
        origin = name, op, file, line, self._now, category
        try:
            block = self.allocator.allocate(nbytes)
        except OutOfMemoryError as error:
            self.add(MemoryEvent("oom", 0, error.tried, error.requested, *origin, error.free))
            raise
        if block.size:
            event = MemoryEvent("alloc", block.address, block.size, block.requested, *origin)
            self.live[block.address] = event
            self.add(event)
        return block

    def free(self, block: Block, op: str = "", file: str = "", line: int = 0, time_us: int | None = None) -> None:
        """Call :meth:`CachingAllocator.free` and log the call, with the name that was given to :meth:`allocate`."""
        self._now = self._clock() if time_us is None else time_us
        self.allocator.free(block)
        if block.size:
            allocation = self.live.pop(block.address, None)
            name, category = (allocation.name, allocation.category) if allocation is not None else ("", "")
            origin = name, op, file, line, self._now, category
            self.add(MemoryEvent("free", block.address, block.size, block.requested, *origin))

    def empty_cache(self, time_us: int | None = None) -> int:
        """Return the bytes of :meth:`CachingAllocator.empty_cache`, and log the released segments."""
        self._now = self._clock() if time_us is None else time_us
        return self.allocator.empty_cache()

    def close(self) -> None:
        """Unsubscribe from the allocator, so that it no longer refers to this log. The events remain."""
        self.allocator.on_segment = None

    def _segment(self, kind: str, address: int, size: int) -> None:
        self.add(MemoryEvent(kind, address, size, size, time_us=self._now))
