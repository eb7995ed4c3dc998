"""Explain writes to tensors that a ``torch.autograd.Function`` of the program saves for its backward."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.api import run  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402
from memory_stage.explanation.verdict import Verdict  # noqa: E402
from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """\
import torch
from torch.autograd import Function

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

class Exp(Function):
    @staticmethod
    def forward(ctx, x, extra=None):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[1] * g, None

class Kept(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.unread = x, x
        return x * x
    @staticmethod
    def backward(ctx, g):
        return (lambda: 2 * ctx.x * g)()

class Unread(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Set(Function):
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

w = torch.full((4,), 2.0, requires_grad=True)
h = w * 1
"""
END = "y.sum().backward()\nprint(w.grad.tolist())\n"

#: For each program: its lines, the line that overwrites a saved tensor, and the kind of the fault.
OVERWRITTEN = {
    "a saved input": ("y = Square.apply(h)\nh.add_(1)\n", "h.add_(1)", "overwritten"),
    "a saved result": ("y = Exp.apply(h)\ny.add_(1)\n", "y.add_(1)", "overwritten"),
    "a saved result, after an unused input": ("y = Exp.apply(h)\ny.mul_(2)\n", "y.mul_(2)", "overwritten"),
    "a function under another name": ("f = Square.apply\ny = f(h)\nh[0] = 1\n", "h[0] = 1", "overwritten"),
    "setup_context": ("y = Set.apply(h)\nh.add_(1)\n", "h.add_(1)", "overwritten"),
    "a saved input, through .data": ("y = Square.apply(h)\nh.data.add_(1)\n", "h.data.add_(1)", "overwritten silently"),
    "a saved result, through .data": ("y = Exp.apply(h)\ny.data[1:] = 3\n", "y.data[1:] = 3", "overwritten silently"),
    "an attribute of ctx": ("y = Kept.apply(h)\nh.add_(1)\n", "h.add_(1)", "overwritten silently"),
    "a view in an attribute of ctx": ("y = Kept.apply(h[1:3])\nh[2] = 5\n", "h[2] = 5", "overwritten silently"),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_the_whole_run_and_the_steps_name_the_line_that_overwrote_a_saved_tensor(name, tmp_path):
    lines, blamed, kind = OVERWRITTEN[name]
    source = BEGIN + lines + END
    explanation, _, error = explained(written(tmp_path, source))
    assert (error is None) == (kind == "overwritten silently") and explanation.unseen == []
    (fault,) = explanation.faults
    assert fault.kind == kind
    assert [each.line.text for each in fault.evidence if each.is_culprit] == [blamed], str(explanation)
    (saver,) = [each.line.text for each in fault.evidence if ".apply(" in each.line.text or "f(h)" in each.line.text]
    assert saver in lines
    reporter = StepReporter()
    done = run(source, {}, on_step=reporter.on_step)
    rows = reporter.report(done.variant).rows
    bad = [row for row in rows if {Verdict.STALE, Verdict.UNNOTICED} & {*row.verdicts}]
    assert [row.where.text for row in bad] == [blamed]


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_a_fixed_program_with_a_custom_function_has_no_fault(name, tmp_path):
    source = BEGIN + OVERWRITTEN[name][0] + END
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    for fix in [each for each in fault.fixes if each.edits]:
        again, _, error = explained(written(tmp_path, fix.apply(source)))
        assert error is None and again.faults == [], fix.apply(source)


RIGHT = {
    "an attribute that backward does not read": "y = Unread.apply(h)\nh.add_(1)\n",
    "another part of the memory of an attribute": "y = Kept.apply(h[1:3])\nh[0] = 5\n",
    "a write before the call": "h.data.add_(1)\nh.add_(1)\ny = Kept.apply(h)\n",
    "a write after backward": (
        "y = Kept.apply(h)\ny.sum().backward()\nh.detach().add_(1)\nh = w * 1\ny = Kept.apply(h)\n"
    ),
    "no gradient": "with torch.no_grad():\n    Kept.apply(h)\n    h.add_(1)\nh = w * 1\ny = Square.apply(h)\n",
    "calls with gradients inside a function": "y = Square.apply(Exp.apply(h))\n",
    "a training": (
        "opt = torch.optim.SGD([w], lr=0.1)\nfor _ in range(6):\n    opt.zero_grad()\n"
        "    Kept.apply(w).sum().backward()\n    opt.step()\ny = Kept.apply(w)\n"
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_use_of_a_custom_function_has_no_fault(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, BEGIN + RIGHT[name] + END))
    assert error is None and explanation.faults == [] and explanation.unseen == [], str(explanation)


def test_function_apply_is_restored_and_custom_functions_work_under_transforms(tmp_path):
    before = vars(torch.autograd.Function)["apply"]
    source = BEGIN + "print(torch.func.grad(lambda x: Set.apply(x).sum())(w).tolist())\ny = Set.apply(w)\n" + END
    explanation, output, error = explained(written(tmp_path, source))
    assert error is None and explanation.faults == [] and output == "[4.0, 4.0, 4.0, 4.0]\n" * 2
    assert vars(torch.autograd.Function)["apply"] is before
