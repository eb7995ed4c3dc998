"""Explain whole runs: programs of bug reports, long trainings, correct programs, and the memory of the logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.explanation.whole_run.explanation import watching  # noqa: E402
from tests.support.peers.whole_runs import REPORTS, culprits, explained, report, written  # noqa: E402

PROGRAMS = Path(__file__).parent / "programs"

FOUND = culprits("torch")
#: For each program that its author may have meant in two ways: the two meanings, in the order of the fixes.
MEANINGS = {
    "o20_actor_after_the_step_of_its_critic": ("forward_again", "same_parameters"),
    "t01_gan_joint_losses": ("drawn_again", "same_parameters"),
}


@pytest.mark.parametrize("number", FOUND)
def test_the_program_of_a_bug_report_gets_its_line_and_a_fix_with_the_right_output(number, tmp_path):
    path = report(number)
    kind, line = FOUND[number]
    explanation, _, _ = explained(path)
    assert [each.kind for each in explanation.faults] == [kind], str(explanation)
    (fault,) = explanation.faults
    assert line in [each.line.number for each in fault.evidence] and explanation.unseen == []
    assert fault.fixes
    edited = [fix for fix in fault.fixes if fix.edits]
    assert edited, str(explanation)
    for fix, right in zip(edited, right_outputs(path, len(edited)), strict=True):
        mended = written(tmp_path, fix.apply(path.read_text()))
        again, output, error = explained(mended)
        assert error is None and output in right, f"{fix.sentence}\n{mended.read_text()}"
        assert again.faults == [], str(again)


def right_outputs(path: Path, fixes: int) -> list[set[str]]:
    """Return, for each fix, a set with the output of the corrected program that has the meaning of the fix."""
    meanings = [REPORTS / "right" / f"{path.stem}_{meaning}.py" for meaning in MEANINGS.get(path.stem, ())]
    if meanings:
        return [{explained(each)[1]} for each in meanings]
    return [{explained(REPORTS / "right" / path.name)[1]}] * fixes


@pytest.mark.parametrize("path", sorted(REPORTS.glob("right/[not]*.py")), ids=lambda path: path.stem)
def test_a_corrected_program_has_no_faults(path):
    explanation, _, error = explained(path)
    assert error is None and explanation.faults == [] and explanation.unseen == [], str(explanation)


RIGHT = {
    "two forwards of batch normalization before one backward": """
import torch
from torch import nn
net, critic = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()), nn.Linear(4, 1)
loss = critic(net(torch.randn(8, 3))).mean() - critic(net(torch.randn(8, 3))).mean()
loss.backward()
""",
    "a moving average of the parameters": """
import copy, torch
from torch import nn
net = nn.Linear(3, 2)
average = copy.deepcopy(net)
opt = torch.optim.AdamW(net.parameters())
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(4, 3)).square().mean().backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), net.parameters()):
            slow.mul_(0.9).add_(fast, alpha=0.1)
        for slow, fast in zip(average.parameters(), net.parameters()):
            slow.data.copy_(fast.data)
""",
    "weights clipped through .data after each step": """
import torch
from torch import nn
critic = nn.Linear(3, 1)
opt = torch.optim.RMSprop(critic.parameters())
for _ in range(4):
    opt.zero_grad()
    critic(torch.randn(4, 3)).mean().backward()
    opt.step()
    for p in critic.parameters():
        p.data.clamp_(-0.01, 0.01)
""",
    "gradients accumulated and clipped in place": """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    for _ in range(2):
        net(torch.randn(4, 3)).square().mean().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    opt.step()
    opt.zero_grad()
""",
    "a state that is detached in each iteration": """
import torch
from torch import nn
cell, hidden = nn.GRUCell(2, 3), torch.zeros(1, 3)
opt = torch.optim.Adam(cell.parameters())
for _ in range(4):
    hidden = cell(torch.randn(1, 2), hidden.detach())
    opt.zero_grad()
    hidden.sum().backward()
    opt.step()
""",
    "losses of several tasks added up before one backward": """
import torch
from torch import nn
net = nn.Linear(3, 4)
loss = 0
for column in range(4):
    loss += net(torch.randn(2, 3))[:, column].square().mean()
loss.backward()
""",
    "a generator trained with a new forward pass": """
import torch
from torch import nn
gen, dis = nn.Linear(2, 3), nn.Linear(3, 1)
og, od = torch.optim.Adam(gen.parameters()), torch.optim.Adam(dis.parameters())
for _ in range(3):
    fake = gen(torch.randn(4, 2))
    od.zero_grad()
    (dis(fake.detach()).mean() - dis(torch.randn(4, 3)).mean()).backward()
    od.step()
    og.zero_grad()
    (-dis(fake).mean()).backward()
    og.step()
