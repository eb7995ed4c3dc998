"""Test that the allocator's map shows the allocator's state after each event, and refuses inconsistent events."""

from __future__ import annotations

import random
import re
from contextlib import suppress

import pytest

import minitensor as mt
from memory_stage.figures import allocator_map
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web import element
from minitensor import memory
from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryLog
from tests.support.web import drawing


def random_log(seed, profile, limit=100_000, steps=60):
    """Return a log of random requests, and the number of events and the allocator's segments after each request."""
    rng = random.Random(seed)
    log = MemoryLog(CachingAllocator(900_000, profile), limit=limit, clock=lambda: 0)
    blocks, shown = [], []
    for _ in range(steps):
        if blocks and rng.random() < 0.45:
            log.free(blocks.pop(rng.randrange(len(blocks))))
        elif rng.random() < 0.05:
            log.empty_cache()
        else:
            with suppress(OutOfMemoryError):
                blocks.append(log.allocate(rng.choice([100, 3000, 20_000, 150_000]), name=rng.choice("abcd")))
        shown.append((log.recorded, log.allocator.segments()))
    return log, shown


def rows_of(segments, numbers):
    rows = []
    for segment in segments:
        number = numbers[segment.address]
        for block in segment.blocks:
            asked = bytes_shown(block.requested) if block.in_use else "–"
            offset = f"{block.address - segment.address:,}"
            rows.append([number, offset, bytes_shown(block.size), asked])
    return rows


@pytest.mark.parametrize("profile", ["torch/32", "paddle"])
@pytest.mark.parametrize("limit", [100_000, 40])
def test_the_map_agrees_with_the_allocator_at_every_event(profile, limit):
    log, shown = random_log(3, profile, limit)
    data = allocator_map.show(log).data
    assert len(data["events"]) == len(log.events)
    numbers = {}
    compared = 0
    for recorded, segments in shown:
        step = recorded - log.dropped - 1
        if step < 0:
            continue
        rows = [row[:4] for row in element.ask_script("tables", data, {"step": step})[0]["rows"]]
        for segment, number in zip(segments, dict.fromkeys(row[0] for row in rows), strict=True):
            assert numbers.setdefault(segment.address, number) == number
        assert rows == rows_of(segments, numbers), (step, data["events"][step])
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("profile", ["torch/32", "paddle"])
def test_the_script_makes_the_sentences_of_all_events_from_fewer_templates(profile):
    log, _ = random_log(4, profile, limit=60, steps=200)
    figure = allocator_map.show(log)
    made = [element.ask_script("sentence", figure.data, {"step": step}) for step in range(len(log.events))]
    assert made == list(figure.steps) and len(made) == 60
    assert len(figure.data["sentences"]) <= len(made) // 2


def test_sentences_count_blocks_that_existed_before_the_first_event():
    log, _ = random_log(3, "torch/32", limit=10)
    figure = allocator_map.show(log)
    assert f"{bytes_shown(log.allocator.allocated)} are allocated" in figure.steps[-1]


def test_a_recording_of_the_simulated_gpu_can_be_shown_as_a_map():
    before = mt.device.get_device()
    mt.device.set_device("gpu:sim", capacity="64 MiB")
    try:
        x = mt.ones([512, 512])
        with memory.record() as recording:
            y = x + 1.0
            y.add_(1.0)
            figure = allocator_map.show(recording)
            del y
    finally:
        mt.device.set_device(before)
    done = [entry["do"] for entry in figure.data["events"]]
    assert done[-1] == "write" and "alloc" in done
    assert figure.data["before"][0]["blocks"][0]["bytes"] == 512 * 512 * 4
    assert figure.data["profile"] == "torch" and figure.data["capacity"] == 64 << 20


def test_events_that_do_not_result_in_the_state_of_the_allocator_are_refused():
    log, _ = random_log(1, "torch/32", steps=10)
    with pytest.raises(ValueError, match="the events do not fit the allocator"):
        allocator_map.show(list(log.events)[:-1], allocator=log.allocator)
    with pytest.raises(ValueError, match="do not fit the allocator"):
        allocator_map.show([event for event in log.events if event.kind != "segment_alloc"])


def test_too_many_events_are_refused():
    log = MemoryLog(CachingAllocator(1 << 20, "torch/32"))
    for _ in range(800):
        log.free(log.allocate(16))
    with pytest.raises(ValueError, match="at most 1,500 events, and there are 1,601"):
        allocator_map.show(log)


def test_the_map_opens_at_the_given_event():
    log, _ = random_log(2, "torch/32", steps=10)
    assert allocator_map.show(log).data["opens"] == len(log.events) - 1
    assert allocator_map.show(log, opens=3).sentence == allocator_map.show(log).steps[2]
    with pytest.raises(IndexError):
        allocator_map.show(log, opens=999)


def test_the_table_has_the_segments_after_the_event_at_which_the_map_opens():
    log, _ = random_log(2, "torch/32", steps=10)
    for opens in range(1, len(log.events) + 1):
        figure = allocator_map.show(log, opens=opens)
        (table,) = figure.tables
        assert table.caption == f"Segments after event {opens}"
        drawn = element.ask_script("tables", figure.data)[0]["rows"]
        assert [row[0] for row in table.rows] == list(dict.fromkeys(row[0] for row in drawn))


def test_a_narrow_block_shows_no_name_rather_than_a_few_characters_of_it():
    log = MemoryLog(CachingAllocator(64 << 20, "torch"))
    for mebibytes in (1.25, 1.5, 2, 2.5, 3, 8):
        log.allocate(int(mebibytes * 2**20), op="zeros")
    for width in (700, 900, 1100):
        svg = element.picture(allocator_map.show(log, title="Kept results").data, width)
        names = [mark.said for mark in drawing.marks(svg) if mark.kind == "text" and mark.said.startswith("(")]
        assert "(zeros)" in names and all(name == "(zeros)" or len(name) > 4 for name in names), (width, names)


def test_two_maps_with_the_same_title_have_patterns_with_different_ids():
    ids = []
    for seed in (2, 3):
        log, _ = random_log(seed, "torch/32", steps=10)
        svg = element.picture(allocator_map.show(log, title="A map", opens=2).data)
        ids.append(set(re.findall(r'<pattern id="([^"]+)"', svg)))
        assert ids[-1] == set(re.findall(r"url\(#([^)]+)\)", svg))  # every pattern is used
    assert not ids[0] & ids[1]


def test_the_largest_request_of_the_small_pool_reserves_a_segment_of_that_pool():
    log = MemoryLog(CachingAllocator(1 << 30, "torch"))
    log.allocate(log.allocator.profile.small_up_to)
    assert log.allocator.segments()[0].pool == "small"
    assert allocator_map.show(log).data["events"][0]["pool"] == "small pool"
