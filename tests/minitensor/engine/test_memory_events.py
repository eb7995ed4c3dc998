"""Test memory.record: events in order, with names, operations and lines."""

from __future__ import annotations

import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import memory
from minitensor.engine.events import StorageReleased, TensorCreated, TensorWritten, watch
from minitensor.memory.changes import NewNodes
from minitensor.memory.naming import names_in_reach
from tests.support.engine.memory import KIB, SHAPE, leaf
from tests.support.engine.watched import PROGRAMS, counters, report_of, small_step

pytestmark = pytest.mark.usefixtures("no_collector")  # collects garbage of earlier tests before each test

FILE = "test_memory_events.py"


def summary(recording: memory.Recording, *kinds: str) -> list[tuple[str, str, str, int]]:
    """Return kind, name, operation and bytes of each event of the given kinds, or of all events if no kind is given."""
    return [(e.kind, e.name, e.op, e.size) for e in recording.events if not kinds or e.kind in kinds]


# ---------- single events ----------


@pytest.mark.cpu_only
def test_the_events_of_a_few_lines_equal_an_expected_list():
    w = leaf()
    with memory.record() as recording:
        x = w * 2.0
        y = x * x
        x.add_(1.0)
        y.sin_()
        x[0] = 5.0
        del y
        x.cast_("float64")
    assert summary(recording) == [
        ("alloc", "x", "multiply", KIB),
        ("alloc", "y", "multiply", KIB),
        ("save", "x", "multiply", KIB),
        ("save", "x", "multiply", KIB),
        ("write", "x", "add_", KIB),
        ("alloc", "", "sin_", KIB),
        ("write", "y", "sin_", KIB),
        ("save", "", "sin_", KIB),
        ("write", "x", "setitem", 64),
        ("free", "", "", KIB),
        ("free", "y", "", KIB),
        ("alloc", "x", "cast_", 2 * KIB),
        ("free", "x", "cast_", KIB),
        ("version", "x", "cast_", 2 * KIB),
    ]
    assert [event.version for event in recording.events if event.kind == "version"] == [3] == [x.inplace_version]
    assert (recording.recorded, recording.dropped) == (len(recording.events), 0)


@pytest.mark.cpu_only
def test_events_have_the_line_the_device_the_storage_and_its_version():
    x = mt.ones(SHAPE)
    with memory.record() as recording:
        x.add_(1.0)
        x.T.add_(1.0)
        y = x + 1.0
    write, other, made = recording.events
    first = test_events_have_the_line_the_device_the_storage_and_its_version.__code__.co_firstlineno
    assert (write.file, write.line - first, other.line - first, made.line - first) == (FILE, 4, 5, 6)
    assert (write.version, other.version, made.version) == (1, 2, 0)
    assert write.storage == other.storage != made.storage and write.device == made.device == "cpu"
    assert write.address == x.data_ptr() and made.address == y.data_ptr()
    assert write.time_us <= other.time_us <= made.time_us
    assert all(isinstance(event, memory.MemoryEvent) for event in recording.events)


def test_an_event_shows_the_name_of_the_tensor_rather_than_that_of_the_variable():
    with memory.record() as recording:
        x = mt.ones(SHAPE)
        x.name = "weights"
        y = x + 1.0
        del x
    names = [event.name for event in recording.events if event.kind == "alloc"]
    assert "weights" in names and "y" in names and "x" not in names, y.shape


@pytest.mark.cpu_only
def test_names_of_variables_are_read_from_the_source_text():
    class Layer:
        pass

    def made() -> mt.Tensor:
        inner = mt.ones([2])
        return inner + 1.0

    layer = Layer()
    with memory.record() as recording:
        a = made()
        layer.w = mt.ones([2])
        b, c = mt.zeros([2]), (d := mt.zeros([2]))
        e: mt.Tensor = a + b
        e += 1.0
        f = g = a * 2.0
        mt.ones([2]).add_(
            c,
        )  # fmt: skip
        kept = [mt.ones([2]), a]
    names = [event.name for event in recording.events if event.kind == "alloc"]
    assert names[:3] == ["inner", "a", "layer.w"] and names[5:] == ["e", "e", "g", "", ""], (d, f, g, kept)
    # Python before 3.11 has no columns, so two values on one line cannot be distinguished.
    assert names[3:5] in ((["b", "c"], ["b", "d"]) if sys.version_info >= (3, 11) else (["", ""],))


