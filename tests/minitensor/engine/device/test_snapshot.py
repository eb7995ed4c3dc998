"""Test the log of memory events, and its snapshots: as JSON, and as a file that PyTorch's memory viewer opens."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryEvent, MemoryLog
from minitensor.engine.device.snapshot import dump_snapshot, snapshot, torch_snapshot
from tests.support.engine.device.logged import random_log, training_step
from tests.support.engine.device.viewer_rules import expect_openable

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SEED = os.environ.get("MINITENSOR_SEED", "in place")


def written(tmp_path: Path, log: MemoryLog) -> bytes:
    path = tmp_path / "memory.pickle"
    dump_snapshot(path, log.allocator, log.events, log.live)
    return path.read_bytes()


# ---------- the log ----------


def test_the_log_keeps_events_in_order():
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    block = log.allocate(1000, "x", "ones", "cell.py", 3, "activation", time_us=5)
    log.free(block, "del", "cell.py", 4, time_us=9)
    log.empty_cache(time_us=12)
    at = block.address
    assert list(log.events) == [
        MemoryEvent("segment_alloc", at, 2 * MIB, 2 * MIB, time_us=5),
        MemoryEvent("alloc", at, 1024, 1000, "x", "ones", "cell.py", 3, 5, "activation"),
        MemoryEvent("free", at, 1024, 1000, "x", "del", "cell.py", 4, 9, "activation"),
        MemoryEvent("segment_free", at, 2 * MIB, 2 * MIB, time_us=12),
    ]
    assert log.live == {} and (log.recorded, log.dropped) == (4, 0)


def test_the_log_records_segments_released_before_an_out_of_memory_error():
    log = MemoryLog(CachingAllocator(64 * MIB, "torch"), clock=lambda: 7)
    log.free(log.allocate(30 * MIB, "x"))
    log.allocate(30 * MIB, "y")
    log.free(log.allocate(32 * MIB, "z"))
    log.events.clear()
    with pytest.raises(OutOfMemoryError):
        log.allocate(36 * MIB - 1, "big", "matmul", "train.py", 9)
    assert [event.kind for event in log.events] == ["segment_free", "oom"]
    assert log.events[-1] == MemoryEvent(
        "oom", 0, 36 * MIB, 36 * MIB - 1, "big", "matmul", "train.py", 9, 7, device_free=34 * MIB
    )
    assert [made.name for made in log.live.values()] == ["y"]


def test_the_log_is_bounded_and_counts_the_dropped_events():
    log = MemoryLog(CachingAllocator(GIB, "torch"), limit=10)
    for _ in range(50):
        log.free(log.allocate(1000))
    assert (len(log.events), log.recorded, log.dropped) == (10, 101, 91)
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        MemoryLog(CachingAllocator(GIB), limit=0)


def test_empty_and_failed_requests_are_not_logged():
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    block = log.allocate(0, "empty")
    log.free(block)
    with pytest.raises(TypeError):
        log.allocate(1.5)
    with pytest.raises(ValueError):
        log.free(CachingAllocator(GIB).allocate(3))
    assert (log.recorded, log.live) == (0, {})


def test_an_allocator_has_one_log_at_a_time():
    allocator = CachingAllocator(GIB, "torch")
    first = MemoryLog(allocator)
    with pytest.raises(ValueError, match="close that log first"):
        MemoryLog(allocator)
    first.close()
    MemoryLog(allocator).allocate(5)
    assert first.recorded == 0


def test_a_closed_log_records_no_segments():
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    log.close()
    log.allocator.allocate(5)
    assert log.recorded == 0


# ---------- our own snapshot ----------


def test_our_snapshot_is_json_and_names_the_owner_of_each_block():
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    held = training_step(log)
    reported = snapshot(log.allocator, log.events, log.live)
    assert json.loads(json.dumps(reported, allow_nan=False)) == reported
    assert (reported["profile"], reported["capacity"]) == ("torch", GIB)
    assert reported["counters"]["allocated"] == log.allocator.allocated
    used = [block for segment in reported["segments"] for block in segment["blocks"] if block["in_use"]]
    assert sum(block["size"] for block in used) == reported["counters"]["allocated"]
    assert {block["name"]: (block["address"], block["requested"]) for block in used} == {
        name: (block.address, block.requested) for name, block in held.items()
    }
    w = next(block for block in used if block["name"] == "w")
    assert (w["op"], w["file"], w["line"], w["category"]) == ("randn", "train.py", 3, "parameter")
    assert [event["kind"] for event in reported["events"]] == [event.kind for event in log.events]


def test_our_snapshot_of_events_with_numpy_numbers_and_strings_can_be_written_as_json():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(np.int64(1000))
    event = MemoryEvent(
        "alloc", np.int64(block.address), np.int32(1024), np.int64(1000), np.str_("x"), "ones", "a.py", np.int16(3)
    )
    json.dumps(snapshot(allocator, [event]))


def test_the_name_of_a_block_is_kept_after_its_event_was_dropped():
    log = MemoryLog(CachingAllocator(GIB, "torch"), limit=3)
    kept = log.allocate(700, "kept", "ones", "a.py", 1)
    for _ in range(5):
        log.free(log.allocate(5))
    assert all(event.name != "kept" for event in log.events)
    reported = snapshot(log.allocator, log.events, log.live)
    names = {block["address"]: block.get("name") for segment in reported["segments"] for block in segment["blocks"]}
    assert names[kept.address] == "kept"


def test_events_without_the_release_of_a_segment_are_refused():
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    log.free(log.allocate(5))
    events = list(log.events)
    log.allocator.empty_cache()
    with pytest.raises(ValueError, match=rf"do not end in the current state .* {events[0].address:#x}"):
        snapshot(log.allocator, events)


def test_events_that_do_not_end_in_the_present_state_are_refused(tmp_path):
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    block = log.allocate(1000, "x")
    events = list(log.events)
    log.free(block)
    path = tmp_path / "memory.pickle"
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=rf"do not end in the current state .* {block.address:#x}"):
        dump_snapshot(path, log.allocator, events)
    assert path.read_bytes() == b"something else"
    unlogged = log.allocator.allocate(1000)
    with pytest.raises(ValueError, match=f"{unlogged.address:#x}"):
        snapshot(log.allocator, log.events)  # the log says that this address is free
    other = log.allocator.allocate(5)
    with pytest.raises(ValueError, match=f"{other.address:#x}"):
        snapshot(log.allocator, [event for event in log.events if event.kind == "segment_alloc"] + [events[-1]])


# ---------- the file for PyTorch's viewer ----------


def test_the_viewer_can_open_the_snapshot_of_a_training_step(tmp_path):
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    held = training_step(log)
    data = expect_openable(written(tmp_path, log))
    (trace,) = data["device_traces"]
    assert [event["action"] for event in trace].count("alloc") == 8
    assert [event["action"] for event in trace].count("free_completed") == 3
    blocks = [block for segment in data["segments"] for block in segment["blocks"]]
    used = [block for block in blocks if block["state"] == "active_allocated"]
    assert sum(block["size"] for block in used) == log.allocator.allocated
    assert {block["frames"][0]["name"] for block in used} == {
        "w = randn",
        "b = zeros",
        "x = randn",
        "w.grad = backward",
        "b.grad = backward",
    }
    assert len(used) == len(held)
    h = next(event for event in trace if event["frames"] and event["frames"][0]["name"] == "h = matmul")
    assert h["frames"] == [{"filename": "train.py", "line": 7, "name": "h = matmul"}]
    assert (h["size"], h["category"]) == (11 * MIB + MIB // 2, "activation")


@pytest.mark.parametrize("profile", ["torch", "paddle", "torch/32"])
@pytest.mark.parametrize("limit", [1, 7, 60, 100_000])
def test_the_viewer_can_open_a_snapshot_from_which_most_events_were_dropped(tmp_path, profile, limit):
    for number in range(3):
        log = random_log(f"{SEED} {profile} {number}", limit, profile=profile)
        content = written(tmp_path, log)
        assert expect_openable(content) == torch_snapshot(log.allocator, log.events, log.live)


def test_an_out_of_memory_event_is_in_the_file(tmp_path):
    log = MemoryLog(CachingAllocator(64 * MIB, "torch"))
    log.allocate(40 * MIB, "x")
    with pytest.raises(OutOfMemoryError):
        log.allocate(30 * MIB, "y", "matmul", "train.py", 4)
    trace = expect_openable(written(tmp_path, log))["device_traces"][0]
    oom = next(event for event in trace if event["action"] == "oom")
    assert (oom["size"], oom["device_free"], oom["frames"][0]["name"]) == (30 * MIB, 24 * MIB, "y = matmul")


def test_the_viewer_can_open_the_snapshot_of_an_empty_device(tmp_path):
    data = expect_openable(written(tmp_path, MemoryLog(CachingAllocator(GIB))))
    assert data["segments"] == [] and [event["action"] for event in data["device_traces"][0]] == ["snapshot"]


def test_events_have_the_category_unknown_only_if_another_event_has_a_category(tmp_path):
    log = MemoryLog(CachingAllocator(GIB))
    log.close()  # a closed log records no segments, so the allocation will be its only event
    block = log.allocate(5, "x")
    assert not any("category" in event for event in expect_openable(written(tmp_path, log))["device_traces"][0])
    log.free(block)
    log.events.clear()
    log.allocate(5, "x", category="parameter")
    expect_openable(written(tmp_path, log))


def test_events_that_the_viewer_cannot_show_are_left_out(tmp_path):
    log = MemoryLog(CachingAllocator(GIB))
    block = log.allocate(5, "x")
    log.events.append(MemoryEvent("write", block.address, 512, 5, "x", "add_", "a.py", 3))
    trace = expect_openable(written(tmp_path, log))["device_traces"][0]
    assert [event["action"] for event in trace] == ["segment_alloc", "alloc", "snapshot"]
    assert [event["kind"] for event in snapshot(log.allocator, log.events)["events"]][-1] == "write"


def test_the_file_for_the_viewer_has_no_numpy_numbers_or_strings(tmp_path):
    allocator = CachingAllocator(GIB)
    block = allocator.allocate(5)
    event = MemoryEvent(
        np.str_("alloc"),
        np.int64(block.address),
        np.int64(512),
        np.int64(5),
        np.str_("x"),
        np.str_("add"),
        "",
        np.int8(3),
    )
    path = tmp_path / "memory.pickle"
    dump_snapshot(path, allocator, [event])
    expect_openable(path.read_bytes())


@pytest.mark.parametrize(
    "name, file", [("x_start", "a.py"), ("x", "/home/me/Registered/a.py"), ("PyEval_x", "ceval.c")]
)
def test_names_that_the_viewer_would_hide_are_changed_invisibly(name, file):
    log = MemoryLog(CachingAllocator(GIB))
    log.allocate(5, name, "add", file, 3)
    (frame,) = torch_snapshot(log.allocator, log.events)["device_traces"][0][1]["frames"]
    for word in ("_start", "PyEval_"):
        assert word not in frame["name"]
    for word in ("/Register", "ceval.c"):
        assert word not in frame["filename"]
    assert frame["name"].replace("\u200b", "") == f"{name} = add", "the name differs by more than invisible characters"
    assert frame["filename"].replace("\u200b", "") == file
