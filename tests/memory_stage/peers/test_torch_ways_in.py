"""Test the ways to explain a PyTorch program: the decorator, the magic, the plugin of pytest, and the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import memory_stage  # noqa: E402
from benchmarks import long_run  # noqa: E402
from memory_stage.explanation.whole_run import one_screen  # noqa: E402
from memory_stage.explanation.whole_run.named_tensors import in_variables  # noqa: E402

SPOILED = "Line {} overwrites `y`, which the backward pass in line {} still needs."


def command(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment)


# ---------- the decorator ----------


def test_a_decorated_step_is_watched_in_each_call_and_prints_new_faults_once(capsys):
    @memory_stage.explain()
    def step(factor, keep=None):
        """Return the sum of a product."""
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        if factor:
            y.mul_(factor)
        y.sum().backward()
        return float(x.grad[0])

    assert step.__name__ == "step" and step.__doc__ == "Return the sum of a product."
    assert step(0) == pytest.approx(torch.e) and capsys.readouterr().err == ""
    for times in (1, 2):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            step(2)
        (fault,) = step.explanation.faults
        assert fault.count == times and (fault.verdict in " ".join(capsys.readouterr().err.split())) == (times == 1)
    line = step.__wrapped__.__code__.co_firstlineno
    assert fault.verdict == SPOILED.format(line + 6, line + 7)


def test_the_lines_of_a_graph_from_an_earlier_call_are_known(capsys):
    @memory_stage.explain()
    def begin(x):
        return x.exp()

    y = begin(torch.ones(2, requires_grad=True))

    @begin.explanation
    def spoil(y):
        y.add_(1)
        y.sum().backward()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        spoil(y)
    (fault,) = begin.explanation.faults
    assert [each.role for each in fault.evidence][:2] == ["`exp` saves `y`", "`add_` overwrites it"]


def test_a_function_that_calls_itself_is_watched_once():
    @memory_stage.explain()
    def below(depth):
        return below(depth - 1) if depth else torch.ones(1).add_(1)

    assert below(3).item() == 2 and torch._C._len_torch_function_stack() == 0
    assert [(each.operation, each.count) for each in below.explanation.harmless] == [("add_", 1)]


def test_a_call_in_a_second_thread_does_not_end_the_watched_call():
    import threading

    @memory_stage.explain()
    def call(inside):
        inside()
        torch.ones(1).add_(1)

    def elsewhere():
        thread = threading.Thread(target=call, args=(lambda: None,))
        thread.start()
        thread.join()

    call(elsewhere)
    assert torch._C._len_torch_function_stack() == 0
    # the watched call logs the writes of the other thread, too
    assert [(each.operation, each.count) for each in call.explanation.harmless] == [("add_", 2)]


def test_a_generator_and_a_number_cannot_be_decorated():
    with pytest.raises(TypeError, match="generator or a coroutine"):

        @memory_stage.explain()
        def batches():
            yield 1

    with pytest.raises(TypeError, match="must decorate a function, not 3"):
        memory_stage.explain()(3)


# ---------- the magic ----------


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    interactive.clear_instance()
    shell = interactive.instance()
    shell.run_line_magic("load_ext", "memory_stage")
    shell.run_cell("import torch", store_history=True)
    yield shell
    interactive.clear_instance()


def test_the_extension_memory_stage_explains_a_cell(shell, capsys):
    passed = shell.run_cell(
        "%%explain\nlosses = []\nw = torch.ones(2, requires_grad=True)\nw.exp()", store_history=True
    )
    out = capsys.readouterr().out
    assert passed.success and "no fault of an in-place operation was found" in out and "ExpBackward0" in out
    assert shell.user_ns["losses"] == []
    cell = "%%explain --all\ny = w.exp()\ntorch.ones(1).add_(1)\ny.mul_(2)\ny.sum().backward()"
    assert isinstance(shell.run_cell(cell, store_history=True).error_in_exec, RuntimeError)
    out = capsys.readouterr().out
    assert SPOILED.format(4, 5) in out and "Cell In[3]" in out and "+    4  y = y.mul(2)" in out
    assert "3  torch.ones(1).add_(1)  # `add_`, 1 time" in out


def test_graphs_that_a_notebook_keeps_are_found(shell, capsys):
    shell.run_cell("net, losses = torch.nn.Linear(2, 1), []", store_history=True)
    cell = "%%explain\nfor _ in range(5):\n    losses.append(torch.tanh(net(torch.ones(3, 2))).mean())"
    assert shell.run_cell(cell, store_history=True).success
    assert "`losses` keeps 5 results with their graphs" in capsys.readouterr().out


def test_the_objects_of_ipython_are_not_searched_for_names(shell):
    shell.run_cell("w = torch.ones(3)", store_history=True)
    shell.run_cell("torch.zeros(2)", store_history=True)
    found = [name for name, _ in in_variables(shell.user_ns, lambda x: hasattr(x, "grad_fn"))]
    assert found == ["w"]
    shell.run_cell("Out = {3: torch.ones(3)}", store_history=True)  # a variable of the program
    assert "Out[3]" in [name for name, _ in in_variables(shell.user_ns, lambda x: hasattr(x, "grad_fn"))]


# ---------- the plugin of pytest ----------

TESTS = """
import torch

