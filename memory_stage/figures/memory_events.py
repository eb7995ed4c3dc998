"""Memory events, made ready to be shown: which block each is about, what it is called, and a sentence for it.

Events come as a list of :class:`~minitensor.engine.device.memory_log.MemoryEvent`, as a ``MemoryLog``, or as a
recording
(``with memory.record() as recording``). Early events may be missing, as in a bounded log: what is freed without having
been made was there before the first event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from memory_stage.sentences.words import code
from memory_stage.trace.amounts import bytes_shown
from minitensor.engine.device.memory_log import MemoryEvent

#: Events that a figure shows; others tell of versions and of what was saved, and move no byte.
SHOWN = ("alloc", "free", "oom", "segment_alloc", "segment_free", "write")


def events_of(source: Any, device: str | None = None) -> list[MemoryEvent]:
    """The events of a log, of a recording, or of a list, of those kinds that a figure shows.

    Args:
        source: where they are.
        device: the device whose events are meant; needed only where there are events of several.

    Raises:
        TypeError: it is none of these.
        ValueError: there is no such event in it, or there are events of several devices.
    """
    events = getattr(source, "events", source)
    if isinstance(events, (str, bytes)) or not isinstance(events, Iterable):
        raise TypeError(f"memory events are a MemoryLog, a recording or a list of MemoryEvent, not {source!r:.80}")
    events = list(events)
    for event in events:
        if not isinstance(event, MemoryEvent):
            raise TypeError(f"a memory event is a MemoryEvent, not {event!r:.80} of type {type(event).__name__}")
    events = [event for event in events if event.kind in SHOWN and device in (None, event.device)]
    devices = sorted({event.device for event in events})
    if len(devices) > 1:
        raise ValueError(f"there are events of {' and '.join(devices)}: say with device=... which are meant")
    if not events:
        whose = f" of {device}" if device else ""
        raise ValueError(f"there is no memory event{whose} to show: record while tensors are made and freed")
    return events


def name_of(event: MemoryEvent) -> str:
    """What the memory of an event is called: the tensor's name; without one, what it is for or what made it."""
    return event.name or f"({event.category or event.op or 'unnamed'})"


@dataclass
class Told:
    """What a run of events says.

    Attributes:
        before: blocks that were there before the first event: number, name, bytes.
        events: one dict for each event, with its sentence as ``say``.
        reserved: bytes reserved before the first event.
        peak, peak_at, end: the most bytes allocated, the index of the event at which, and the bytes at the end.
    """

    before: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    reserved: int = 0
    peak: int = 0
    peak_at: int = 0
    end: int = 0


def told(events: list[MemoryEvent], names: dict[str, int], start: tuple[int, int] | None = None) -> Told:
    """The events in order, each with its block and its sentence.

    Args:
        events: the oldest first.
        names: the number of each name; names that come up are added in their order.
        start: bytes allocated and bytes reserved before the first event, where they are known. Without them, what the
            events speak of counts.
    """

    def number_of(name: str) -> int:
        return names.setdefault(name, len(names))

    result = Told(before=_blocks_before(events, number_of), reserved=_reserved_before(events))
    made = {block.pop("address"): (block["block"], block["name"], "") for block in result.before}
    count = len(made)
    now = result.peak = sum(block["bytes"] for block in result.before)
    reserved = result.reserved
    if start is not None:
        now = result.peak = start[0]
        reserved = result.reserved = start[1]
    totals = []
    for event in events:
        entry: dict[str, Any] = {"do": event.kind if event.kind != "write" else "note"}
        maker = ""
        if event.kind == "alloc":
            count += 1
            made[event.address] = count, number_of(name_of(event)), event.op
            entry["block"], entry["name"], _ = made[event.address]
            now += event.size
        elif event.kind == "free":
            entry["block"], entry["name"], maker = made.pop(event.address)
            now -= event.size
        elif event.kind in ("segment_alloc", "segment_free"):
            reserved += event.size if event.kind == "segment_alloc" else -event.size
        if event.kind != "write":
            entry["bytes"] = event.size
        entry["say"] = sentence(event, now, reserved, maker=maker, most_so_far=now > result.peak)
        result.peak = max(result.peak, now)
        result.events.append(entry)
        totals.append(now)
    result.peak_at = totals.index(result.peak) if result.peak in totals else 0
    result.end = now
    return result


def titled(title: str, events: Iterable[MemoryEvent]) -> str:
    """The title of a figure; it says so when the bytes are those of a simulated GPU."""
    is_simulated = any(event.device.endswith(":sim") for event in events)
    return f"{title} (simulated GPU)" if is_simulated and "simulated" not in title else title


def _blocks_before(events: list[MemoryEvent], number_of: Callable[[str], int]) -> list[dict[str, Any]]:
    """The blocks that are freed in these events without having been made in them."""
    made: set[int] = set()
    before: list[dict[str, Any]] = []
    for event in events:
        if event.kind == "alloc":
            made.add(event.address)
        elif event.kind == "free" and event.address not in made:
            name = number_of(name_of(event))
            before.append({"block": len(before) + 1, "name": name, "bytes": event.size, "address": event.address})
        elif event.kind == "free":
            made.remove(event.address)
    return before


def _reserved_before(events: list[MemoryEvent]) -> int:
    """Bytes of the segments that are given back without having been reserved in these events."""
    reserved: set[int] = set()
    before = 0
    for event in events:
        if event.kind == "segment_alloc":
            reserved.add(event.address)
        elif event.kind == "segment_free":
            if event.address not in reserved:
                before += event.size
            reserved.discard(event.address)
    return before


def sentence(event: MemoryEvent, allocated: int, reserved: int, maker: str = "", most_so_far: bool = False) -> str:
    """What happened, in one sentence of at most 35 words: who, how many bytes, and how many there are now.

    ``maker`` is the operation that made what is freed.
    """
    size = bytes_shown(event.size)
    who = f"{code(event.op)}{f' (line {event.line})' if event.line else ''}" if event.op else ""
    where = who or (f"Line {event.line}" if event.line else "The program")
    name = code(event.name) if event.name else ""
    if event.kind == "alloc":
        rounded = f" ({event.requested:,} asked for)" if event.requested != event.size else ""
        most = ", the most so far" if most_so_far else ""
        whom = f" for {name}" if name else ""
        return f"{where} takes {size}{rounded}{whom}: {bytes_shown(allocated)} are allocated{most}."
    if event.kind == "free":
        what = name or (f"What {code(maker)} made" if maker else "A block without a name")
        by = f" at line {event.line}" if event.line else ""
        return f"{what} is freed{by}: {size} fewer, {bytes_shown(allocated)} are allocated."
    if event.kind == "segment_alloc":
        return f"The allocator reserves a segment of {size} on the device: {bytes_shown(reserved)} are reserved."
    if event.kind == "segment_free":
        return f"The allocator gives a segment of {size} back to the device: {bytes_shown(reserved)} stay reserved."
    if event.kind == "oom":
        whom = f" for {name}" if name else ""
        asked = bytes_shown(event.requested)
        return (
            f"{where} asks for {asked}{whom}: out of memory. A segment of {size} would be needed, and the device has "
            f"{bytes_shown(event.device_free)} left."
        )
    whom = f" of {name}" if name else ""
    return f"{where} writes {size}{whom} in place: no byte is taken, {bytes_shown(allocated)} stay allocated."
