"""Test scripted functions, traced functions and threads: one sentence says that they are not recorded, and they run
as without a recorder.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

import memory_stage as stage  # noqa: E402
from memory_stage.engines.torch.monkeypatches import SCRIPTED, TRACED  # noqa: E402
from memory_stage.engines.torch.threads import ELSEWHERE  # noqa: E402
from memory_stage.messages import Text  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]

SCRIPTS = """\
import traceback
import torch
@torch.jit.script
def double(x):
    return x * 2
def through(x):
    return double(x)
x = torch.ones(2, requires_grad=True)
y = through(x)
(y * y).sum().backward()
net = torch.jit.script(torch.nn.Linear(2, 1))
out = net(torch.ones(1, 2))
try:
    double("a")
except RuntimeError:
    traceback.print_exc()
print(x.grad, out.shape, double.graph)
"""

TRACES = """\
import traceback
import torch
def chain(x):
    y = x * 2
    z = y.reshape(-1) + y.numel()
    return z.sum()
traced = torch.jit.trace(chain, torch.ones(3, requires_grad=True))
print(traced.graph, traced.code, traced(torch.ones(3)))
def wrong(x):
    raise ValueError("while it is traced")
try:
    torch.jit.trace(wrong, torch.ones(1))
except ValueError:
    traceback.print_exc()
"""

THREADS = """\
import threading, traceback
from concurrent.futures import ThreadPoolExecutor
import torch
x = torch.ones(3)
def work(n):
    for _ in range(n):
        x.add_(1)
    return x @ torch.ones(4)
t = threading.Thread(target=work, args=(2,), name="two")
t.start()
t.join()
with ThreadPoolExecutor(1) as pool:
    bad = pool.submit(work, 1)
try:
    bad.result()
except RuntimeError:
    traceback.print_exc()
print(x)
"""


def lines(source: str, text: Text, **names) -> list[int]:
    """Record the program, and return the lines whose sentences contain the text."""
    shown = stage.record(source, {"torch": torch, **names})
    variant = shown.data["variants"][0]
    assert variant["truncated"] is None
    return [step["line"] for step in variant["steps"] if str(text) in step["say"]]


@pytest.mark.parametrize(
    ("source", "text", "line"), [(SCRIPTS, SCRIPTED, 7), (TRACES, TRACED, 7), (THREADS, ELSEWHERE, 10)]
)
def test_a_sentence_says_once_and_at_the_right_line_that_code_is_not_recorded(source, text, line, capsys):
    assert [at - line in (0, 1) for at in lines(source, text)] == [True]  # a thread may start late


@pytest.mark.parametrize("source", [SCRIPTS, TRACES, THREADS], ids=["scripted", "traced", "threads"])
def test_output_tracebacks_and_exit_status_are_those_of_the_program_alone(source, tmp_path):
    (tmp_path / "program.py").write_text(source)
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    alone, watched = (
        subprocess.run(
            [sys.executable, "-W", "ignore", *way, "program.py"],
            capture_output=True, text=True, cwd=tmp_path, env=environment,
        )
        for way in ((), ("-m", "memory_stage"))
    )  # fmt: skip
    assert watched.stdout == alone.stdout and watched.returncode == alone.returncode == 0
    assert watched.stderr.startswith(alone.stderr) and "Error" in alone.stderr


def test_an_existing_pool_of_threads_is_reported():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.ones, 1).result().item() == 1
        assert lines("x = pool.submit(torch.ones, 2).result()\ny = x + 1", ELSEWHERE, pool=pool) == [1]
        assert pool.submit(torch._C._len_torch_function_stack).result() == 0


def test_a_layer_in_evaluation_uses_the_fast_path_in_a_pool_of_threads():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    source = (
        "from concurrent.futures import ThreadPoolExecutor\ndef run():\n    with torch.no_grad():\n"
        "        return layer(x)\nwith ThreadPoolExecutor(1) as pool:\n    y = pool.submit(run).result()"
    )
    alone, watched = ({"torch": torch, "layer": layer, "x": x} for _ in range(2))
    exec(source, alone)
    stage.record(source, watched)
    assert watched["y"].numpy().tobytes() == alone["y"].numpy().tobytes()


def test_a_thread_without_tensors_is_not_reported():
    source = "t = threading.Thread(target=print)\nt.start()\nt.join()\nx = torch.ones(2)"
    assert lines(source, "thread", threading=threading) == []


def test_threads_of_a_data_loader_are_not_reported():
    source = (
        "data = torch.utils.data.TensorDataset(torch.arange(4.0))\n"
        "n = [b.sum().item() for b, in torch.utils.data.DataLoader(data, batch_size=2, num_workers=1)]"
    )
    assert lines(source, "thread") == []


def test_a_thread_that_outlives_the_recording_has_no_function_mode_of_the_recorder():
    go, done, found = threading.Event(), threading.Event(), []

    def work():
        torch.ones(1)
        found.append(len([1]))
        go.wait(10)
        torch.ones(1).add_(1)
        found.append((torch._C._len_torch_function_stack(), sys.getprofile()))
        done.set()

    names = {"torch": torch, "threading": threading, "work": work}
    stage.record("t = threading.Thread(target=work)\nt.start()", names)
    go.set()
    assert done.wait(10)
    names["t"].join()
    assert found[-1] == (0, None)


def test_the_functions_that_torch_calls_internally_are_restored():
    real = [threading.Thread._bootstrap_inner, torch.jit.trace, vars(torch._C.ScriptFunction)["__call__"]]
    stage.record(SCRIPTS, {})
    assert [threading.Thread._bootstrap_inner, torch.jit.trace, vars(torch._C.ScriptFunction)["__call__"]] == real


@pytest.mark.parametrize("settings", [{}, {"fullgraph": True}])
def test_torch_compiles_a_function_of_the_program_without_the_recorders_hooks(settings):
    source = "def f(x):\n    y = x * 2\n    return y\nf = torch.compile(f, backend='eager', **settings)\n"
    source += "y = f(torch.ones(2))\n"
    names = {"torch": torch, "settings": settings}
    shown = stage.record(source, names)
    assert shown.error is None and names["y"].tolist() == [2, 2]
    assert shown.data["variants"][0]["truncated"] is None
