"""Test snapshots of a running program: JSON that fits its schema, and files that PyTorch's memory viewer opens."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import memory
from minitensor.engine.core.history import Node
from minitensor.engine.core.storage import Storage
from minitensor.engine.operations.operands import CONSTANT
from minitensor.memory import snapshots
from tests.support.engine.device.viewer_rules import expect_openable
from tests.support.engine.memory import KIB, SHAPE, leaf
from tests.support.engine.watched import PROGRAMS, counters, report_of, small_step

pytestmark = pytest.mark.usefixtures("no_collector")

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((Path(snapshots.__file__).parent / "snapshot.schema.json").read_text())
CHECK = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(autouse=True, scope="module")
def nothing_of_ours_is_frozen() -> None:
    """Unfreeze tensors of earlier test files, because snapshots find tensors through the garbage collector, which lists
    no frozen objects.

    If there are no such tensors, freeze the other objects again, because each snapshot would visit all of them.
    """
    gc.unfreeze()
    reported = (each for each in gc.get_objects() if issubclass(type(each), (mt.Tensor, Storage, Node)))
    if all(each is CONSTANT for each in reported):
        gc.freeze()


@pytest.fixture
def empty_gpu(device: str) -> None:
    """Replace the simulated GPU with an empty one if the test uses a simulated GPU."""
    if device == "gpu:sim":
        mt.set_device("gpu:sim", capacity="8 GiB", profile="torch")


def valid(reported: dict[str, Any]) -> dict[str, Any]:
    """Return the snapshot, read back from JSON, after checking it against the schema."""
    CHECK.validate(reported)
    again = json.loads(json.dumps(reported, allow_nan=False))
    assert again == reported
    return again


def of_name(reported: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the only storage of that name."""
    (found,) = (storage for storage in reported["storages"] if storage["name"] == name)
    return found


# ---------- as JSON ----------


@pytest.mark.cpu_only
def test_the_schema_is_a_valid_json_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_snapshot_has_the_expected_storages_tensors_and_saved_values(device):
    w = leaf()
    x = w * 2.0
    y = x * x
    part = x[1:3].T
    reported = valid(memory.snapshot())
    storage = of_name(reported, "x")
    assert (storage["device"], storage["nbytes"], storage["version"]) == (device, KIB, 0)
    shown = {"dtype": "float32", "stop_gradient": False, "is_leaf": False}
    assert sorted(storage["tensors"], key=lambda x: x["offset"]) == [
        {"names": ["x"], "shape": [16, 16], "strides": [16, 1], "offset": 0, **shown},
        {"names": ["part"], "shape": [16, 2], "strides": [1, 16], "offset": 16, **shown},
    ]
    line = test_a_snapshot_has_the_expected_storages_tensors_and_saved_values.__code__.co_firstlineno + 3
    saver = {"op": "multiply", "version": 0, "file": "test_memory_snapshot.py", "line": line, "right": True}
    assert sorted(storage["saved_by"], key=lambda s: s["what"]) == [{**saver, "what": "x"}, {**saver, "what": "y"}]
    assert of_name(reported, "w")["tensors"][0]["is_leaf"] is True
    x.add_(1.0)
    storage = of_name(valid(memory.snapshot()), "x")
    assert storage["version"] == 1 and [saver["right"] for saver in storage["saved_by"]] == [False, False], y.shape
    del part, y
    assert of_name(valid(memory.snapshot()), "x")["saved_by"] == []


def test_storages_are_named_after_gradients_attributes_list_items_and_given_names():
    class Holder:
        pass

    w, holder = leaf(), Holder()
    holder.bias = mt.zeros([3])
    held = [mt.zeros([4]), {"no": 1}]
    (w * 1.0).sum().backward()
    asked = mt.zeros([5])
    asked.name = "the answer"
    reported = valid(memory.snapshot())
    for name, nbytes in (("w.grad", KIB), ("holder.bias", 12), ("held[0]", 16), ("the answer", 20)):
        assert of_name(reported, name)["nbytes"] == nbytes, held
    (tensor,) = of_name(reported, "the answer")["tensors"]
    assert tensor["names"] == ["the answer", "asked"] and tensor["is_leaf"] is tensor["stop_gradient"] is True


