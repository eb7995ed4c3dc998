"""Apply each fix that has edits: the program has to run without a fault, and to print the intended result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.explanation.rewrite import out_of_place  # noqa: E402
from memory_stage.explanation.whole_run.program_text import ProgramText, is_fed_back  # noqa: E402
from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nw = torch.rand(3, 3, requires_grad=True)\n"
PROGRAMS = {
    "a line that saves what it overwrites": (
        "states = torch.ones(5, 3)\nfor t in range(4):\n    states[t + 1] = torch.tanh(w @ states[t])\n"
        "loss = states.sum()",
        "rows = [torch.ones(3)]\nfor t in range(4):\n    rows.append(torch.tanh(w @ rows[-1]))\n"
        "loss = torch.stack(rows).sum()",
    ),
    "a name that begins another name in the line": (
        "acc, acc2 = torch.ones(3), torch.ones(3)\nfor i in range(3):\n    acc[i] += w[0, i]\n    acc2 *= acc\n"
        "loss = acc2.sum()",
        "acc, acc2 = torch.ones(3), torch.ones(3)\nfor i in range(3):\n    acc = acc.clone()\n    acc[i] += w[0, i]\n"
        "    acc2 = acc2 * acc\nloss = acc2.sum()",
    ),
    "an argument that has the name of the tensor": (
        "def total(x, scale): return (x * scale).sum()\nscale = w + 1\nloss = total(w, scale=scale)\nscale.mul_(2)",
        "loss = (w * (w + 1)).sum()",
    ),
    "an operation that exists in place only": (
        "similar = torch.exp(w @ w.t())\nsimilar.fill_diagonal_(0)\nloss = similar.sum()",
        "loss = (torch.exp(w @ w.t()) * (1 - torch.eye(3))).sum()",
    ),
    "an argument of a layer": (
        "class Block(nn.Module):\n    def forward(self, x):\n        h = x.pow(2)\n        x += h\n        return x\n"
        "loss = nn.Sequential(Block(), Block())(w * 2).sum()",
        "x = w * 2\nx = x + x.pow(2)\nloss = (x + x.pow(2)).sum()",
    ),
    "a result that out= would write": (
        "y = torch.empty(3, 3)\ntorch.mm(w, w, out=y)\nloss = y.sum()",
        "loss = (w @ w).sum()",
    ),
    "a gradient that is differentiated": (
        "g, = torch.autograd.grad(w.pow(3).sum(), w)\nloss = g.pow(2).sum()",
        "loss = (3 * w.pow(2)).pow(2).sum()",
    ),
    "a difference whose history is dropped": (
        "loss = (w * 2 - w.exp()).data.pow(2).mean()",
        "loss = (w * 2 - w.exp()).pow(2).mean()",
    ),
    "a dropped history of an expression with braces": (
        "loss = {'a': w * 2}['a'].data.pow(2).mean()",
        "loss = (w * 2).pow(2).mean()",
    ),
    "a statement with a semicolon": ("h = w.exp()\nh.mul_(2);\nloss = h.sum()", "loss = (w.exp() * 2).sum()"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_fix_with_edits_gives_the_intended_gradient(name, tmp_path):
    end = "\nloss.backward()\nprint([round(x, 3) for x in w.grad.flatten().tolist()])\n"
    faulty, correct = (BEGIN + source + end for source in PROGRAMS[name])
    _, expected, error = explained(written(tmp_path, correct))
    assert error is None
    explanation, _, error = explained(written(tmp_path, faulty))
    assert isinstance(error, RuntimeError)
    fixes = [each for fault in explanation.faults for each in fault.fixes if each.edits]
    assert fixes, str(explanation)
    for fix in fixes:
        again, output, error = explained(written(tmp_path, fix.apply(faulty)))
        assert error is None and again.faults == [] and output == expected, f"{fix.apply(faulty)}\n{again}"


def test_no_rewritten_method_is_missing_in_torch():
    methods = [each for each in dir(torch.Tensor) if each.endswith("_") and not each.startswith("_")]
    plain = [each.removesuffix("_") for each in methods]
    rewritten = [name for name in plain if f"x.{name}(" in out_of_place(f"x.{name}_(1)")]
    assert len(rewritten) > 100 and [name for name in rewritten if not hasattr(torch.Tensor, name)] == []


def test_the_fix_writes_a_leaf_given_as_out_without_recording(tmp_path):
    source = BEGIN + "torch.add(torch.ones(3, 3), 2, out=w)\nprint(w.sum().item())\n"
    (fault,) = explained(written(tmp_path, source))[0].faults
    (fix,) = fault.fixes
    again, output, error = explained(written(tmp_path, fix.apply(source)))
    assert error is None and again.faults == [] and output == "27.0\n"


CONSTANT = """
net = nn.Linear(3, 3)
old = net(w) + 1
for k in range(2):
    new = net(w) + 1
    loss = (new / old).log().sum()
    loss.backward()
"""


def test_an_operation_gets_parentheses_in_front_of_detach(tmp_path):
    source = BEGIN + CONSTANT.lstrip()
    (fault,) = explained(written(tmp_path, source))[0].faults
    assert "old = (net(w) + 1).detach()" in fault.fixes[0].apply(source)


def test_a_comment_or_a_keyword_with_the_name_of_a_variable_does_not_make_the_variable_a_state(tmp_path):
    lines = ["f = w * 2  # f has new numbers", "d = nn.MSELoss()(f, target=f.detach())", "old = f; f = f + 1"]
    found = [is_fed_back(ProgramText(str(written(tmp_path, line))), "f") for line in lines]
    assert found == [False, False, True]


BUFFERS = """
model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
loss = model(torch.randn(4, 3)).sum()
for b in model.buffers():
    b.copy_(b.clone())
loss.backward()
"""


def test_a_written_buffer_of_a_batch_norm_is_named_with_the_operation_that_saved_it(tmp_path):
    (fault,) = explained(written(tmp_path, BEGIN + BUFFERS.lstrip()))[0].faults
    assert "running_" in str(fault.verdict) and "checkpoint" not in str(fault.verdict)
    culprits = [each.line.text.strip() for each in fault.evidence if each.is_culprit]
    assert culprits == ["b.copy_(b.clone())"]
    assert str(fault.reason).startswith("The derivative does not use these numbers here")


#: Programs whose losses are computed from comparisons only: no history was dropped on the way to them.
COMPARISONS = {
    "a copy of the numbers": "loss = torch.tensor((h > 1).float().mean().item(), requires_grad=True)",
    "a copy of a list": "hits = [h.argmax(1).float().mean().item()]\n"
    "loss = torch.tensor(hits, requires_grad=True).sum()",
    "a detached comparison": "loss = (h.argmax(1) == 0).float().mean().detach()",
    "a variable without a history": "hit = (h > 1).float().mean().item()\nloss = torch.tensor(hit)",
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_is_not_called_a_dropped_history(name, tmp_path):
    source = f"{BEGIN}h = w.exp()\n{COMPARISONS[name]}\nloss.backward()\n"
    explanation, _, _ = explained(written(tmp_path, source))
    assert not [fix for fault in explanation.faults for fix in fault.fixes], str(explanation)
    assert "history cut" not in [fault.kind for fault in explanation.faults]


def test_a_value_beside_a_comparison_keeps_its_history(tmp_path):
    source = f"{BEGIN}h = w.exp()\nloss = (h * (h > 1)).sum().detach()\nloss.backward()\n"
    (fault,) = explained(written(tmp_path, source))[0].faults
    assert "loss = (h * (h > 1)).sum()\n" in fault.fixes[0].apply(source)
