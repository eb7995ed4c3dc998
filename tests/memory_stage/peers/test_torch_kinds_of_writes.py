"""Explain writes in unusual places, such as inside an expression or through ``.data``, with fixes that work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
x = torch.randn(2, 3)
"""
END = "print([round(each, 4) for each in w.grad.flatten().tolist()])\n"

#: For each program: its wrong lines between BEGIN and END, the line that writes, and the right lines.
WRITES = {
    "in an argument of a function whose result has another name": (
        "h = torch.tanh(x @ w)\ny = F.relu(h, inplace=True)\ny.sum().backward()\n",
        "y = F.relu(h, inplace=True)",
        "h = torch.tanh(x @ w)\ny = F.relu(h)\ny.sum().backward()\n",
    ),
    "in the value that a function returns": (
        "def f(x):\n    h = torch.tanh(x @ w)\n    return F.relu(h, inplace=True)\nf(x).sum().backward()\n",
        "return F.relu(h, inplace=True)",
        "def f(x):\n    h = torch.tanh(x @ w)\n    return F.relu(h)\nf(x).sum().backward()\n",
    ),
    "in an expression, to a tensor that a later line reads": (
        "h = torch.sigmoid(x @ w)\ny = h.mul_(2) + 1\n(y.sum() + h.square().sum()).backward()\n",
        "y = h.mul_(2) + 1",
        "h = torch.sigmoid(x @ w)\nh = h * 2\ny = h + 1\n(y.sum() + h.square().sum()).backward()\n",
    ),
    "through .data": (
        "h = torch.sigmoid(x @ w)\nh.data.mul_(0.5)\nh.square().sum().backward()\n",
        "h.data.mul_(0.5)",
        "h = torch.sigmoid(x @ w)\nh = h * 0.5\nh.square().sum().backward()\n",
    ),
    "through .data, with an index": (
        "h = torch.sigmoid(x @ w)\nh.data[:, 0] = 0\nh.square().sum().backward()\n",
        "h.data[:, 0] = 0",
        "h = torch.sigmoid(x @ w)\nh = h.clone()\nh[:, 0] = 0\nh.square().sum().backward()\n",
    ),
    "through detach": (
        "h = torch.exp(x @ w)\nh.detach().clamp_(min=0.5)\nh.square().sum().backward()\n",
        "h.detach().clamp_(min=0.5)",
        "h = torch.exp(x @ w)\nh = h.clamp(min=0.5)\nh.square().sum().backward()\n",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_fix_of_a_write_computes_the_result_of_the_normal_operation(name, tmp_path):
    wrong, blamed, right = WRITES[name]
    source = BEGIN + wrong + END
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert [each.line.text for each in fault.evidence if each.is_culprit] == [blamed], str(explanation)
    (fix,) = [each for each in fault.fixes if each.edits]
    _, expected, error = explained(written(tmp_path, BEGIN + right + END))
    assert error is None
    again, output, error = explained(written(tmp_path, fix.apply(source)))
    assert error is None and output == expected and again.faults == [], fix.apply(source)


def test_a_write_through_a_view_in_an_expression_gets_no_fix_that_would_lose_the_write(tmp_path):
    source = BEGIN + "h = torch.tanh(x @ w)\nv = h[0]\ny = v.mul_(2) + 1\n(y.sum() + h.sum()).backward()\n" + END
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert not any("v = v.mul(2)" in line or "y = v.mul(2)" in line for fix in fault.fixes for line in fix.diff())


INTEGERS = {
    "t = torch.arange(3, requires_grad=True)": "[0.0, 2.0, 4.0]",
    "t = torch.tensor([0, 1, 2], dtype=torch.int64, requires_grad=True)": "[0.0, 2.0, 4.0]",
    "t = torch.nn.Parameter(torch.tensor([0, 1, 2]))": "[0.0, 2.0, 4.0]",
    "t = torch.arange(3)\nt.requires_grad_()": "[0.0, 2.0, 4.0]",
    "t = torch.arange(3)\nt.requires_grad = True": "[0.0, 2.0, 4.0]",
    "t = torch.arange(3).requires_grad_()": "[0.0, 2.0, 4.0]",
}


@pytest.mark.parametrize("made", INTEGERS)
def test_the_fix_gives_integers_that_require_a_gradient_a_floating_dtype(made, tmp_path):
    source = f"import torch\n{made}\nt.square().sum().backward()\nprint(t.grad.tolist())\n"
    explanation, _, error = explained(written(tmp_path, source))
    assert isinstance(error, RuntimeError)
    (fault,) = explanation.faults
    assert fault.verdict == f"Line {2 + made.count(chr(10))} asks for the gradient of integers."
    (fix,) = fault.fixes
    again, output, error = explained(written(tmp_path, fix.apply(source)))
    assert error is None and output.strip() == INTEGERS[made] and again.faults == [], fix.apply(source)


def test_the_fix_of_a_write_keeps_the_new_numbers_for_the_next_iteration_of_a_loop(tmp_path):
    source = (
        "import torch\nw = torch.zeros(2, requires_grad=True)\nh = torch.exp(w)\ntotal = 0\nfor _ in range(2):\n"
        "    total = total + h.sum()\n    out = h.mul_(2)\n(total + out.sum()).backward()\nprint(w.grad.tolist())\n"
    )
    explanation, _, error = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    edited = [fix.apply(source) for fix in fault.fixes if fix.edits]
    assert "modified by an inplace operation" in str(error) and edited
    for each in edited:
        again, output, error = explained(written(tmp_path, each))
        assert error is None and output == "[7.0, 7.0]\n" and again.faults == [], each