@pytest.mark.cpu_only
def test_a_storage_without_a_variable_has_no_name():
    with memory.record() as recording:
        assert [mt.ones([2])][0].name.startswith("generated_tensor_")
        y = mt.ones([2])
        assert y.name.startswith("generated_tensor_")
        y.add_(1.0)
        x = mt.ones([2])
    assert [event.name for event in recording.events if event.kind in ("alloc", "write")] == ["", "y", "y", "x"]
    assert getattr(x, "_extra", None) is None, "the search for a name should generate no name"


@pytest.mark.cpu_only
def test_intermediate_and_final_gradients_have_events():
    w = leaf()
    with memory.record() as recording:
        (w * 3.0).sum().backward()
    gradients = [event for event in recording.events if event.category == "gradient"]
    assert all(event.op == "backward" for event in gradients)
    arrived = [event for event in gradients if event.storage]
    assert [(event.kind, event.name, event.size) for event in arrived] == [("alloc", "w.grad", KIB)]
    moving = [event for event in gradients if not event.storage]
    assert len([event for event in moving if event.kind == "alloc"]) == len(moving) / 2


def test_an_out_of_memory_error_is_an_event():
    mt.set_device("gpu:sim", capacity="16 MiB")
    with pytest.raises(mt.device.OutOfMemoryError) as raised, memory.record() as recording:
        x = mt.zeros([3 << 20])
        x + 1.0
    ooms = [event for event in recording.events if event.kind == "oom"]
    assert [(event.op, event.size, event.requested, event.device) for event in ooms] == [
        ("add", raised.value.tried, 12 << 20, "gpu:sim")
    ]
    assert ooms[0].device_free == raised.value.free
    mt.set_device("gpu:sim", capacity="8 GiB")


# ---------- the sums of the events equal the counters ----------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_events_add_up_to_the_counters(program, device):
    count = counters(device)
    base = count.memory_allocated()
    count.reset_max_memory_allocated()
    with memory.record() as recording:
        program(lambda *tensors: None)
    level = most = 0
    for event in recording.events:
        if event.device == device and event.kind in ("alloc", "free"):
            level += event.size if event.kind == "alloc" else -event.size
            most = max(most, level)
    assert level == count.memory_allocated() - base and most == count.max_memory_allocated() - base


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_recording_does_not_change_a_program(program, device):
    assert report_of(program, device, memory.record()) == report_of(program, device)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_each_write_event_increments_the_version_of_its_storage(program):
    """The version of a write event is 1 more than that of the storage's previous write or version event."""
    with memory.record() as recording:
        program(lambda *tensors: None)
    versions: dict[int, int] = {}
    for event in recording.events:
        if event.kind in ("write", "version"):
            before = versions.get(event.storage)
            assert before is None or event.kind == "version" or event.version == before + 1
            versions[event.storage] = event.version
        elif event.kind == "save":
            assert event.version <= versions.get(event.storage, event.version)
    assert versions or program.__name__ == "hooks"


@pytest.mark.cpu_only
def test_a_node_that_is_set_after_the_event_of_its_tensor_is_found_later():
    w = leaf()
    y = w * mt.ones(SHAPE)
    x = mt.ones(SHAPE)
    nodes = NewNodes()
    assert nodes.on_event(TensorCreated(x, "op", ()), "here") == []
    x._node, freed = y._node, StorageReleased(y._storage)
    assert nodes.late(freed) == [(y._node, "here")] and nodes.late(freed) == []
    assert nodes.on_event(TensorCreated(y, "op", ()), "there") == [(y._node, "there")] and nodes.late() == []
    z = mt.ones(SHAPE)
    nodes.on_event(TensorCreated(z, "op", ()), "here")
    z._node = y._node
    assert nodes.late(TensorWritten(z, "op", (), None)) == [], (
        "the node should belong to the write, not to the creation"
    )
    nodes.on_event(TensorCreated(mt.ones(SHAPE), "op", ()), "here")
    assert nodes.late() == [], "a freed tensor should have no late node"


# ---------- bounds, lifetimes, errors ----------