""",
    "a custom function, and weights clipped through .data": """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    opt.zero_grad()
    Square.apply(w).sum().backward()
    opt.step()
    w.data.clamp_(-1, 1)
""",
    "a state dict that is filled and loaded again": """
import torch
net = torch.nn.Linear(2, 2)
net(torch.ones(1, 2)).sum().backward()
own = net.state_dict()
for key in own:
    own[key].copy_(torch.zeros_like(own[key]))
net.load_state_dict(own)
""",
    "a kept graph, and outputs that a loss reads": """
import torch
net, h, outs, loss = torch.nn.Linear(2, 2), torch.ones(1, 2), [], 0
for _ in range(4):
    h = torch.tanh(net(h))
    outs.append(h)
    loss += h.sum()
loss.backward(retain_graph=True)
torch.stack(outs).sum().backward(retain_graph=True)
""",
    "a write through .data to other cells than the saved cells": """
import torch
pool = torch.ones(2, 3, requires_grad=True)
y = (pool[0] * pool[0]).sum()
pool.data[1] = 5
y.backward()
""",
    "layers with a residual sum": """
import torch
net, x = torch.nn.Linear(3, 3), torch.ones(1, 3)
for _ in range(4):
    x += torch.tanh(net(x.clone()))
""",
    "a sparse parameter that is loaded": """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.eye(2).to_sparse())
net = Net()
net.load_state_dict(net.state_dict())
""",
    "second derivatives": """
import torch
x = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
g.sum().backward()
""",
    "tied weights and mixed precision": """
import torch
from torch import nn
emb, out = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
out.weight = emb.weight
opt = torch.optim.SGD(emb.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = out(emb(torch.arange(5))).float().square().mean()
    loss.backward()
    opt.step()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_program_has_no_faults(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, RIGHT[name]))
    assert error is None and explanation.faults == [] and explanation.unseen == [], str(explanation)


LATE = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for iteration in range(2000):
    x = torch.randn(4, 2)
    y = torch.tanh(net(x))
    loss = y.square().mean()
    if iteration == 1500:
        y.mul_(2.0)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_fault_in_iteration_1500_is_named(tmp_path):
    explanation, _, error = explained(written(tmp_path, LATE))
    assert "modified by an inplace operation" in str(error)
    (fault,) = explanation.faults
    assert [each.line.number for each in fault.evidence] == [9, 10, 12, 14]
    assert "`y`" in fault.verdict and len(fault.fixes) == 1  # a copy for line 10 alone would not help line 9
    again, _, error = explained(written(tmp_path, fault.fixes[0].apply(LATE)))
    assert error is None and again.faults == []


SILENT = """
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0], requires_grad=True)
y = (w * x).sum()
w.data.clamp_(max=1.5)
y.backward()
print(x.grad)
"""


UNSAFE = {
    "a row of a tensor": """
import torch
x = torch.ones(2, 2, requires_grad=True)
y = torch.exp(x)
row = y[0]
row.mul_(2)
y.sum().backward()
""",
    "a variable from outside the function that writes it": """
import torch
x = torch.ones(2, requires_grad=True)
y = torch.exp(x)
def scale():
    y.mul_(2)
scale()
y.sum().backward()
""",
    "an argument of a function that is called only because it writes to the argument": """
import torch
x = torch.ones(2, requires_grad=True)
def scale(t):
    t.mul_(2)
y = torch.exp(x)
scale(y)
y.sum().backward()
""",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_no_edit_is_offered_where_a_new_tensor_would_change_the_meaning(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, UNSAFE[name]))
    assert "modified by an inplace operation" in str(error)
    (fault,) = explanation.faults
    assert fault.fixes and all(fix.edits == () for fix in fault.fixes), str(explanation)


def test_the_second_of_two_backward_passes_is_checked(tmp_path):
    source = SILENT.replace("y.backward()", "torch.ones(1, requires_grad=True).sum().backward()\ny.backward()")
    explanation, _, _ = explained(written(tmp_path, source))
    assert [each.kind for each in explanation.faults] == ["overwritten silently"]


def test_a_silent_fault_of_a_loop_is_one_fault(tmp_path):
    source = SILENT.replace("y = (w", "for _ in range(30):\n  y = (w").replace("w.data", "  w.data")
    source = source.replace("y.backward()", "  y.backward()")
    explanation, _, _ = explained(written(tmp_path, source))
    assert len(explanation.faults) == 1


def test_an_unversioned_write_is_found_although_the_program_raises_no_error(tmp_path):
    explanation, output, error = explained(written(tmp_path, SILENT))
    assert error is None and output == "tensor([1.0000, 1.5000])\n"  # 2 would be right
    (fault,) = explanation.faults
    assert fault.is_silent and explanation.is_silently_wrong
    assert "line 6 overwrites `w` without raising its version" in fault.verdict


