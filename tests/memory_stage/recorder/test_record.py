"""Test that recording changes nothing in the program, and that the trace agrees with the engine."""

from __future__ import annotations

import gc
import itertools
import json
import linecache
import random
import sys
import traceback
import warnings

import numpy as np
import pytest

import memory_stage as stage
import minitensor as mt
from memory_stage.engines.minitensor.engine import MinitensorSubscription
from memory_stage.engines.router import Subscriptions
from memory_stage.model.ledger import Ledger
from memory_stage.recorder import instrument, record
from memory_stage.recorder.names import Names
from memory_stage.recorder.recorder import Recorder
from memory_stage.trace.validation import problems
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.events import StorageCreated, StorageReleased, listening
from tests.support.stage import fuzz, probe
from tests.support.stage.programs import PROGRAMS
from tests.support.stage.replay import Memory

POLICIES = "2.5", "2.6", "copy_on_write"


@pytest.fixture(autouse=True)
def no_collector():
    """Switch off the garbage collector, so that only deleting the last name frees memory."""
    gc.disable()
    yield
    gc.enable()


def names() -> dict:
    return {"__name__": "__main__", "mt": mt}


def traced(source: str, namespace: dict | None = None, **settings):
    """Record a program and check that its trace is valid."""
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


# ---------- recording changes nothing ----------


def plain_run(source: str, namespace: dict):
    """Run a program without the recorder, statement by statement. Return its error or None."""
    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    try:
        exec(compile(source, "<program>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        return error
    return None


def watched_run(source: str, namespace: dict):
    return record.run(source, namespace, file="<program>").error


def state_after(run, source: str) -> dict:
    """Return the state of memory after a run, and the order of its allocations and frees."""
    log = []

    def listener(event):
        if isinstance(event, (StorageCreated, StorageReleased)):
            storage = event.storage
            log.append((type(event).__name__, storage.nbytes, storage.version, cpu_meter.allocated - start))

    mt.seed(0)
    namespace = names()
    start, before_peak = cpu_meter.allocated, cpu_meter.peak
    cpu_meter.peak = start
    with listening(listener):
        error = run(source, namespace)
    peak = cpu_meter.peak - start
    allocated = cpu_meter.allocated - start
    reported = (type(error).__name__, _message(error), _lines(error)) if error is not None else None
    del error
    held = cpu_meter.allocated - start
    ask = mt.Tensor.__dict__  # suits both vocabularies, which name some of these properties differently
    tensors = {
        name: (
            repr(value),
            *(ask[key].__get__(value) for key in ("inplace_version", "stop_gradient", "is_leaf", "strides")),
        )
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
        "error": reported,
        "left": cpu_meter.allocated - start,
    }


def _message(error: BaseException) -> str:
    # The generated name of a tensor contains a number that depends on all earlier programs of the process.
    return str(error).partition("generated_tensor_")[0]


def _lines(error: BaseException) -> list[tuple]:
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.lineno, frame.line) for frame in frames if frame.filename == "<program>"]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_a_recorded_run_equals_the_plain_run(source):
    unwatched = state_after(plain_run, source)
    watched = state_after(watched_run, source)
    assert watched == unwatched and watched["log"]


@pytest.mark.parametrize("seed", range(24))
def test_a_recorded_run_of_a_random_program_equals_its_plain_run(seed):
    """The programs replace storages, share memory with numpy, define layers and run optimizers."""
    source = fuzz.program(1000 + seed, rarer=True)
    with warnings.catch_warnings(), mt.set_inplace_policy(POLICIES[seed % 3]):
        warnings.simplefilter("ignore")
        assert state_after(watched_run, source) == state_after(plain_run, source), source


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_the_trace_of_every_program_is_valid_and_small(source):
    done = traced(source)
    steps = done.variant["steps"]
    things = sum(len(step["events"]) for step in steps) + len(steps)
    rasters = [event.pop("raster") for step in steps for event in step["events"] if "raster" in event]
    assert all(len(json.dumps(raster)) < 2_000 for raster in rasters)  # at most 1,024 values, written as text
    size = len(json.dumps(done.variant, separators=(",", ":")))
    assert size / things < 200, f"{size} bytes for {len(steps)} steps with {things} events"


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_the_bytes_of_every_step_are_those_of_the_live_storages(source):
    """The meter's reading equals the sum of the storages and gradients that the events report."""
    steps = traced(source).variant["steps"]
    assert [step["allocated"] for step in steps] == bytes_in_events(steps)