def test_a_recording_keeps_the_last_events_and_counts_the_others():
    with memory.record(limit=10) as recording:
        for _ in range(50):
            mt.ones(SHAPE)
    assert len(recording.events) == 10 and recording.recorded >= 100
    assert recording.dropped == recording.recorded - 10
    assert {event.kind for event in recording.events} <= {"alloc", "free", "segment_alloc"}


@pytest.mark.parametrize("limit, error", [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)])
def test_a_limit_that_is_no_positive_integer_is_refused(limit, error):
    with pytest.raises(error, match="limit"):
        memory.record(limit=limit)


def test_a_recording_keeps_no_tensor_alive(device):
    count = counters(device)
    base = count.memory_allocated()
    with memory.record() as recording:
        w = leaf()
        loss = small_step(mt.ones(SHAPE), w)
        link = weakref.ref(loss)
        del w, loss
        assert link() is None and count.memory_allocated() == base
    assert recording.events


def test_freed_storages_are_not_reported_as_living(device):
    with memory.record() as recording:
        before = recording.live(device)
        x = mt.ones(SHAPE)
        assert [event.size for at, event in recording.live(device).items() if at not in before] == [KIB], x.shape
        del x
        assert recording.live(device) == before


def test_a_mere_change_of_shape_is_not_a_write():
    x = mt.ones([2, 3])
    with memory.record() as recording:
        x.reshape_([3, 2]).unsqueeze_(0)
    assert recording.events == [] and x.inplace_version == 0 and x.shape == [1, 3, 2]


def test_the_bookkeeping_of_a_long_recording_stays_small():
    with memory.record(limit=20) as recording:
        x = mt.ones([4])
        for _ in range(300):
            x = x + 1.0
            x.add_(1.0)
            x.T  # noqa: B018
    assert len(recording._live) + len(recording._blocks) + len(recording._leaves) < 10


def test_an_error_in_a_recording_is_raised_and_closes_the_recording():
    with pytest.raises(KeyError), memory.record() as recording:
        mt.ones(SHAPE)
        raise KeyError
    events = recording.events
    mt.ones(SHAPE)
    assert recording.events == events and watch.listener is None


def test_recordings_can_be_nested_with_each_other_and_with_a_measure():
    with memory.record() as outer, memory.measure() as m:
        mt.ones(SHAPE)
        with memory.record() as inner:
            mt.ones(SHAPE)
    assert len(inner.events) * 2 <= len(outer.events) and m.allocations == 2


def test_recording_issues_no_warning(device):
    for program in PROGRAMS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report_of(program, device, memory.record())


# ---------- bytes written through an index ----------


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    "write, count",
    [
        (lambda x: x.__setitem__(slice(1, 3), 0.0), 2 * 4),
        (lambda x: x.__setitem__((..., 0), 0.0), 5),
        (lambda x: x.__setitem__([0, 0, 4], 0.0), 3 * 4),
        (lambda x: x.__setitem__((slice(None), [1, 2]), 0.0), 5 * 2),
        (lambda x: x.__setitem__(mt.to_tensor(np.eye(5, 4) > 0), 0.0), 4),
        (lambda x: x.fill_(3.0), 20),
        (lambda x: x[1].add_(1.0), 4),
        (lambda x: x.set_value(mt.zeros([5, 4])), 20),
        (lambda x: x.copy_(mt.zeros([4])), 20),
    ],
    ids=["slice", "column", "listed rows", "listed columns", "mask", "fill", "view", "set_value", "copy"],
)
def test_the_bytes_of_a_write_event_are_those_of_the_written_elements(write: Any, count: int):
    x = mt.ones([5, 4])
    with memory.record() as recording:
        write(x)
    assert [event.size for event in recording.events if event.kind == "write"] == [4 * count]


# ---------- the search for names ----------


@pytest.mark.cpu_only
def test_a_search_for_names_does_not_change_local_variables():
    x = mt.ones([2])
    table = {"k": mt.ones([2])}
    mine = locals()
    before = set(mine)
    found = dict(names_in_reach(sys._getframe()))
    assert found["x"] is x and found["table['k']"] is table["k"]
    assert set(mine) >= before, "the dictionary that the program got from locals() should not be emptied"
    link = weakref.ref(x)
    mine.clear()
    del x, found, mine
    assert link() is None
    y = mt.ones([2])
    assert any(value is y for _, value in names_in_reach(sys._getframe()))
    link = weakref.ref(y)
    del y
    assert link() is None, "the search should keep no copy of the local variables"
