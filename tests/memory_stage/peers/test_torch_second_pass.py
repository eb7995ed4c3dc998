"""Explain backward passes through a graph that an earlier pass of the same line has freed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = "import torch\ntorch.manual_seed(0)\nw = torch.ones(3, requires_grad=True)\n"

#: For each program: its lines, the line that runs backward, and True if a fix edits the program.
REPEATED = {
    "one loss in a loop": ("loss = (w * w).sum()\nfor _ in range(3):\n    loss.backward()\n", "loss.backward()", True),
    "several heads on the same features": (
        "features = torch.tanh(w * 2)\nfor factor in (1.0, 2.0):\n"
        "    loss = (features * factor).sum()\n    loss.backward()\n",
        "loss.backward()",
        True,
    ),
    "a row of a Jacobian in each iteration": (
        "y = torch.exp(w)\nfor i in range(2):\n    (g,) = torch.autograd.grad(y[i], w)\n",
        "(g,) = torch.autograd.grad(y[i], w)",
        True,
    ),
    "a function that is called twice": (
        "def run(loss):\n    loss.backward()\nloss = (w * w).sum()\nrun(loss)\nrun(loss)\n",
        "loss.backward()",
        False,
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_line_that_runs_backward_twice_is_mentioned_once(name, tmp_path):
    lines, passed, has_edits = REPEATED[name]
    explanation, _, error = explained(written(tmp_path, BEGIN + lines))
    assert "a second time" in str(error)
    (fault,) = explanation.faults
    number = fault.evidence[-1].line.number
    assert fault.evidence[-1].line.text == passed
    assert fault.verdict == f"Line {number} runs backward again through a graph that it has already freed."
    texts = [str(fault.verdict), *(str(fix.sentence) for fix in fault.fixes)]
    assert all(text.count(f"line {number}") < 2 for text in texts), texts
    edited = [fix for fix in fault.fixes if fix.edits]
    assert bool(edited) == has_edits
    for fix in edited:
        again, _, error = explained(written(tmp_path, fix.apply(BEGIN + lines)))
        assert error is None and again.faults == [], fix.apply(BEGIN + lines)


CARRIED = """
import torch
torch.manual_seed(0)
cell = torch.nn.RNNCell(2, 3)
h = torch.zeros(1, 3)
for _ in range(3):
    h = cell(torch.ones(1, 2), h)
    h.sum().backward()
"""


def test_if_one_line_makes_and_reads_a_state_the_evidence_is_in_the_order_of_the_run(tmp_path):
    explanation, _, _ = explained(written(tmp_path, CARRIED))
    (fault,) = explanation.faults
    assert [each.line.number for each in fault.evidence] == [7, 8, 7, 8]
    assert "reads `h`" in str(fault.evidence[2].role)


def test_two_passes_through_the_same_loss_are_not_repaired_by_adding_the_loss_to_itself(tmp_path):
    lines = "loss = (w * w).sum()\nloss.backward()\nfirst = w.grad.clone()\nloss.backward()\n"
    explanation, _, error = explained(written(tmp_path, BEGIN + lines))
    (fault,) = explanation.faults
    assert "a second time" in str(error) and [each.line.number for each in fault.evidence] == [4, 5, 7]
    (edited,) = [fix.apply(BEGIN + lines) for fix in fault.fixes if fix.edits]
    assert edited == BEGIN + lines.replace("clone()\n", "clone()\nloss = (w * w).sum()\n")
