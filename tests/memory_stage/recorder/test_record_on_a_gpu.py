"""Test the recorder on a simulated GPU: recording changes nothing, and the recorded bytes are those of the GPU."""

from __future__ import annotations

import gc
import linecache
from collections.abc import Iterator

import pytest

import minitensor as mt
from memory_stage import api as stage
from memory_stage.recorder import record
from memory_stage.trace.validation import problems
from minitensor.engine.device.places import current
from minitensor.engine.events import AllocatorChanged, Event, listening
from tests.support.stage.programs import PROGRAMS


@pytest.fixture(autouse=True)
def host_again_and_no_collector() -> Iterator[None]:
    """Turn off the garbage collector, so that deleting the last name frees a block, and restore the host device."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    mt.set_device("cpu")


def run(source: str, watched: bool) -> tuple[object, dict, list]:
    """Return the recording or None, the state of a new GPU after the run, and every allocated and freed block."""
    mt.seed(0)
    mt.set_device("gpu:sim", capacity="64 MiB")
    blocks: list[tuple] = []

    def listener(event: Event) -> None:
        if isinstance(event, AllocatorChanged):
            change = event.change
            blocks.append((change.kind, change.address, change.size, change.requested))

    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    namespace = {"__name__": "__main__", "mt": mt}
    done = error = None
    with listening(listener):
        if watched:
            done = record.run(source, namespace, file="<program>")
            error = done.error
        else:
            try:
                exec(compile(source, "<program>", "exec", dont_inherit=True), namespace)
            except Exception as caught:
                error = caught
    reported = ""
    if error is not None:
        reported = str(error).partition("generated_tensor_")[0]
        error.__traceback__ = error.__context__ = None  # the frames of the error keep tensors alive
    counters = current.gpu.counters()
    left = {
        "error": reported,
        "counters": (counters.allocated, counters.max_allocated, counters.reserved, counters.max_reserved),
        "tensors": {
            name: (repr(value), value.inplace_version, value.stop_gradient, value.strides, str(value.place))
            for name, value in namespace.items()
            if isinstance(value, mt.Tensor)
        },
    }
    return done, left, blocks


#: The programs that neither name a device nor use numpy. The others run only on the host.
ON_A_GPU = {name: source for name, source in PROGRAMS.items() if "device" not in source and "numpy" not in source}


@pytest.mark.parametrize("source", ON_A_GPU.values(), ids=ON_A_GPU)
def test_a_recorded_run_equals_the_plain_run_and_reports_the_bytes_of_the_gpu(source: str) -> None:
    _, unwatched, plain_blocks = run(source, watched=False)
    done, watched, blocks = run(source, watched=True)
    assert watched == unwatched
    assert blocks == plain_blocks
    trace = stage.Stage([done]).data
    assert list(problems(trace)) == []
    if any(event["do"] == "storage" for step in done.variant["steps"] for event in step["events"]):
        assert trace["device"] == "gpu:sim"
        last = done.variant["steps"][-1]
        allocated, peak, reserved, _ = watched["counters"]
        assert last["peak"] == peak
        assert last["reserved"] == reserved
        assert last["allocated"] == allocated or watched["error"]  # the frames of the error keep tensors alive


def test_a_storage_on_another_device_is_marked_and_the_text_names_the_gpu() -> None:
    def program() -> None:
        mt.set_device("gpu:sim", capacity="64 MiB")
        x = mt.ones([3])
        y = x.cpu()
        y.add_(x.cpu())

    reported = stage.trace(program)
    storages = [
        event for step in reported.data["variants"][0]["steps"] for event in step["events"] if event["do"] == "storage"
    ]
    assert [event.get("device") for event in storages][:2] == [None, "cpu"]
    assert "Memory of gpu:sim, a simulated GPU." in stage.as_text(reported.data)
    assert "Memory of gpu:sim, a simulated GPU." in stage.as_html(reported.data)