def test_right():
    (torch.ones(2, requires_grad=True) * 2).sum().backward()

def test_spoiled():
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()

def test_of_something_else():
    assert torch.ones(1) == 2

def test_silent():
    w = torch.ones(2, requires_grad=True)
    y = (w * torch.ones(2, requires_grad=True)).sum()
    w.data.mul_(3)
    y.backward()
"""


def test_a_failing_test_gets_an_explanation_and_a_test_with_wrong_gradients_is_listed(tmp_path):
    (tmp_path / "test_program.py").write_text(TESTS)
    plugin = ("-m", "pytest", "-q", "-p", "memory_stage.integrations.pytest_plugin")
    alone = command(tmp_path, *plugin)
    assert alone.returncode == 1 and "memory-stage:" not in alone.stdout and "2 failed, 2 passed" in alone.stdout
    watched = command(tmp_path, *plugin, "--memory-stage-explain")
    assert watched.returncode == 1 and "2 failed, 2 passed" in watched.stdout
    said = watched.stdout
    assert said.count("memory-stage:") == 2 and SPOILED.format(9, 10) in said
    assert said.index("test_spoiled ___") < said.index(SPOILED.format(9, 10)) < said.index("test_of_something_else ___")
    assert "passed with wrong gradients" in said and "test_program.py::test_silent" in said
    assert "line 18 overwrites `w` without raising its version" in said


# ---------- the options of the command ----------

PROGRAM = """
import torch
w = torch.zeros(2)
for _ in range(3):
    w.add_(1)
y = torch.ones(2, requires_grad=True).exp()
y.add_(1)
try:
    y.sum().backward()
except RuntimeError:
    print(w)
