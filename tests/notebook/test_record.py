"""The recorder: watching changes nothing, and what it writes down is what happened."""

from __future__ import annotations

import gc
import json
import linecache
import sys
import traceback
import warnings

import pytest

import minitensor as mt
from minitensor.device.counters import cpu_meter
from minitensor.events import listening
from minitensor.history import Leaf
from minitensor.notebook.recording import record
from minitensor.notebook.validation import problems
from minitensor.operands import CONSTANT
from minitensor.saving import FREED, Lost, Preserved, is_right
from minitensor.storage import Storage
from tests.notebook import fuzz
from tests.notebook.programs import PROGRAMS
from tests.notebook.replay import Memory


@pytest.fixture(autouse=True)
def no_collector():
    """Without the garbage collector, every byte that is freed is freed by the last name that goes."""
    gc.disable()
    yield
    gc.enable()


def names() -> dict:
    return {"__name__": "__main__", "mt": mt}


def traced(source: str, namespace: dict | None = None, **settings):
    """A recording; its trace has to be a valid one."""
    namespace = names() if namespace is None else namespace
    done = record.run(source, namespace, file="<program>", **settings)
    assert list(problems(trace_of(done))) == []
    return done


def trace_of(done) -> dict:
    return {
        "schema": "stage/1",
        "title": "A test",
        "ask": None,
        "device": "cpu",
        "compare": None,
        "variants": [done.variant],
    }


def events(done, do: str) -> list[dict]:
    return [event for step in done.variant["steps"] for event in step["events"] if event["do"] == do]


# ---------- watching changes nothing ----------


def plain_run(source: str, namespace: dict):
    """What an unwatched run does, statement by statement: the error, if it ends in one."""
    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    try:
        exec(compile(source, "<program>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        return error
    return None


def watched_run(source: str, namespace: dict):
    return record.run(source, namespace, file="<program>").error


def state_after(run, source: str) -> dict:
    """Everything about memory that a run leaves behind, and the order of what it took and gave on the way."""
    log = []

    def listener(kind, *arguments):
        if kind in ("alloc", "free"):
            log.append((kind, arguments[0].nbytes, arguments[0].version, cpu_meter.allocated - start))

    mt.seed(0)
    namespace = names()
    start, before_peak = cpu_meter.allocated, cpu_meter.peak
    cpu_meter.peak = start
    with listening(listener):
        error = run(source, namespace)
    peak = cpu_meter.peak - start
    allocated = cpu_meter.allocated - start
    told = (type(error).__name__, _message(error), _lines(error)) if error is not None else None
    del error
    held = cpu_meter.allocated - start
    tensors = {
        name: (repr(value), value.inplace_version, value.stop_gradient, value.is_leaf, value.strides)
        for name, value in namespace.items()
        if isinstance(value, mt.Tensor)
    }
    namespace.clear()
    cpu_meter.peak = max(before_peak, cpu_meter.peak)
    return {
        "log": log,
        "peak": peak,
        "allocated": allocated,
        "held": held,
        "tensors": tensors,
        "error": told,
        "left": cpu_meter.allocated - start,
    }


def _message(error: BaseException) -> str:
    # Tensors without a name are numbered over the whole process.
    return str(error).partition("generated_tensor_")[0]


def _lines(error: BaseException) -> list[tuple]:
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.lineno, frame.line) for frame in frames if frame.filename == "<program>"]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_a_watched_run_is_the_unwatched_run(source):
    unwatched = state_after(plain_run, source)
    watched = state_after(watched_run, source)
    assert watched == unwatched
    assert unwatched["left"] == watched["left"]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_every_program_gives_a_valid_and_small_trace(source):
    done = traced(source)
    steps = done.variant["steps"]
    things = sum(len(step["events"]) for step in steps) + len(steps)
    size = len(json.dumps(done.variant, separators=(",", ":")))
    assert size / things < 200, f"{size} bytes for {len(steps)} steps with {things} events"


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_bytes_of_the_last_step_are_those_of_what_is_left(source):
    done = traced(source)
    alive = {}
    for step in done.variant["steps"]:
        for event in step["events"]:
            if event["do"] == "storage":
                alive[event["id"]] = event["bytes"]
            elif event["do"] == "free":
                for id_ in event["storages"]:
                    del alive[id_]
    if done.error is None:
        assert done.variant["steps"][-1]["allocated"] == sum(alive.values())


