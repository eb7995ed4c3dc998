"""Test that the check of files for PyTorch's memory viewer notices each broken rule."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_log import MemoryLog
from minitensor.engine.device.snapshot import torch_snapshot
from tests.support.engine.device.logged import training_step
from tests.support.engine.device.viewer_rules import expect_openable

GIB = 1 << 30


def mutation(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    MUTATIONS.append(change)
    return change


MUTATIONS: list[Callable[[dict[str, Any]], Any]] = []


@mutation
def a_numpy_number(data):
    data["segments"][0]["total_size"] = np.int64(data["segments"][0]["total_size"])


@mutation
def a_segment_with_bytes_in_no_block(data):
    data["segments"][0]["blocks"][-1]["size"] -= 512


@mutation
def a_block_too_many(data):
    data["segments"][0]["blocks"].append(dict(data["segments"][0]["blocks"][-1]))


@mutation
def a_state_that_does_not_exist(data):
    data["segments"][0]["blocks"][0]["state"] = "active"


@mutation
def no_allocated_size(data):
    del data["segments"][0]["allocated_size"]


@mutation
def categories_without_unknown(data):
    for event in data["device_traces"][0]:
        event["category"] = "parameter"


@mutation
def a_free_that_is_not_completed(data):
    data["device_traces"][0] = [event for event in data["device_traces"][0] if event["action"] != "free_completed"]


@mutation
def a_free_that_was_not_requested(data):
    data["device_traces"][0] = [event for event in data["device_traces"][0] if event["action"] != "free_requested"]


@mutation
def an_allocation_without_a_block(data):
    data["device_traces"][0].append(dict(next(e for e in data["device_traces"][0] if e["action"] == "alloc"), addr=8))


@mutation
def a_segment_after_its_blocks(data):
    trace = data["device_traces"][0]
    trace.append(trace.pop(0))


@mutation
def an_event_without_an_address(data):
    del data["device_traces"][0][0]["addr"]


@mutation
def a_frame_without_a_line(data):
    del next(event for event in data["device_traces"][0] if event["frames"])["frames"][0]["line"]


@mutation
def an_address_too_large_for_javascript(data):
    data["device_traces"][0][0]["addr"] = 2**60


@mutation
def a_set(data):
    data["extra"] = {1, 2}


@pytest.mark.parametrize("change", MUTATIONS, ids=lambda change: change.__name__)
def test_a_file_that_breaks_a_rule_is_noticed(change):
    log = MemoryLog(CachingAllocator(GIB, "torch"))
    training_step(log)
    data = pickle.loads(pickle.dumps(torch_snapshot(log.allocator, log.events)))
    expect_openable(pickle.dumps(data, protocol=4))
    change(data)
    with pytest.raises((AssertionError, LookupError)):
        expect_openable(pickle.dumps(data, protocol=4))


@pytest.mark.parametrize("protocol", [0, 1, 5])
def test_another_version_of_the_pickle_protocol_is_noticed(protocol):
    data = torch_snapshot(CachingAllocator(GIB), ())
    with pytest.raises(AssertionError):
        expect_openable(pickle.dumps(data, protocol=protocol))