"""


def test_harmless_lines_are_counted_and_listed_on_demand(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    short = command(tmp_path, "-m", "memory_stage", "explain", "program.py")
    assert short.returncode == 0 and "\33[" not in short.stderr
    assert "memory-stage: 1 line writes in place without a fault, 3 times (--all lists them)." in short.stderr
    long = command(tmp_path, "-m", "memory_stage", "explain", "--all", "--json", "why.json", "program.py")
    assert "w.add_(1)  # `add_`, 3 times" in long.stderr and "--all" not in long.stderr
    (row,) = json.loads((tmp_path / "why.json").read_text())["harmless"]
    assert (row["line"], row["operation"], row["count"], row["text"]) == (5, "add_", 3, "w.add_(1)")


class Terminal:
    def isatty(self) -> bool:
        return True


def test_colours_are_printed_only_to_a_terminal_and_never_if_the_variable_no_color_is_set(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert one_screen.are_colours_wanted(Terminal()) and not one_screen.are_colours_wanted(sys.stderr)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not one_screen.are_colours_wanted(Terminal())
    diff = "    -    1  x = 1\n    +    1  x = 2"
    text = f"memory-stage: Line 1 is wrong.\n\n      1  x = 1  # wrong\n\n  Fix: Edit it.\n{diff}"
    shown = one_screen.coloured(text)
    assert "\33[31m    -    1  x = 1\33[0m" in shown and "\33[32m    +    1  x = 2\33[0m" in shown
    for sequence in ("\33[0m", "\33[1m", "\33[2m", "\33[31m", "\33[32m"):
        shown = shown.replace(sequence, "")
    assert shown == text


# ---------- several processes ----------


def test_each_rank_has_its_report_and_its_file(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = command(
        tmp_path, "-m", "memory_stage", "explain", "--json", "why.json", "program.py", RANK="1", WORLD_SIZE="2"
    )
    assert "memory-stage, rank 1 of 2: Line 7 overwrites" in done.stderr
    assert [path.name for path in tmp_path.glob("*.json")] == ["why.rank1.json"]


DISTRIBUTED = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
x = torch.ones(2, requires_grad=True)
y = x.exp()
total = torch.ones(1) * rank
dist.all_reduce(total)
if rank == 1:
    y.mul_(2)
try:
    y.sum().backward()
finally:
    dist.destroy_process_group()
print("sum", total.item())
"""


def test_a_program_under_torchrun_has_one_report_for_each_rank(tmp_path):
    (tmp_path / "program.py").write_text(DISTRIBUTED)
    run = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    done = command(
        tmp_path, *run, "-m", "memory_stage", "explain", "--json", "why.json", "program.py", OMP_NUM_THREADS="1"
    )
    assert "memory-stage, rank 0 of 2: no fault of an in-place operation was found." in done.stderr, done.stderr
    assert "memory-stage, rank 1 of 2: Line 11 overwrites `y`" in done.stderr
    assert "sum 1.0" in done.stdout and done.returncode != 0
    files = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("why*.json")}
    assert {name: len(found["faults"]) for name, found in files.items()} == {"why.rank0.json": 0, "why.rank1.json": 1}


# ---------- the stage of the steps around a fault ----------

LATE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x, is_late):
        h = torch.sigmoid(self.a(x))
        out = self.b(h)
        if is_late:
            {}
        return out

def train(net, opt, iteration):
    loss = net(torch.randn(5, 3), iteration == 600).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for iteration in range(1000):
    train(net, opt, iteration)