def test_a_with_block_is_watched_and_its_variables_are_searched_for_graphs():
    import memory_stage

    net, total = torch.nn.Linear(3, 1), 0
    with memory_stage.explain() as why:
        for _ in range(4):
            loss = torch.tanh(net(torch.ones(2, 3))).mean()
            total += loss
    (fault,) = why.faults
    assert fault.kind == "leak" and "`total` keeps the graphs of 4 iterations" in fault.verdict
    assert "+" in str(why) and "total += loss.item()" in str(why)
    with pytest.raises(TypeError, match="used as a context manager takes only language"):
        memory_stage.explain(catch=True)


def test_the_logs_stay_small_in_a_long_run():
    explanation = watching()
    with explanation:
        watch = explanation._diagnosis.frameworks["torch"]._run
        w = torch.zeros(2, requires_grad=True)
        for _ in range(3000):
            (w * 2).sum().backward()
            with torch.no_grad():
                w.sub_(w.grad)
                w.grad.zero_()
        assert len(watch.writes) < 50 and len(watch.nodes) <= 6001


def test_explain_does_not_change_the_output_or_the_error_of_a_program(tmp_path):
    source = (
        "import torch, warnings\n"
        "def f(x):\n"
        "    return x @ torch.ones(3)\n"
        "with torch.inference_mode():\n"
        "    guess = torch.ones(2).mul_(2)\n"
        "print(guess, torch.func.vmap(lambda a: a.sum())(torch.ones(2, 3)))\n"
        "f(torch.ones(2))\n"
    )
    path = written(tmp_path, source)
    plain = command(tmp_path, str(path))
    watched = command(tmp_path, "-m", "memory_stage", "explain", str(path))
    assert watched.returncode == plain.returncode == 1 and watched.stdout == plain.stdout
    assert watched.stderr.startswith(plain.stderr)
    assert (
        watched.stderr.removeprefix(plain.stderr).strip()
        == "memory-stage: no fault of an in-place operation was found."
    )


UNWATCHED = """
import threading, torch

@torch.jit.script
def scripted(x):
    y = x * 2
    y.add_(1)
    return y

x = torch.ones(3, requires_grad=True)
scripted(x).sum().backward()
thread = threading.Thread(target=lambda: x.exp().sum().backward())
thread.start()
thread.join()
compiled = torch.compile(lambda a: (a * a).sum(), backend="eager")
for _ in range(2):
    compiled(x).backward()
print(x.grad)
"""


def test_code_that_cannot_be_watched_runs_unchanged_and_is_named_once(tmp_path):
    path = written(tmp_path, UNWATCHED)
    plain = command(tmp_path, str(path))
    watched = command(tmp_path, "-m", "memory_stage", "explain", str(path))
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    assert watched.stderr.startswith(plain.stderr)
    said = " ".join(watched.stderr.removeprefix(plain.stderr).split())
    for words in ("TorchScript runs is not watched", "Another thread computes", "`torch.compile` has compiled is not"):
        assert said.count(words) == 1, said


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_command_writes_json_and_returns_status_3_if_gradients_are_silently_wrong(tmp_path):
    path = written(tmp_path, SILENT)
    done = command(tmp_path, "-m", "memory_stage", "explain", "--json", "why.json", str(path))
    assert done.returncode == 3 and done.stdout == "tensor([1.0000, 1.5000])\n"
    assert "Wrong gradients: line 6 overwrites `w`" in done.stderr
    (fault,) = json.loads((tmp_path / "why.json").read_text())["faults"]
    assert fault["kind"] == "overwritten silently" and [each["line"] for each in fault["lines"]] == [5, 6, 7]


ELSEWHERE = """
import threading
import torch
w = torch.ones(3, requires_grad=True)
y = torch.exp(w * 2)
def work():
    for _ in range(2):
        torch.ones(2).add(1)
    with torch.no_grad():
        {write}
thread = threading.Thread(target=work)
thread.start()
thread.join()
y.sum().backward()
"""


@pytest.mark.parametrize(("write", "kind"), [("y.add_(1)", "overwritten"), ("y.data[0] = 3", "overwritten silently")])
def test_a_write_by_another_thread_is_named_as_the_culprit(write, kind, tmp_path):
    explanation, _, _ = explained(written(tmp_path, ELSEWHERE.format(write=write)))
    (fault,) = explanation.faults
    assert fault.kind == kind
    assert [each.line.text for each in fault.evidence if each.is_culprit] == [write]
    assert [each.partition(":")[0] for each in explanation.unseen] == ["Another thread computes with tensors"]