def bytes_in_events(steps: list[dict]) -> list[int]:
    """Return for each step the bytes of the storages that are then alive, plus those of gradients that only backward
    uses.
    """
    alive, flight, found = {}, 0, []
    for step in steps:
        for event in step["events"]:
            if event["do"] == "storage":
                alive[event["id"]] = 0 if "borrowed" in event else event["bytes"]
            elif event["do"] == "free":
                for id_ in event["storages"]:
                    del alive[id_]
            elif event["do"] == "flight":
                flight = event["bytes"]
        found.append(sum(alive.values()) + flight)
    return found


def test_no_hook_tracer_or_replaced_output_remains_after_a_recording():
    before = sys.gettrace(), sys.stdout, sys.displayhook
    source = "def f(x):\n    y = x + 1\n    return y\nz = f(mt.ones([2]))"
    namespace = names()
    traced(source, namespace)
    assert (sys.gettrace(), sys.stdout, sys.displayhook) == before
    assert mt.engine.events.watch.listener is None
    assert instrument.HOOK not in namespace["f"].__code__.co_consts
    assert set(namespace) == {"__name__", "__builtins__", "mt", "f", "z"}


@pytest.mark.parametrize(
    ("owner", "function"),
    [
        (Recorder, "begin"),
        (Names, "scan"),
        (Ledger, "begin"),
        (Subscriptions, "open"),
        (MinitensorSubscription, "open"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_at_the_start_of_a_recording_leaves_no_subscriber(monkeypatch, owner, function, late):
    plain = getattr(owner, function)

    def interrupted(*arguments):
        if late:
            plain(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, function, interrupted)
    before = sys.gettrace(), sys.stdout, sys.displayhook, instrument.listener
    namespace = names()
    with pytest.raises(KeyboardInterrupt):
        traced("x = mt.ones([2])", namespace)
    assert (sys.gettrace(), sys.stdout, sys.displayhook, instrument.listener) == before
    assert mt.engine.events.watch.listener is None


def test_a_subscription_that_the_program_leaves_open_does_not_keep_the_recorder_alive():
    """When that subscription closes, the recorder is not subscribed again."""
    start, namespace = cpu_meter.allocated, names()
    traced("log = mt.memory.record()\nlog.open()\nx = mt.ones([1000])", namespace)
    log = namespace.pop("log")
    del namespace["x"]
    assert cpu_meter.allocated == start
    log.close()
    assert mt.engine.events.watch.listener is None


def test_a_recording_does_not_keep_a_tensor_alive_that_the_program_has_dropped():
    start = cpu_meter.allocated
    done = traced("x = mt.ones([1000])\nx = None\ny = mt.ones([10])")
    assert [step["allocated"] for step in done.variant["steps"]] == [4000, 0, 40]
    del done
    assert cpu_meter.allocated == start


# ---------- the trace records the real events ----------


def disagreements(done, namespace: dict) -> list[str]:
    memory = Memory(done.variant)
    return [
        text
        for name, value in namespace.items()
        if isinstance(value, mt.Tensor) and (len(name) == 1 or name in memory.names)
        for text in memory.differs_from(name, value)
    ]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_replaying_a_trace_ends_with_the_tensors_of_the_program(source):
    namespace = names()
    done = traced(source, namespace)
    assert disagreements(done, namespace) == []


def test_an_array_that_shared_memory_before_the_recording_is_in_the_trace():
    x = mt.ones([3])
    done = traced("n[0] = 5", {"mt": mt, "x": x, "n": x.numpy(share=True)})
    before = [(event["do"], event.get("outside")) for event in done.variant["before"]]
    assert before == [("storage", None), ("tensor", "numpy"), ("name", None)]


ARRAYS = (
    "{x} = mt.from_numpy({n})", "{n} = {x}.detach().numpy(share=True)", "{n} = {x}.numpy(share=True)", "{n} = {m}[1:]",
    "{n} = {m}.reshape(-1)", "{n} = {m}", "{n}[0] = 5", "{n} += 1", "{x}.add_({y})", "{x} = {y}[1:]",
    "{x} = mt.ones([4])", "{n} = np.ones(4, 'float32')", "c = [{n}, {x}]", "d = {{'a': {n}}}", "o.a = {n}",
    "c = d = o.a = None", "del {n}", "del {x}", "{n} = f({m})", "{x} = mt.from_numpy(f({m}))", "k = lambda: {n}",
    "g = rows({m})", "{n} = next(g)",
)  # fmt: skip
OF_ARRAYS = """\
import numpy as np
def f(q):
    r = q[:2]
    r[...] = 1
    return r
def rows(q):
    yield q
    yield q[1:]
class O: pass
o, n, m = O(), np.ones(4, "float32"), np.zeros((2, 3), "float32")
l, x, y, z = m[0], mt.ones([4]), mt.from_numpy(m), mt.from_numpy(n)
"""


@pytest.mark.parametrize("seed", range(60))
def test_arrays_that_share_memory_before_the_recording_are_described_before_they_are_named(seed):
    """The first cell makes tensors and arrays on shared memory, and the second cell is recorded."""
    draw = random.Random(seed)

    def cell(lines: int) -> str:
        found = ""
        for _ in range(lines):
            x, y, n, m = draw.choice("xyz"), draw.choice("xyz"), draw.choice("nml"), draw.choice("nml")
            found += f"try:\n    {draw.choice(ARRAYS).format(x=x, y=y, n=n, m=m)}\nexcept Exception: pass\n"
        return found

    earlier, program = OF_ARRAYS + cell(draw.randint(0, 10)), cell(draw.randint(1, 14))
    namespace = names()
    linecache.cache["<earlier>"] = (len(earlier), None, earlier.splitlines(True), "<earlier>")
    exec(compile(earlier, "<earlier>", "exec", dont_inherit=True), namespace)
    traced(program, namespace, limit=1000)


@pytest.mark.parametrize("seed", range(160))
def test_replaying_the_trace_of_a_random_program_ends_with_its_tensors(seed):
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


# ---------- saved for backward ----------


def kept_in(namespace: dict) -> list[tuple]:
    """Return the values that the engine has saved for backward, in the form of ``Memory.kept_by``."""
    values = [value for value in namespace.values() if isinstance(value, mt.Tensor)]
    for value in values:
        value._current()
    return probe.kept(values)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_the_saved_tensors_of_a_replayed_trace_are_those_of_the_engine(source):
    namespace = names()
    done = traced(source, namespace)
    if done.error is None:
        assert Memory(done.variant).kept_by() == kept_in(namespace)


def test_saved_bytes_that_are_copied_before_a_write_count_as_allocated_and_stay_readable():
    done = traced(PROGRAMS["one row preserved"])
    steps = done.variant["steps"]
    grown = [after["allocated"] - before["allocated"] for before, after in itertools.pairwise(steps[3:9])]
    # The writes overwrite a row, then the same row again, then a column of which one cell is already preserved.
    assert grown[:3] == [12, 0, 12]
    assert len(events(done, "preserve")) > 4
    assert not events(done, "stale") and not events(done, "raise")


@pytest.mark.parametrize("seed", range(40))
def test_every_caught_error_is_recorded_once(seed):
    """Python may give an error the id of an earlier, deleted error. Both are recorded."""
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


# ---------- every step of random programs ----------


def recorded(source: str, namespace: dict, policy: str) -> tuple[dict, list[dict]]:
    """Return the recording of a random program, and the engine's state after each step."""
    mt.seed(0)
    with warnings.catch_warnings(), mt.set_inplace_policy(policy), probe.probe_steps(namespace) as seen:
        warnings.simplefilter("ignore")
        done = traced(source, namespace, limit=2000)
    return done.variant, seen


@pytest.mark.parametrize("device", ["cpu", "gpu:sim"])
@pytest.mark.parametrize("seed", range(30))
def test_after_every_step_the_trace_equals_the_state_of_the_engine(seed, device):
    """Compare shapes, strides, versions, numbers and shared storages, and why each saved tensor is stale."""
    source, namespace = fuzz.program(seed, rarer=seed % 3 > 0), names()
    if device != "cpu":
        mt.set_device(device, capacity="64 MiB")
    try:
        variant, seen = recorded(source, namespace, POLICIES[seed % 3])
    finally:
        mt.set_device("cpu")
    memory = Memory({"steps": []})
    for step, real in zip(variant["steps"], seen, strict=True):
        for event in step["events"]:
            memory.apply(event)
        assert list(probe.differences(memory, real)) == [], f"{step['line']} of\n{source}"
        assert len(step["say"].split()) <= 35, step["say"]
    if device == "cpu":
        assert [step["allocated"] for step in variant["steps"]] == bytes_in_events(variant["steps"]), source


@pytest.mark.parametrize("seed", range(60))
def test_backward_raises_exactly_if_it_reaches_a_tensor_that_the_trace_marks_as_stale(seed):
    source, namespace = fuzz.program(seed, rarer=seed % 4 == 0), names()
    variant, _ = recorded(source, namespace, POLICIES[seed % 3])
    history = Reach(variant)
    for name, value in namespace.items():
        if len(name) > 1 or not isinstance(value, mt.Tensor) or value.stop_gradient:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value.sum().backward(retain_graph=True)
            refused = False
        except RuntimeError as error:
            refused = "tensor_version" in str(error) or "version of their storage" in str(error)
            if not refused:
                continue  # an earlier pass has released the saved tensors, so no version is checked
        except (TypeError, ValueError):
            continue  # a custom layer returned a gradient of the wrong kind
        assert history.reaches_stale(name) == refused, f"{name} of\n{source}"


class Reach(Memory):
    """A replayed trace that follows the history of a name back to stale saved tensors."""

    def __init__(self, variant: dict) -> None:
        self.made: dict[str, list[dict]] = {}
        self.after: dict[str, str] = {}
        self.names_at: dict[str, list[str]] = {}
        super().__init__(variant)

    def apply(self, event: dict) -> None:
        super().apply(event)
        if event["do"] == "node":
            self.made.setdefault(event["out"], []).append(event)
        elif event["do"] == "state":
            self.names_at[event["id"]] = list(event["names"])
            if "after" in event:
                self.after[event["id"]] = event["after"]
        elif event["do"] == "names":
            self.names_at[event["state"]] = event["names"]

    def reaches_stale(self, name: str) -> bool:
        states = [state for state, names_at in self.names_at.items() if name in names_at]
        seen: set[str] = set()
        while states:
            state = states.pop()
            if state in seen:
                continue
            seen.add(state)
            nodes = [node for node in self.made.get(state, []) if node["id"] in self.nodes]
            states += [at for node in nodes for at in node["ins"]]
            states += [self.after[state]] if state in self.after else []
            saved = [save for save in self.saved.values() if save["node"] in {node["id"] for node in nodes}]
            if any(save["stale"] for save in saved):
                return True
        return False


def test_the_trace_has_the_versions_of_a_tensor_with_a_separate_version_counter():
    done = traced("import minitensor.torch as torch\nx = torch.ones(2)\nd = x.data\nd.add_(1)\nx.add_(1)")
    (_, data), (retold,) = events(done, "tensor"), events(done, "retensor")
    assert (data["version"], retold["version"]) == (0, 1)
    assert [(write["version"], write.get("unversioned", False)) for write in events(done, "write")] == [
        (0, True),
        (1, False),
    ]


# ---------- loops, and programs that are long ----------


def test_a_step_has_the_iteration_number_of_each_loop_around_it():
    source = """\
def twice(h):
    for k in range(2):
        if k:
            continue
        h.add_(1)
x = mt.ones([1])
for i in range(2):
    for j in range(3):
        x.add_(1)
        if j:
            break
    else:
        x = None
    twice(x)
while x.item() < 20:
    x.add_(10)
y = x + 1
"""
    steps = traced(source).variant["steps"]
    found = {line: [step.get("passes") for step in steps if step["line"] == line] for line in (5, 6, 9, 14, 16, 17)}
    assert found == {
        5: [[[7, 1], [2, 1]], [[7, 2], [2, 1]]],
        6: [None],
        9: [[[7, 1], [8, 1]], [[7, 1], [8, 2]], [[7, 2], [8, 1]], [[7, 2], [8, 2]]],
        14: [[[7, 1]], [[7, 1]], [[7, 2]], [[7, 2]]],
        16: [[[15, 1]], [[15, 2]]] if len([s for s in steps if s["line"] == 16]) == 2 else [[[15, 1]]],
        17: [None],
    }


def test_a_long_loop_ends_with_a_sentence_and_the_program_continues():
    namespace = names()
    done = traced("x = mt.zeros([1])\nfor i in range(10_000):\n    x.add_(1)\n", namespace)
    assert len(done.variant["steps"]) == record.LIMIT
    assert done.variant["truncated"] == (
        f"Only the first {record.LIMIT} steps are shown. The program ran on to its end without being recorded."
    )
    assert namespace["x"].item() == 10_000


def test_a_large_write_records_only_the_written_cells():
    done = traced("x = mt.zeros([1000, 1000])\nv = x[10:20]\nv.add_(1)\nc = x[:, 3]\nc.fill_(2)\nx[x < 1] = 3")
    rows, column, mask = events(done, "write")
    assert set(rows["cells"]) <= {str(i) for i in range(10_000, 20_000)}
    assert {int(i) % 1000 for i in column["cells"]} == {3}
    assert "0" in mask["cells"] and not any(10_000 <= int(i) < 20_000 or int(i) % 1000 == 3 for i in mask["cells"])


# ---------- programs that reach the recursion limit ----------

ENDLESS = {
    "calls": ("def f(n):\n    return f(n + 1)\nf(0)", 2),
    "calls with tensors": ("def f(x):\n    return f(x + 1)\nf(mt.ones([2]))", 2),
    "writes": ("def f(x):\n    x.add_(1.0)\n    f(x)\nf(mt.ones([2]))", 3),
    "views": ("f = lambda x: f(x[:])\nf(mt.ones([2]))", 2),
    "lambdas": ("f = lambda x: f(x.exp() * 0.0)\nf(mt.ones([1]))", 2),
    "an operator": ("class A:\n    def __add__(self, other):\n        return self + other\nA() + 1", 3),
    "shared memory": ("a = np.ones(2)\nf = lambda x: f(mt.from_numpy(a) + x)\nf(mt.ones([2]))", 3),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_recursion_is_reported_as_an_error_at_the_line_of_the_program(name):
    source, line = ENDLESS[name]
    limit = sys.getrecursionlimit()
    shown = stage.record(source, {"mt": mt, "np": np})
    variant = shown.data["variants"][0]
    assert isinstance(shown.error, RecursionError) and sys.getrecursionlimit() == limit
    reported = [
        (step["line"], event["text"]) for step in variant["steps"] for event in step["events"] if event["do"] == "raise"
    ]
    if variant["truncated"]:
        assert "It ended with RecursionError: maximum recursion depth exceeded" in variant["truncated"]
        assert "recorder failed" not in variant["truncated"] and reported == []
    else:
        assert [(at, text.partition(":")[0]) for at, text in reported] == [(line, "RecursionError")]
    assert list(problems(shown.data)) == []


def test_a_program_that_almost_exhausts_the_call_stack_is_recorded():
    """The recorder has no stack left for the two lines of the last call, so it records them in the caller."""
    source = """
def f():
    try:
        return f()
    except RecursionError:
        x = mt.ones([2])
        x.add_(1.0)
        return x
y = f()
"""
    namespace = names()
    done = traced(source, namespace)
    assert done.error is None and namespace["y"].tolist() == [2.0, 2.0]
    assert "recorder failed" not in (done.variant["truncated"] or "")


def test_a_recursion_limit_that_the_program_sets_remains():
    before = sys.getrecursionlimit()
    try:
        traced("import sys\nsys.setrecursionlimit(1234)\nx = mt.ones([2])\nx.add_(1.0)")
        assert sys.getrecursionlimit() == 1234
    finally:
        sys.setrecursionlimit(before)


def test_an_error_after_the_last_recorded_step_is_reported():
    reported = traced("x = mt.zeros([1])\nfor i in range(700):\n    x = x + 1\nraise KeyError('late')").variant[
        "truncated"
    ]
    assert reported.endswith("without being recorded. It ended with KeyError: 'late', at line 4.")