def test_nothing_is_left_behind_in_hooks_tracing_or_output():
    before = sys.gettrace(), sys.stdout, sys.displayhook
    source = "def f(x):\n    y = x + 1\n    return y\nz = f(mt.ones([2]))"
    namespace = names()
    traced(source, namespace)
    assert (sys.gettrace(), sys.stdout, sys.displayhook) == before
    assert mt.events.watch.listener is None
    code = namespace["f"].__code__
    assert "__stage__" not in code.co_names
    assert "__stage__" not in namespace


def test_values_that_only_a_step_held_are_freed_with_it():
    start = cpu_meter.allocated
    done = traced("x = mt.ones([1000])\nx = None\ny = mt.ones([10])")
    assert [step["allocated"] for step in done.variant["steps"]] == [4000, 0, 40]
    del done
    assert cpu_meter.allocated == start


# ---------- what it writes down is what happened ----------


def disagreements(done, namespace: dict) -> list[str]:
    memory = Memory(done.variant)
    return [
        text
        for name, value in namespace.items()
        if isinstance(value, mt.Tensor) and (len(name) == 1 or name in memory.names)
        for text in memory.differs_from(name, value)
    ]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_a_replayed_trace_ends_with_the_tensors_that_are_there(source):
    namespace = names()
    done = traced(source, namespace)
    assert disagreements(done, namespace) == []


@pytest.mark.parametrize("seed", range(160))
def test_random_programs(seed):
    source = fuzz.program(seed)
    namespace = names()
    mt.seed(0)
    policy = "copy_on_write" if seed % 2 else "2.6"
    with warnings.catch_warnings(), mt.set_inplace_policy(policy):
        warnings.simplefilter("ignore")
        done = traced(source, namespace, limit=1000)
        assert disagreements(done, namespace) == [], source
        assert Memory(done.variant).kept_by() == kept_in(namespace), source
        namespace.clear()
        assert state_after(watched_run, source) == state_after(plain_run, source), source
    for step in done.variant["steps"]:
        assert len(step["say"].split()) <= 35, step["say"]


# ---------- what is saved for backward ----------


def kept_in(namespace: dict) -> list[tuple]:
    """What the engine holds for backward, told as ``Memory.kept_by`` tells what the trace says."""
    values = [value for value in namespace.values() if isinstance(value, mt.Tensor)]
    start = [value._current() for value in values]
    nodes, stack = set(), [node for node in start if node is not None]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += [parent for parent in node.inputs if parent is not None]
    found = []
    for node in nodes:
        entries = () if type(node) is Leaf or node.saved is FREED else node.saved
        for _, saved in zip(node.op.saved_names, entries, strict=False):
            if type(saved) is tuple and len(saved) == 3 and type(saved[1]) is Storage and saved[1] is not CONSTANT:
                version = saved[2]
                stale = "" if is_right(saved) else "lost" if type(version) is Lost else "moved"
                patches = version.patches if type(version) is Preserved else ()
                found.append((node.op.name, stale, sum(patch.values.nbytes for patch in patches)))
    return sorted(found)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_saved_in_a_replayed_trace_is_what_the_engine_holds(source):
    namespace = names()
    done = traced(source, namespace)
    if done.error is None:
        assert Memory(done.variant).kept_by() == kept_in(namespace)


def test_bytes_preserved_before_a_write_are_memory_and_nobody_is_refused():
    done = traced(PROGRAMS["one row preserved"])
    steps = done.variant["steps"]
    grown = [after["allocated"] - before["allocated"] for before, after in zip(steps[3:], steps[4:9], strict=False)]
    # a row; again that row; a column without the cell of that row
    assert grown[:3] == [12, 0, 12]
    assert len(events(done, "preserve")) > 4
    assert not events(done, "stale") and not events(done, "raise")


@pytest.mark.parametrize("seed", range(40))
def test_every_error_that_a_program_catches_is_told_once(seed):
    """Also where a later error gets the identity of one that is gone."""
    source = fuzz.program(seed).replace("Error: pass", "Error: caught.append(1)")
    source = source.replace("Exception: pass", "Exception: caught.append(1)")
    caught: list[int] = []
    mt.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, names() | {"caught": caught})
        mt.seed(0)
        done = traced(source, names() | {"caught": []}, limit=1000)
    assert len(events(done, "raise")) == len(caught), source
