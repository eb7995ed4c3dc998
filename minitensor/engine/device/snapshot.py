"""Snapshots of an allocator: its blocks and its last events, as JSON or as a file for PyTorch's memory viewer.

:mod:`minitensor.memory` uses this module to take snapshots of a whole program.

The viewer's file is a pickle that https://pytorch.org/memory_viz and ``python -m torch.cuda._memory_viz`` read, with
the names of tensors and operations instead of stack frames. ``facts/allocators.md`` has the rules of the format.

Take a snapshot in either format right after the last event, so that the state of the allocator fits the events. Early
events may be missing, because a log is bounded.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Mapping
from typing import Any

from minitensor.engine import checks
from minitensor.engine.device.allocator import CachingAllocator, SegmentView
from minitensor.engine.device.memory_log import MemoryEvent

#: The version of the format, incremented when the meaning of a key of :func:`snapshot` changes.
SNAPSHOT_VERSION = 1

_NONE: Mapping[int, MemoryEvent] = {}
_COUNTERS = (
    *("allocated", "max_allocated", "reserved", "max_reserved", "requested", "max_requested"),
    *("allocations", "live_blocks", "stuck", "fragmentation"),
)


def snapshot(
    allocator: CachingAllocator, events: Iterable[MemoryEvent] = (), live: Mapping[int, MemoryEvent] = _NONE
) -> dict[str, Any]:
    """Return counters, segments with their blocks, and events as dicts, lists, strings and numbers, ready for JSON.

    Args:
        allocator: the allocator right after the last event.
        events: the oldest first.
        live: maps the address of each block in use to the event of its allocation, which ``events`` may lack.

    Raises:
        ValueError: if ``events`` do not end in the current state of ``allocator``.
    """
    events = list(events)
    return {
        "format": "minitensor allocator snapshot",
        "version": SNAPSHOT_VERSION,
        **allocator_state(allocator, events, live),
        "events": [plain_event(event) for event in events],
    }


def allocator_state(
    allocator: CachingAllocator, events: list[MemoryEvent], live: Mapping[int, MemoryEvent]
) -> dict[str, Any]:
    """Return the part of :func:`snapshot` without the events: rules, counters, segments with their blocks."""
    segments = allocator.segments()
    makers = _makers(segments, events, live)
    return {
        "profile": allocator.profile.name,
        "capacity": allocator.capacity,
        "counters": {name: getattr(allocator, name) for name in _COUNTERS},
        "segments": [
            {
                "address": segment.address,
                "size": segment.size,
                "pool": segment.pool,
                "blocks": [{**block._asdict(), **_maker_of(makers.get(block.address))} for block in segment.blocks],
            }
            for segment in segments
        ],
    }


def dump_snapshot(
    path: str | os.PathLike[str],
    allocator: CachingAllocator,
    events: Iterable[MemoryEvent] = (),
    live: Mapping[int, MemoryEvent] = _NONE,
) -> None:
    """Write the file for PyTorch's memory viewer. Other arguments, and errors, are those of :func:`snapshot`.

    Events of kinds that the viewer does not support are omitted. If an error is raised, nothing is written.
    """
    write_for_viewer(path, torch_snapshot(allocator, events, live))


def write_for_viewer(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write the result of :func:`torch_snapshot`. Nothing is written if pickling fails."""
    # Protocol 4 is the newest one that the viewer reads, and not every Python uses it by default.
    data = pickle.dumps(content, protocol=4)
    with open(checks.path("dump_snapshot", "path", path), "wb") as file:
        file.write(data)


def torch_snapshot(
    allocator: CachingAllocator, events: Iterable[MemoryEvent] = (), live: Mapping[int, MemoryEvent] = _NONE
) -> dict[str, Any]:
    """Return a dict in the form of ``torch.cuda.memory._snapshot()``, of plain types, for :func:`dump_snapshot`."""
    events = list(events)
    segments = allocator.segments()
    makers = _makers(segments, events, live)
    trace = [entry for event in events for entry in _trace_entries(event)]
    last = int(events[-1].time_us) if events else 0
    entry = {"action": "snapshot", "addr": 0, "size": allocator.reserved, "time_us": last, "stream": 0, "frames": []}
    trace.append(entry)
    if any(event.category for event in events):
        # The viewer fails without the category "unknown".
        for entry in trace:
            entry.setdefault("category", "unknown")
    return {"segments": [_torch_segment(segment, makers) for segment in segments], "device_traces": [trace]}


# ---------- the event that allocated each block ----------


