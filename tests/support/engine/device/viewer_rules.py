"""Check that a file follows the rules of PyTorch's memory viewer, independently of the code that writes the file.

``facts/allocators.md`` lists the rules. The check tests the form of the data. Then, like the viewer, it goes from the
last state backwards through the events: after every event, each block must be inside a segment.
"""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

#: The opcodes that the viewer's unpickler can read.
OPCODES = {
    *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "BINGET", "LONG_BINGET", "BINPUT", "LONG_BINPUT"),
    *("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST", "DICT"),
    *("APPEND", "APPENDS", "SETITEM", "SETITEMS", "NONE", "NEWTRUE", "NEWFALSE"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
}
PLAIN = (dict, list, tuple, str, int, float, bool, type(None))
STATES = ("active_allocated", "active_pending_free", "inactive")
ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom", "snapshot")
LARGEST_EXACT = 2**53  # the largest exact integer of JavaScript


def expect_openable(content: bytes) -> dict[str, Any]:
    """Return the data in ``content``. If a rule is broken, raise an AssertionError that names it."""
    names = {opcode.name for opcode, _, _ in pickletools.genops(content)}
    assert names <= OPCODES, f"opcodes that the viewer does not read: {sorted(names - OPCODES)}"
    assert content[0] == 0x80 and 2 <= content[1] <= 4, "the protocol must be 2 to 4"
    data = pickle.loads(content)
    expect_plain(data)
    assert type(data["segments"]) is list and type(data["device_traces"]) is list
    for segment in data["segments"]:
        expect_segment(segment)
    for device, trace in enumerate(data["device_traces"]):
        expect_trace(trace)
        expect_steps_back(data, device)
    expect_categories(data)
    return data


def expect_plain(value: Any) -> None:
    assert type(value) in PLAIN, f"{value!r} is a {type(value).__name__}"
    if type(value) is int:
        assert abs(value) <= LARGEST_EXACT, f"{value} is too large for the viewer"
    elif type(value) is dict:
        assert all(type(key) is str for key in value)
        for item in value.values():
            expect_plain(item)
    elif type(value) in (list, tuple):
        for item in value:
            expect_plain(item)


def expect_segment(segment: dict[str, Any]) -> None:
    for key in ("device", "address", "total_size", "stream", "allocated_size", "active_size", "requested_size"):
        assert type(segment[key]) is int, key
    assert segment["segment_type"] in ("small", "large") and segment["is_expandable"] is False
    expect_frames(segment["frames"])
    address = segment["address"]
    active = requested = 0
    for block in segment["blocks"]:
        assert block["state"] in STATES
        assert block["address"] == address and block["size"] > 0, "the blocks must tile the segment"
        assert 0 <= block["requested_size"] <= block["size"]
        expect_frames(block["frames"])
        address += block["size"]
        if block["state"] != "inactive":
            active, requested = active + block["size"], requested + block["requested_size"]
    assert address == segment["address"] + segment["total_size"], "the blocks must tile the segment"
    assert segment["allocated_size"] == segment["active_size"] == active
    assert segment["requested_size"] == requested


def expect_trace(trace: list[dict[str, Any]]) -> None:
    for index, event in enumerate(trace):
        assert event["action"] in ACTIONS, event["action"]
        for key in ("size", "stream", "device_free" if event["action"] == "oom" else "addr"):
            assert type(event[key]) is int, key
        expect_frames(event["frames"])
        if event["action"] == "free_requested":
            after = trace[index + 1] if index + 1 < len(trace) else {}
            assert after.get("action") == "free_completed" and after["addr"] == event["addr"], "frees must be paired"
        if event["action"] == "free_completed":
            before = trace[index - 1] if index else {}
            assert before.get("action") == "free_requested" and before["addr"] == event["addr"], "frees must be paired"


def expect_frames(frames: list[dict[str, Any]]) -> None:
    for frame in frames:
        assert set(frame) == {"filename", "line", "name"}
        assert type(frame["line"]) is int and type(frame["filename"]) is type(frame["name"]) is str


def expect_categories(data: dict[str, Any]) -> None:
    """Assert that "unknown" is among the categories if there are any; the viewer fails without it."""
    found = {event["category"] for trace in data["device_traces"] for event in trace if "category" in event}
    assert not found or "unknown" in found, "'unknown' must be among the categories"


def expect_steps_back(data: dict[str, Any], device: int) -> None:
    segments = {
        segment["address"]: segment["total_size"] for segment in data["segments"] if segment["device"] == device
    }
    blocks = {
        block["address"]: block["size"]
        for segment in data["segments"]
        if segment["device"] == device
        for block in segment["blocks"]
        if block["state"] != "inactive"
    }
    expect_inside(blocks, segments)
    for event in reversed(data["device_traces"][device]):
        if event["action"] == "alloc":
            assert blocks.pop(event["addr"], None) is not None, "an allocated block must exist after this event"
        elif event["action"] == "free_completed":
            assert event["addr"] not in blocks, "a freed block must not exist after this event"
            blocks[event["addr"]] = event["size"]
        elif event["action"] == "segment_alloc":
            assert segments.pop(event["addr"], None) == event["size"], "a reserved segment must exist after this event"
        elif event["action"] == "segment_free":
            assert event["addr"] not in segments, "a released segment must not exist after this event"
            segments[event["addr"]] = event["size"]
        expect_inside(blocks, segments)


def expect_inside(blocks: dict[int, int], segments: dict[int, int]) -> None:
    ends = [(address, address + size) for address, size in segments.items()]
    for address, size in blocks.items():
        is_inside = any(begin <= address and address + size <= end for begin, end in ends)
        assert is_inside, "each block must be inside a segment"
    last = 0
    for address in sorted(blocks):
        assert address >= last, "blocks must not overlap"
        last = address + blocks[address]
