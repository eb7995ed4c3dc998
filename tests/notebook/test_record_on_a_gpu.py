"""The recorder on a simulated GPU: watching changes nothing there, and the meter is the device's own."""

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
from minitensor.engine.events import listening
from tests.notebook.programs import PROGRAMS


@pytest.fixture(autouse=True)
def host_again_and_no_collector() -> Iterator[None]:
    """Without the garbage collector, every block that comes back does so by the last name that goes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    mt.set_device("cpu")


def run(source: str, watched: bool) -> tuple[object, dict, list]:
    """The recording, if any; what the run leaves on a fresh GPU; and every block that came and went."""
    mt.seed(0)
    mt.set_device("gpu:sim", capacity="64 MiB")
    blocks: list[tuple] = []

    def listener(kind: str, *arguments: object) -> None:
        if kind == "block":
            (event,) = arguments
            blocks.append((event.kind, event.address, event.size, event.requested))

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
    told = ""
    if error is not None:
        told = str(error).partition("generated_tensor_")[0]
        error.__traceback__ = error.__context__ = None  # its frames hold tensors
    counters = current.gpu.counters()
    left = {
        "error": told,
        "counters": (counters.allocated, counters.max_allocated, counters.reserved, counters.max_reserved),
        "tensors": {
            name: (repr(value), value.inplace_version, value.stop_gradient, value.strides, str(value.place))
            for name, value in namespace.items()
            if isinstance(value, mt.Tensor)
        },
    }
    return done, left, blocks


#: What prints or compares a place, or asks the computer's own meter, is about the computer's own memory.
ON_A_GPU = {name: source for name, source in PROGRAMS.items() if "device" not in source and "numpy" not in source}


@pytest.mark.parametrize("source", ON_A_GPU.values(), ids=ON_A_GPU)
def test_a_watched_run_is_the_unwatched_run_and_the_meter_is_the_devices(source: str) -> None:
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
        assert last["allocated"] == allocated or watched["error"]  # while it is told, the error's frames hold tensors


def test_a_storage_on_another_device_says_so_and_the_text_names_the_gpu() -> None:
    def program() -> None:
        mt.set_device("gpu:sim", capacity="64 MiB")
        x = mt.ones([3])
        y = x.cpu()
        y.add_(x.cpu())

    told = stage.trace(program)
    storages = [
        event for step in told.data["variants"][0]["steps"] for event in step["events"] if event["do"] == "storage"
    ]
    assert [event.get("device") for event in storages][:2] == [None, "cpu"]
    assert "Memory of gpu:sim, a simulated GPU." in stage.as_text(told.data)
    assert "Memory of gpu:sim, a simulated GPU." in stage.as_html(told.data)
