"""The map of an allocator: its segments, their blocks, and the free memory between them, after each event of a log.

    mt.set_device("gpu:sim", capacity="64 MiB")
    with memory.record() as recording:
        ...
        figure = allocator_map.show(recording)

For an allocator that is used without a recording, call ``allocator_map.show(log)`` with its ``MemoryLog``. The figure
starts from the allocator's present state and undoes the events. Therefore the log need not contain the earliest events,
but the figure must be made before more memory is allocated. A list of events that contains the allocation of every
segment can be shown without an allocator.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_stage.figures.memory_events import described, events_of, in_parentheses, name_of, titled
from memory_stage.messages import Text, in_context, listed, message, said
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web.element import Figure, FigureTable
from minitensor.engine.device.allocator import CachingAllocator, SegmentView
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.engine.device.places import current

TITLE = message("The allocator's segments and blocks")
MOST_EVENTS = 1_500


def show(
    source: Any,
    *,
    allocator: CachingAllocator | None = None,
    device: str | None = None,
    title: str | None = None,
    ask: str | None = None,
    opens: int | None = None,
) -> Figure:
    """Return the map of an allocator along the events of ``source``.

    Args:
        source: a recording, a ``MemoryLog`` or a list of ``MemoryEvent``, without gaps.
        allocator: the allocator, in its state after the last event; by default that of ``source`` or of the simulated
            GPU.
        device: the device to show; needed only if there are events of several.
        title: the name of the figure for a screen reader and in print.
        ask: a question to think about before scrubbing; backticks mark code.
        opens: the event to show first, counted from 1, or from the end if negative; by default the last.

    Raises:
        IndexError: if there is no event ``opens``.
        TypeError: if ``source`` contains something other than memory events.
        ValueError: if there are no events or more than 1,500, or if they do not match the allocator's current state.
    """
    events = events_of(source, device)
    if len(events) > MOST_EVENTS:
        raise ValueError(
            f"the map draws at most {MOST_EVENTS:,} events, and there are {len(events):,}: record less, or pass "
            f"the last ones as a list together with the allocator"
        )
    if allocator is None:
        allocator = _allocator_of(source, events[0].device)
    memory = _Memory(allocator)
    if allocator is not None:
        memory.copy_segments(allocator.segments(), _makers(source, events))
        for event in reversed(events):
            memory.undo(event)
    names: dict[str, int] = {}
    before = memory.as_data(names)
    run = described(events, names, start=memory.totals())
    chosen = range(len(events))[-1 if opens is None else opens - (opens > 0)]
    happened = []
    sentences: dict[tuple[str, ...], int] = {}
    for number, (event, entry, following) in enumerate(zip(events, run.events, [*events[1:], None], strict=True)):
        happened.append(memory.apply(event, following))
        parts = _parts_of(entry["say"], event, memory.totals())
        happened[-1]["say"] = sentences.setdefault(parts, len(sentences))
        if event.kind == "oom":
            happened[-1]["name"] = names.setdefault(name_of(event), len(names))
        elif "name" in entry:
            happened[-1]["name"] = entry["name"]
        if number == chosen:
            table = memory.as_table(number + 1)
    data = {
        "schema": "allocator/2",
        "title": titled(title or said(TITLE), events),
        "ask": ask,
        "profile": allocator.profile.name if allocator is not None else None,
        "capacity": allocator.capacity if allocator is not None else None,
        "names": list(names),
        "before": before,
        "events": happened,
        "sentences": [*map(list, sentences)],
        "opens": chosen,
    }
    return Figure(
        data,
        sentence=run.events[chosen]["say"],
        tables=[table],
        steps=[entry["say"] for entry in run.events] if len(events) <= 60 else (),
    )


def _allocator_of(source: Any, device: str) -> CachingAllocator | None:
    simulated = current.simulated
    if simulated is not None and simulated.name == device:
        return simulated.allocator
    return getattr(source, "allocator", None)


def _parts_of(say: str, event: MemoryEvent, totals: tuple[int, int]) -> tuple[str, ...]:
    """Split a sentence at its amounts. The page takes the amounts from the event, so events share the other parts.

    Args:
        say: the sentence of the event.
        event: the event.
        totals: the bytes allocated and the bytes reserved after the event.

    Returns:
        Texts in alternation with names of amounts ("size", "total" or "asked"). The first and last parts are texts.
    """
    allocated, reserved = totals
    amounts = {
        bytes_shown(reserved if event.kind in ("segment_alloc", "segment_free") else allocated): "total",
        bytes_shown(event.size): "size",
    }
    if event.requested != event.size:
        amounts[f"{event.requested:,}"] = "asked"
    parts = re.split(f"({'|'.join(map(re.escape, amounts))})", say)
    return tuple(amounts[part] if number % 2 else part for number, part in enumerate(parts))


def _makers(source: Any, events: list[MemoryEvent]) -> dict[int, MemoryEvent]:
    """Return the events that made the blocks, keyed by address. A log keeps those of live blocks."""
    live = getattr(source, "live", {})
    made = dict(live(events[0].device) if callable(live) else live)
    made.update((event.address, event) for event in events if event.kind == "alloc")
    return made


@dataclass
class _MappedSegment:
    number: int
    size: int
    pool: str
    # Maps an address to the size, the requested bytes and the name of the block.
    blocks: dict[int, tuple[int, int, str]] = field(default_factory=dict)


class _Memory:
    """The segments and blocks of an allocator, by address. Events can be undone and applied."""

    def __init__(self, allocator: CachingAllocator | None) -> None:
        self.small_up_to = allocator.profile.small_up_to if allocator is not None else 0
        self.segments: dict[int, _MappedSegment] = {}
        self.count = 0

    def copy_segments(self, views: Iterable[SegmentView], makers: Mapping[int, MemoryEvent]) -> None:
        """Copy the segments that an allocator has after the last event. ``makers`` has the names of the blocks."""
        for view in views:
            segment = self._add(view.address, view.size, _pool(view.pool) if self.small_up_to else "")
            for block in view.blocks:
                if block.in_use:
                    maker = makers.get(block.address)
                    name = name_of(maker) if maker is not None else in_parentheses("")
                    segment.blocks[block.address] = (block.size, block.requested, name)

    def undo(self, event: MemoryEvent) -> None:
        """Restore the state before ``event``."""
        if event.kind == "alloc":
            if self._of(event).blocks.pop(event.address, (None,))[0] != event.size:
                raise _do_not_fit(event)
        elif event.kind == "free":
            if any(self._blocks_in(event)):
                raise _do_not_fit(event)
            self._of(event).blocks[event.address] = (event.size, event.requested, name_of(event))
        elif event.kind == "segment_alloc":
            if self.segments.pop(event.address, _MappedSegment(0, 0, "", {0: (0, 0, "")})).blocks:
                raise _do_not_fit(event)
        elif event.kind == "segment_free":
            self._add(event.address, event.size, "")

    def apply(self, event: MemoryEvent, following: MemoryEvent | None) -> dict[str, Any]:
        """Apply ``event``, and return an entry with its segment and offset.

        The pool of a new segment is known from the size of the block that ``following``, the next event, allocates.
        """
        entry: dict[str, Any] = {"do": event.kind, "bytes": event.size}
        if event.kind in ("alloc", "oom") and event.requested != event.size:
            entry["asked"] = event.requested
        if event.kind == "oom":
            return entry
        if event.kind == "segment_alloc":
            small = following is not None and following.kind == "alloc" and following.size <= self.small_up_to
            pool = _pool("small" if small else "large") if self.small_up_to else ""
            return {**entry, "segment": self._add(event.address, event.size, pool).number, "pool": pool}
        if event.kind == "segment_free":
            if event.address not in self.segments:
                raise _do_not_fit(event)
            return {**entry, "segment": self.segments.pop(event.address).number}
        segment = self._of(event)
        entry.update(segment=segment.number, offset=event.address - self._address_of(event))
        if event.kind == "write":
            return entry
        if event.kind == "alloc":
            segment.blocks[event.address] = (event.size, event.requested, name_of(event))
            return entry
        if segment.blocks.pop(event.address, None) is None:
            raise _do_not_fit(event)
        return entry

    def totals(self) -> tuple[int, int]:
        """Return the bytes allocated and the bytes reserved."""
        allocated = sum(size for segment in self.segments.values() for size, _, _ in segment.blocks.values())
        return allocated, sum(segment.size for segment in self.segments.values())

    def as_data(self, names: dict[str, int]) -> list[dict[str, Any]]:
        """Return the segments and blocks in the order of their addresses, and number the segments from 1."""
        self.segments = dict(sorted(self.segments.items()))
        self.count = len(self.segments)
        for number, segment in enumerate(self.segments.values(), 1):
            segment.number = number
        return [
            {
                "segment": segment.number,
                "bytes": segment.size,
                "pool": segment.pool,
                "blocks": [
                    {
                        "offset": at - address,
                        "bytes": size,
                        "asked": asked,
                        "name": names.setdefault(name, len(names)),
                        "at": -1,
                    }
                    for at, (size, asked, name) in sorted(segment.blocks.items())
                ],
            }
            for address, segment in self.segments.items()
        ]

    def as_table(self, events: int) -> FigureTable:
        """Return the segments and their blocks as a table."""
        rows = []
        for segment in self.segments.values():
            used = sum(size for size, _, _ in segment.blocks.values())
            names = [name for _, (_, _, name) in sorted(segment.blocks.items())]
            held: Text = listed(names[:8]) if names else "–"
            if len(names) > 8:
                held = message("{names} and {count} more", names=held, count=len(names) - 8)
            free = bytes_shown(segment.size - used)
            rows.append((str(segment.number), bytes_shown(segment.size), bytes_shown(used), free, said(held)))
        head: tuple[Text, ...] = (
            message("segment"),
            message("bytes"),
            message("in use"),
            in_context("allocator", "free"),
            message("held by"),
        )
        return FigureTable(said(message("Segments after event {event}", event=events)), tuple(map(said, head)), rows)

    def _add(self, address: int, size: int, pool: str) -> _MappedSegment:
        self.count += 1
        self.segments[address] = segment = _MappedSegment(self.count, size, pool)
        return segment

    def _address_of(self, event: MemoryEvent) -> int:
        addresses = sorted(self.segments)
        found = bisect_right(addresses, event.address) - 1
        if found < 0 or event.address + event.size > addresses[found] + self.segments[addresses[found]].size:
            raise _do_not_fit(event)
        return addresses[found]

    def _blocks_in(self, event: MemoryEvent) -> Iterator[int]:
        """Yield the addresses of the blocks that overlap the event's block."""
        for address, (size, _, _) in self._of(event).blocks.items():
            if address < event.address + event.size and event.address < address + size:
                yield address

    def _of(self, event: MemoryEvent) -> _MappedSegment:
        return self.segments[self._address_of(event)]


def _pool(name: str) -> str:
    return said(message("small pool") if name == "small" else message("large pool"))


def _do_not_fit(event: MemoryEvent) -> ValueError:
    return ValueError(
        f"the events do not fit the allocator: {event.kind} of {event.size:,} bytes at address {event.address:#x}. Log "
        f"every allocation, make the figure right after the last event, and pass the allocator if events are missing"
    )