print("done")
"""


@pytest.mark.parametrize(
    ("write", "status", "verdict"),
    [
        ("h.mul_(2)", 1, "Line 14 overwrites `h`, which the backward pass in line 20 still needs."),
        (
            "self.b.weight.data.mul_(0.9)",
            3,
            "Wrong gradients: line 14 overwrites `net.b.weight` without raising its version",
        ),
    ],
)
def test_the_stage_shows_the_steps_around_a_late_fault(tmp_path, write, status, verdict):
    (tmp_path / "program.py").write_text(LATE.format(write))
    done = command(tmp_path, "-m", "memory_stage", "explain", "--stage", "why.html", "program.py", "--epochs", "1")
    assert done.returncode == status and verdict in " ".join(done.stderr.split())
    assert done.stdout.count("done") == (status == 3)
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("why.html: ") and said.endswith(" of a second run."), done.stderr
    page = (tmp_path / "why.html").read_text()
    (found,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    trace = json.loads(found)
    (variant,) = trace["variants"]
    step = variant["steps"][variant["key"]]
    assert trace["title"].startswith(verdict) and step["line"] == 14
    assert [event["do"] for event in step["events"] if event["do"] in ("write", "stale")] == ["write", "stale"]
    assert 601 in {step["passes"][0][1] for step in variant["steps"] if step.get("passes")}
    assert len(variant["steps"]) < 100


def test_the_stage_is_drawn_if_the_program_prints_at_its_exit(tmp_path):
    at_exit = "import atexit, sys\natexit.register(print, 'bye', file=sys.stderr)\n"
    source = "import torch\nw = torch.ones(3, requires_grad=True)\nh = w.exp()\nh.mul_(2)\nh.sum().backward()\n"
    (tmp_path / "program.py").write_text(at_exit + source)
    done = command(tmp_path, "-m", "memory_stage", "explain", "--stage", "why.html", "program.py")
    assert (tmp_path / "why.html").exists() and "of a second run." in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("chosen", "iteration"),
    [(("--line", "20", "--steps", "300:315"), None), (("--line", "27", "--iteration", "40"), 40)],
)
def test_the_stage_shows_the_part_of_the_run_that_the_options_choose(tmp_path, chosen, iteration):
    (tmp_path / "program.py").write_text(LATE.format("h.mul_(2)").replace("600", "60").replace("1000", "100"))
    done = command(tmp_path, "-m", "memory_stage", "explain", "--stage", "why.html", *chosen, "program.py")
    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and said.endswith("of the chosen part of a second run."), done.stderr
    page = (tmp_path / "why.html").read_text()
    (found,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    (variant,) = json.loads(found)["variants"]
    turns = {step["passes"][0][1] for step in variant["steps"] if step.get("passes")}
    assert 0 < len(variant["steps"]) < 80 and 61 not in turns
    assert iteration is None or turns == {iteration}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--line", "3"), "add --stage FILE"),
        (("--stage", "why.html", "--line", "2", "--iteration", "3"), "line 2 is in no loop"),
        (("--stage", "why.html", "--steps", "1:5", "--iteration", "3"), "leave one out"),
        (("--stage", "why.html", "--steps", "5"), "two whole numbers from 1 with FROM <= TO"),
    ],
)
def test_a_part_of_the_run_that_cannot_be_drawn_is_refused_before_the_program_runs(tmp_path, options, message):
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(1))\n")
    done = command(tmp_path, "-m", "memory_stage", "explain", *options, "program.py")
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""
    assert not (tmp_path / "why.html").exists()


def test_the_program_does_not_run_again_for_a_stage_without_a_fault_or_in_several_processes(tmp_path):
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(1).add_(1))\n")
    done = command(tmp_path, "-m", "memory_stage", "explain", "--stage", "why.html", "program.py")
    assert done.returncode == 0 and done.stdout == "tensor([2.])\n" and not (tmp_path / "why.html").exists()
    assert done.stderr.endswith("No fault was found, so no stage was drawn.\n")
    arguments = ("-m", "memory_stage", "explain", "--stage", "why.html", "program.py")
    done = command(tmp_path, *arguments, RANK="0", WORLD_SIZE="2")
    assert (
        done.returncode == 2
        and "which one process of a distributed run cannot do alone" in done.stderr
        and done.stdout == ""
    )


# ---------- transforms and compiled code ----------

TRANSFORMED = """
import torch
x = torch.ones(4, 3, requires_grad=True)

def scaled(a):
    y = a.exp()
    y.add_(1)
    return y.sum()

try:
    {}
except RuntimeError as error:
    print("raised")
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.func.vmap(scaled)(x).sum().backward()",
        "torch.func.vmap(torch.func.vmap(scaled))(x.reshape(2, 2, 3)).sum().backward()",
        "torch.func.grad(scaled)(torch.ones(3))",
        "torch.compile(scaled, backend='eager')(x).backward()",
    ],
)
def test_a_write_inside_a_transform_is_found(tmp_path, call):
    (tmp_path / "program.py").write_text(TRANSFORMED.format(call))
    done = command(tmp_path, "-m", "memory_stage", "explain", "--eager", "program.py")
    assert done.stdout == "raised\n" and "Note" not in done.stderr
    assert SPOILED.format(7, 11) in done.stderr and "+    7      y = y.add(1)" in done.stderr


