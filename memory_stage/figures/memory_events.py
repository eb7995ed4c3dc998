"""Prepare memory events for a figure: add to each event the number and name of its block, and a sentence.

Events are given as a list of :class:`~minitensor.engine.device.memory_log.MemoryEvent`, as a ``MemoryLog``, or as a
recording (``with memory.record() as recording``). The first events may be missing, because a log has a limited length.
Therefore, if the events free a block and do not allocate it, the block is shown as existing before the first event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from memory_stage.messages import Text, message, said
from memory_stage.sentences.words import code, line_text
from memory_stage.trace.amounts import bytes_shown
from minitensor.engine.device.memory_log import MemoryEvent

#: The kinds of events that a figure shows. Other kinds are about versions and saved tensors and allocate no bytes.
SHOWN = ("alloc", "free", "oom", "segment_alloc", "segment_free", "write")


def events_of(source: Any, device: str | None = None) -> list[MemoryEvent]:
    """Return those events of a log, a recording or a list that a figure can show.

    Args:
        source: the log, the recording or the list.
        device: the device to show; needed only if the events are of several devices.

    Raises:
        TypeError: if ``source`` is not a log, a recording or a list of memory events.
        ValueError: if no event can be shown, or if the events are of several devices and ``device`` is None.
    """
    events = getattr(source, "events", source)
    if isinstance(events, (str, bytes)) or not isinstance(events, Iterable):
        raise TypeError(f"memory events must be a MemoryLog, a recording or a list of MemoryEvent, not {source!r:.80}")
    events = list(events)
    for event in events:
        if not isinstance(event, MemoryEvent):
            raise TypeError(f"a memory event must be a MemoryEvent, not {event!r:.80} of type {type(event).__name__}")
    events = [event for event in events if event.kind in SHOWN and device in (None, event.device)]
    devices = sorted({event.device for event in events})
    if len(devices) > 1:
        raise ValueError(f"there are events of {' and '.join(devices)}; choose one device with device=...")
    if not events:
        whose = f" of {device}" if device else ""
        raise ValueError(f"there is no memory event{whose} to show; record while tensors are made and freed")
    return events


def name_of(event: MemoryEvent) -> str:
    """Return the name of the event's tensor; without a name, the category or the operation in parentheses."""
    return event.name or in_parentheses(event.category or event.op)


def in_parentheses(kind: str) -> str:
    """Return ``kind``, the category or the operation of a block without a name, in parentheses."""
    kind = kind or said(message("unnamed"))
    return f"({kind})"


@dataclass
class EventRun:
    """A run of events, described for a figure.

    Attributes:
        before: one dict for each block that existed before the first event, with its number, name and bytes.
        events: one dict for each event; the key ``say`` has its sentence.
        reserved: the bytes that were reserved before the first event.
        peak: the largest number of allocated bytes.
        peak_at: the index of the event at which the peak was reached.
        end: the allocated bytes after the last event.
    """

    before: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    reserved: int = 0
    peak: int = 0
    peak_at: int = 0
    end: int = 0


def described(events: list[MemoryEvent], names: dict[str, int], start: tuple[int, int] | None = None) -> EventRun:
    """Return the events as a run, each with the number and name of its block and with a sentence.

    Args:
        events: the events, the oldest first.
        names: maps each name to its number; the names that the events add are numbered in the order of the events.
        start: the bytes allocated and reserved before the first event. If they are not known, only blocks that appear
            in the events are counted.
    """

    def number_of(name: str) -> int:
        return names.setdefault(name, len(names))

    result = EventRun(before=_blocks_before(events, number_of), reserved=_reserved_before(events))
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
    """Return the title of a figure, with a note if the bytes are those of a simulated GPU."""
    is_simulated = any(event.device.endswith(":sim") for event in events)
    is_said = "simulated" in title or said(message("simulated")) in title
    return said(message("{title} (simulated GPU)", title=title)) if is_simulated and not is_said else title


def _blocks_before(events: list[MemoryEvent], number_of: Callable[[str], int]) -> list[dict[str, Any]]:
    """Return the blocks that the events free without having allocated them."""
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
    """Return the bytes of the segments that the events release without having reserved them."""
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
    """Describe an event in at most 35 words: the operation, its bytes, and the bytes that are allocated after it.

    Args:
        maker: the operation that allocated the block, if the event frees one.
    """
    return said(_sentence(event, bytes_shown(allocated), bytes_shown(reserved), maker, most_so_far))


def _sentence(event: MemoryEvent, allocated: str, reserved: str, maker: str, most_so_far: bool) -> Text:
    size = bytes_shown(event.size)
    where = _caller(event)
    name = code(event.name) if event.name else ""
    if event.kind == "alloc":
        taken: Text = size
        if event.requested != event.size:
            taken = message("{size} ({asked} asked for)", size=size, asked=f"{event.requested:,}")
        now = message("{size} are allocated", size=allocated)
        if most_so_far:
            now = message("{size} are allocated, the most so far", size=allocated)
        if name:
            return message("{caller} takes {size} for {name}: {now}.", caller=where, size=taken, name=name, now=now)
        return message("{caller} takes {size}: {now}.", caller=where, size=taken, now=now)
    if event.kind == "free":
        block = name or (
            message("The result of {operation}", operation=code(maker)) if maker else message("A block without a name")
        )
        values: dict[str, Text | int] = {"block": block, "size": size, "total": allocated, "line": event.line or 0}
        if event.line:
            return message("{block} is freed at line {line}: {size} fewer, {total} are allocated.", **values)
        return message("{block} is freed: {size} fewer, {total} are allocated.", **values)
    if event.kind == "segment_alloc":
        return message(
            "The allocator reserves a segment of {size} on the device: {total} are reserved.", size=size, total=reserved
        )
    if event.kind == "segment_free":
        return message(
            "The allocator gives a segment of {size} back to the device: {total} stay reserved.",
            size=size,
            total=reserved,
        )
    if event.kind == "oom":
        asked: Text = bytes_shown(event.requested)
        if name:
            asked = message("{size} for {name}", size=asked, name=name)
        return message(
            "{caller} asks for {asked}: out of memory. A segment of {size} would be needed, and the device has {left} "
            "left.",
            caller=where,
            asked=asked,
            size=size,
            left=bytes_shown(event.device_free),
        )
    written: Text = message("{size} of {name}", size=size, name=name) if name else size
    return message(
        "{caller} writes {written} in place: no byte is taken, {total} stay allocated.",
        caller=where,
        written=written,
        total=allocated,
    )


def _caller(event: MemoryEvent) -> Text:
    """Return the name of an event's operation and its line, as the subject of a sentence."""
    if event.op and event.line:
        return message("{operation} (line {line})", operation=code(event.op), line=event.line)
    if event.op:
        return code(event.op)
    return line_text(event.line) if event.line else message("The program")