def _makers(
    segments: list[SegmentView], events: list[MemoryEvent], live: Mapping[int, MemoryEvent]
) -> dict[int, MemoryEvent]:
    """Return a dict from the address of each block in use to the event that allocated the block, if it is known."""
    allocations: dict[int, MemoryEvent] = {}
    freed: set[int] = set()
    reserved: set[int] = set()
    for event in events:
        if event.kind == "alloc":
            allocations[event.address] = event
            freed.discard(event.address)
        elif event.kind == "free":
            allocations.pop(event.address, None)
            freed.add(event.address)
        elif event.kind == "segment_alloc":
            reserved.add(event.address)
        elif event.kind == "segment_free":
            reserved.discard(event.address)
    in_use = {block.address for segment in segments for block in segment.blocks if block.in_use}
    # If a segment's reservation is among the events, the allocations of all its blocks are, too.
    complete = {block.address for segment in segments if segment.address in reserved for block in segment.blocks}
    wrong = (allocations.keys() - in_use) | (freed & in_use) | ((complete & in_use) - allocations.keys())
    wrong |= reserved - {segment.address for segment in segments}
    if wrong:
        raise ValueError(
            f"The events do not end in the current state of the allocator: they differ at address {min(wrong):#x}. "
            f"Log every allocation or none, and take the snapshot right after the last event."
        )
    return {address: event for address, event in {**live, **allocations}.items() if address in in_use}


def _maker_of(event: MemoryEvent | None) -> dict[str, Any]:
    if event is None:
        return {}
    plain = plain_event(event)
    return {key: plain[key] for key in ("name", "op", "file", "line", "time_us", "category", "storage") if key in plain}


def plain_event(event: MemoryEvent) -> dict[str, Any]:
    """Return the non-empty fields of ``event`` as plain ints and strings."""
    return {
        key: str(value) if isinstance(value, str) else int(value)
        for key, value in event._asdict().items()
        if value or key in ("kind", "address", "size", "requested")
    }


# ---------- PyTorch's format ----------

#: The viewer hides frames whose name or file contains one of these words.
_HIDDEN = (
    *("unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "_start", "__libc_start_main"),
    *("PyEval_", "PyObject_", "PyFunction_", "core/boxing", "/Register", "/Redispatch", "pythonrun.c"),
    *("Modules/main.c", "Objects/call.c", "Objects/methodobject.c", "pycore_ceval.h", "ceval.c", "cpython/abstract.h"),
)


def _trace_entries(event: MemoryEvent) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "addr": int(event.address),
        # PyTorch logs the requested bytes of a block.
        "size": int(event.requested),
        "stream": 0,
        "time_us": int(event.time_us),
        "frames": _frames(event),
    }
    if event.category:
        entry["category"] = str(event.category)
    if event.kind == "free":  # a free is complete at once, because there are no streams to wait for
        return [{"action": "free_requested", **entry}, {"action": "free_completed", **entry}]
    if event.kind == "oom":
        del entry["addr"]
        return [{"action": "oom", "device_free": int(event.device_free), **entry}]
    if event.kind in ("alloc", "segment_alloc", "segment_free"):
        return [{"action": str(event.kind), **entry}]
    return []


def _frames(event: MemoryEvent | None) -> list[dict[str, Any]]:
    """Return a list of one frame: the line of the program, with the text ``name = op`` as the function's name."""
    if event is None or not (event.name or event.op or event.file):
        return []
    what = " = ".join(str(word) for word in (event.name, event.op) if word)
    return [{"filename": _show(event.file or "<unknown>"), "line": int(event.line), "name": _show(what or "?")}]


def _show(text: str) -> str:
    """Insert an invisible character into words such as ``_start``, because the viewer hides names with such a word."""
    for word in _HIDDEN:
        text = text.replace(word, f"{word[0]}\u200b{word[1:]}")  # a zero-width space
    return str(text)


def _torch_segment(segment: SegmentView, makers: Mapping[int, MemoryEvent]) -> dict[str, Any]:
    in_use = [block for block in segment.blocks if block.in_use]
    active = sum(block.size for block in in_use)
    return {
        "device": 0,
        "address": segment.address,
        "total_size": segment.size,
        "allocated_size": active,
        "active_size": active,
        "requested_size": sum(block.requested for block in in_use),
        "stream": 0,
        "segment_type": segment.pool,
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [
            {
                "address": block.address,
                "size": block.size,
                "requested_size": block.requested,
                "state": "active_allocated" if block.in_use else "inactive",
                "frames": _frames(makers.get(block.address)),
            }
            for block in segment.blocks
        ],
    }