def test_the_bytes_of_a_snapshot_are_those_of_the_counters(device, empty_gpu):
    w = leaf()
    kept = [small_step(mt.ones(SHAPE), w), w * 2.0]
    reported = valid(memory.snapshot())
    by_name = {each["name"]: each for each in reported["devices"]}
    count = counters(device)
    assert by_name[device]["counters"]["allocated"] == count.memory_allocated()
    assert by_name[device]["counters"]["max_allocated"] == count.max_memory_allocated()
    host = sum(storage["nbytes"] for storage in reported["storages"] if storage["device"] == "cpu")
    assert by_name["cpu"]["in_flight"] == 0 and by_name["cpu"]["counters"]["allocated"] == host, len(kept)
    if device != "cpu":
        blocks = [block for segment in by_name[device]["segments"] for block in segment["blocks"] if block["in_use"]]
        stored = {block["storage"]: block["requested"] for block in blocks}
        assert stored == {s["id"]: s["nbytes"] for s in reported["storages"] if s["device"] == device and s["nbytes"]}


@pytest.mark.cpu_only
def test_a_snapshot_has_the_intermediate_gradients_of_the_host():
    w = leaf()
    seen = []
    x = w * 3.0
    x.register_hook(lambda g: seen.append(valid(memory.snapshot())))
    (x * 3.0).sum().backward()
    (reported,) = seen
    assert reported["devices"][0]["in_flight"] > 0
    stored = sum(storage["nbytes"] for storage in reported["storages"])
    assert reported["devices"][0]["counters"]["allocated"] == stored + reported["devices"][0]["in_flight"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_snapshot_at_any_time_changes_nothing_and_fits_the_schema(program, device):
    def looked_at(report: Any) -> None:
        def look(*tensors: mt.Tensor) -> None:
            valid(memory.snapshot())
            report(*tensors)

        program(look)

    assert report_of(looked_at, device) == report_of(program, device)


def test_a_snapshot_inside_a_recording_has_the_events(device, empty_gpu):
    with memory.record(limit=20) as recording:
        small_step(mt.ones(SHAPE), leaf())
        x = mt.ones(SHAPE)
        x.add_(1.0)
        reported = valid(memory.snapshot())
    assert len(reported["events"]) == 20 and reported["dropped"] == recording.dropped > 0
    assert reported["events"][-1]["kind"] == "write" and reported["events"][-1]["name"] == "x"
    assert valid(memory.snapshot())["events"] == []


def test_a_snapshot_after_the_gpu_was_replaced_has_both_gpus(device):
    with memory.record():
        mt.set_device("gpu:sim", capacity="32 MiB")
        x = mt.ones(SHAPE)
        mt.set_device("gpu:sim", capacity="64 MiB")
        y = mt.ones([2, *SHAPE])
        reported = valid(memory.snapshot())
    assert {32 << 20, 64 << 20} <= {each.get("capacity") for each in reported["devices"]}, (
        "the old GPU should be in the snapshot, because x is on it"
    )
    mt.set_device("gpu:sim", capacity="8 GiB")
    assert x.shape != y.shape


# ---------- PyTorch's viewer ----------


def dumped(tmp_path: Path, device: str | None = None) -> dict[str, Any]:
    memory.dump_snapshot(tmp_path / "memory.pickle", device)
    return expect_openable((tmp_path / "memory.pickle").read_bytes())


def names(data: dict[str, Any]) -> set[str]:
    """Return the names of the allocated blocks in the viewer."""
    blocks = [block for segment in data["segments"] for block in segment["blocks"]]
    frames = [frame for block in blocks if block["state"] == "active_allocated" for frame in block["frames"]]
    return {frame["name"] for frame in frames}


def test_the_viewer_can_open_a_training_step_with_the_names_of_its_tensors(tmp_path, device, empty_gpu):
    w = leaf()
    with memory.record():
        x = mt.ones(SHAPE)
        h = x @ w
        h.tanh_()
        loss = (h * h).mean()
        loss.backward()
        data = dumped(tmp_path)
    assert {"w", "x = ones", "h = matmul", "loss = mean", "w.grad = backward"} <= names(data)
    (trace,) = data["device_traces"]
    line = test_the_viewer_can_open_a_training_step_with_the_names_of_its_tensors.__code__.co_firstlineno
    (made,) = (e for e in trace if e["action"] == "alloc" and e["frames"][0]["name"] == "h = matmul")
    assert made["frames"] == [{"filename": "test_memory_snapshot.py", "line": line + 4, "name": "h = matmul"}]
    assert made["size"] == KIB
    frees = [event for event in trace if event["action"] == "free_completed"]
    assert any(event["frames"][0]["name"] == "backward" for event in frees)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("limit", [3, 1000])
def test_the_viewer_can_open_a_snapshot_at_any_time_even_with_dropped_events(tmp_path, program, limit, empty_gpu):
    with memory.record(limit):
        program(lambda *tensors: dumped(tmp_path) and None)
        dumped(tmp_path)


def test_the_blocks_add_up_to_the_allocated_bytes(tmp_path, device, empty_gpu):
    w = leaf()
    for recorded in (memory.record(), None):
        if recorded is not None:
            recorded.__enter__()
        kept = small_step(mt.ones(SHAPE), w)
        data = dumped(tmp_path)
        used = [
            block["size"]
            for segment in data["segments"]
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        ]
        assert sum(used) == counters(device).memory_allocated(), kept.shape
        if recorded is not None:
            recorded.__exit__(None, None, None)


def test_without_a_recording_the_file_shows_the_present_blocks(tmp_path, empty_gpu):
    x = mt.ones(SHAPE)
    data = dumped(tmp_path)
    assert "x" in names(data), x.shape
    assert [event["action"] for event in data["device_traces"][0]] == ["snapshot"]


@pytest.mark.cpu_only
def test_the_device_of_a_dumped_snapshot_can_be_chosen(tmp_path):
    mt.set_device("gpu:sim", capacity="64 MiB")
    there = mt.ones(SHAPE)
    mt.set_device("cpu")
    here = mt.ones(SHAPE)
    assert "there" in names(dumped(tmp_path, "gpu:sim")) and "here" in names(dumped(tmp_path, "cpu"))
    assert "here" in names(dumped(tmp_path)), (there.shape, here.shape)
    with pytest.raises(ValueError, match="dump_snapshot: there is no device 'tpu'"):
        memory.dump_snapshot(tmp_path / "x", "tpu")
    with pytest.raises(OSError):
        memory.dump_snapshot(tmp_path / "nowhere" / "x")


def test_an_out_of_memory_event_is_in_the_file(tmp_path):
    mt.set_device("gpu:sim", capacity="16 MiB")
    with memory.record():
        x = mt.zeros([3 << 20])
        with pytest.raises(mt.device.OutOfMemoryError):
            x + 1.0
        trace = dumped(tmp_path, "gpu:sim")["device_traces"][0]
    (oom,) = (event for event in trace if event["action"] == "oom")
    assert oom["frames"][0]["name"] == "add" and oom["size"] == 12 << 20
    mt.set_device("gpu:sim", capacity="8 GiB")


def test_pytorchs_command_line_opens_a_training_step(tmp_path, device, empty_gpu):
    python = os.environ.get("MINITENSOR_TORCH_PYTHON") or sys.executable
    if python == sys.executable and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed here (MINITENSOR_TORCH_PYTHON names a Python that has it)")
    w = leaf()
    with memory.record():
        small_step(mt.ones(SHAPE), w)
        memory.dump_snapshot(tmp_path / "memory.pickle")

    def memory_viz(*arguments: str) -> str:
        command = [python, "-m", "torch.cuda._memory_viz", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "segments: " in memory_viz("stats", "memory.pickle")
    assert "# free completed for" in memory_viz("trace", "memory.pickle")
    memory_viz("trace_plot", "memory.pickle", "-o", "timeline.html")
    assert (tmp_path / "timeline.html").stat().st_size > 1000


@pytest.mark.cpu_only
def test_borrowed_memory_is_in_the_snapshot_with_no_bytes(tmp_path):
    array = np.ones((4, 6), np.float32)
    x = mt.from_numpy(array[:, ::-2])
    with memory.record() as recording:
        x.add_(1.0)
        y = mt.from_numpy(array)
        dumped(tmp_path)
        reported = valid(memory.snapshot())
    tensors = [each for storage in reported["storages"] for each in storage["tensors"]]
    assert [each["shape"] for each in tensors if each["names"] == ["x"]] == [[4, 3]], y.shape
    assert [event.size for event in recording.events if event.kind == "write"] == [48]
    assert not [event for event in recording.events if event.kind in ("alloc", "free")]