def test_compiled_code_is_named_once_with_a_way_to_watch_it(tmp_path):
    (tmp_path / "program.py").write_text(TRANSFORMED.format("torch.compile(scaled, backend='eager')(x).backward()"))
    done = command(tmp_path, "-m", "memory_stage", "explain", "program.py")
    said = " ".join(done.stderr.split())
    assert said.count("Code that `torch.compile` has compiled is not watched") == 1 and "explain --eager" in said


# ---------- the cost of a long run ----------

TRAINING = """
import sys
import torch

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
state, count = torch.zeros(4, 8), int(sys.argv[1])
for iteration in range(count):
    if iteration == count // 10:
        begun = resident()
    x = torch.randn(4, 8)
    state.mul_(0.9).add_(x)
    x.mul_(state)
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print(begun, resident())
"""

#: The number of iterations. 100,000 iterations take several minutes.
ITERATIONS = os.environ.get("MEMORY_STAGE_LONG_RUN", "2000")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not list the memory of a process")
def test_the_logs_of_a_long_training_take_little_memory(tmp_path):
    (tmp_path / "program.py").write_text(TRAINING)
    (_, plain), (begun, watched) = (
        map(int, command(tmp_path, *way, "program.py", ITERATIONS).stdout.split())
        for way in ((), ("-m", "memory_stage", "explain"))
    )
    assert watched - plain < 100e6 and watched - begun < max(0.05 * plain, 20e6)


def test_the_logs_of_a_long_training_have_as_many_entries_as_those_of_a_short_one(monkeypatch):
    from memory_stage.watch import node_log, write_log

    monkeypatch.setattr(node_log, "MOST_ENTRIES", 500)
    monkeypatch.setattr(write_log, "MOST_STORAGES", 50)
    kept = []
    with memory_stage.explain() as why:
        (watched,) = (each._run for each in why._diagnosis.frameworks.values())

        def count(iteration):
            if iteration in (150, 600):
                writes, lines = watched.writes, len(watched.lines._lines)
                assert len(watched.nodes) <= 500 and len(writes) <= 50
                # A storage has one entry for each line that writes to its address, however often the line runs.
                assert max(len(each) for each in writes._storages.values()) <= len(writes.totals)
                kept.append((lines, len(writes.totals)))

        long_run.train(600, count)
    assert why.faults == [] and kept[0] == kept[1]
    assert sum(watched.writes.totals.values()) > 600 > sum(map(len, watched.writes._storages.values()))


class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
    """Record the operations that reach a device. On a GPU, reading a value would wait for the device."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.operations.append(str(func))
        return func(*args, **(kwargs or {}))


def test_watching_adds_no_operation_that_could_wait_for_a_device():
    def train():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(inplace=True))
        opt = torch.optim.Adam(net.parameters())
        for iteration in range(3):
            y = net(torch.ones(4, 2)) * 2
            y[0] = 1
            opt.zero_grad()
            y.square().sum().backward()
            net[0].weight.data.clamp_(-1, 1)
            opt.step()
            if iteration == 2:
                y = net(torch.ones(4, 2)).exp()
                y.mul_(2)
                with pytest.raises(RuntimeError, match="modified by an inplace"):
                    y.sum().backward()

    with Dispatched() as alone:
        train()
    with Dispatched() as watched, memory_stage.explain() as why:
        train()
    assert [fault.kind for fault in why.faults] == ["overwritten"], str(why)
    assert len(alone.operations) > 100
    assert not Counter(alone.operations) - Counter(watched.operations)
    added = Counter(watched.operations) - Counter(alone.operations)
    assert set(added) <= {"aten.detach.default"}  # a view, for the diagnosis of the backward pass that failed
