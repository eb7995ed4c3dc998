"""Explain faults other than PyTorch's writes to saved tensors, each with its line and a fix that works."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402
from tools import explain_picture  # noqa: E402


@dataclass(frozen=True)
class Kind:
    """A program with a fault.

    Attributes:
        source: the program.
        verdict: words of the verdict.
        line: the line that causes the fault.
        right: the output of the program without the fault.
    """

    source: str
    verdict: str
    line: int
    right: str


KINDS = {
    "an array that is changed between forward and backward": Kind(
        "import numpy as np, torch\n"
        "buf = np.ones((4, 3), np.float32)\n"
        "net = torch.nn.Linear(3, 1)\n"
        "x = torch.from_numpy(buf)\n"
        "loss = net(x).sum()\n"
        "buf *= 2\n"
        "loss.backward()\n"
        "print(net.weight.grad.sum().item())\n",
        "line 6 overwrites `x` through an array of NumPy",
        6,
        "12.0\n",
    ),
    "an array of a tensor that is changed through NumPy's out": Kind(
        "import numpy as np, torch\n"
        "w, x = torch.ones(3, requires_grad=True), torch.ones(3)\n"
        "a = x.numpy()\n"
        "loss = (w * x).sum()\n"
        "np.add(a, 1, out=a)\n"
        "loss.backward()\n"
        "print(w.grad.tolist())\n",
        "line 5 overwrites `x` through an array of NumPy",
        5,
        "[1.0, 1.0, 1.0]\n",
    ),
    "a head that is replaced after the optimizer was made": Kind(
        "import torch\n"
        "torch.manual_seed(0)\n"
        "net = torch.nn.Sequential()\n"
        "net.body, net.head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 5)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "net.head = torch.nn.Linear(3, 1)\n"
        "before = net.head.weight.detach().clone()\n"
        "net.head(net.body(torch.ones(4, 2))).sum().backward()\n"
        "opt.step()\n"
        "print(torch.equal(before, net.head.weight))\n",
        "Line 6 replaces `net.head.weight` after the optimizer of line 5",
        6,
        "False\n",
    ),
    "a list that contains one tensor four times": Kind(
        "import torch\nbufs = [torch.zeros(3)] * 4\nbufs[0] += 1\nprint(bufs[1].tolist())\n",
        "Line 3 writes into all entries of `bufs`",
        2,
        "[0.0, 0.0, 0.0]\n",
    ),
    "a second name of a gradient": Kind(
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "(w * 2).sum().backward()\n"
        "first = w.grad\n"
        "(w * 3).sum().backward()\n"
        "print((w.grad - first).tolist())\n",
        "`first` is the gradient of `w` itself",
        4,
        "[3.0, 3.0]\n",
    ),
    "a parameter that is not a leaf after its update": Kind(
        "import torch\n"
        "x, y = torch.ones(8, 3), torch.ones(8)\n"
        "w = torch.zeros(3, requires_grad=True)\n"
        "for step in range(3):\n"
        "    loss = ((x @ w - y) ** 2).mean()\n"
        "    loss.backward()\n"
        "    w = w - 0.1 * w.grad\n"
        "print([round(n, 4) for n in w.tolist()])\n",
        "Line 7 uses a gradient that does not exist",
        7,
        "[0.312, 0.312, 0.312]\n",
    ),
    "the result of a conversion, which is not a leaf": Kind(
        "import torch\n"
        "x = torch.ones(3, requires_grad=True).to(torch.float64)\n"
        "(x * 2).sum().backward()\n"
        "print(x.grad.sum().item())\n",
        "Line 4 uses a gradient that does not exist",
        4,
        "6.0\n",
    ),
    "a view of transposed memory": Kind(
        "import torch\nx = torch.arange(6).view(2, 3)\nprint(x.t().view(6).tolist())\n",
        "Line 3 asks for a view",
        3,
        "[0, 3, 1, 4, 2, 5]\n",
    ),
    "an array of a tensor with a history": Kind(
        "import torch\ny = torch.ones(2, requires_grad=True) * 2\nprint(y.numpy().sum())\n",
        "Line 3 turns a tensor with a history into an array",
        3,
        "4.0\n",
    ),
    "a deep copy of a result": Kind(
        "import copy, torch\ny = torch.ones(2, requires_grad=True) * 2\nz = copy.deepcopy(y)\nprint(z.tolist())\n",
        "Line 3 deep-copies the result",
        3,
        "[2.0, 2.0]\n",
    ),
    "requires_grad is set on a result": Kind(
        "import torch\ny = torch.ones(2, requires_grad=True) * 2\ny.requires_grad = False\nprint(y.tolist())\n",
        "Line 3 sets `requires_grad` of the result",
        3,
        "[2.0, 2.0]\n",
    ),
    "a read-only array of NumPy": Kind(
        "import numpy as np\na = np.frombuffer(bytes(8), dtype=np.float32)\na += 1\nprint(a.tolist())\n",
        "Line 3 writes into a read-only array",
        3,
        "[1.0, 1.0]\n",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_has_its_line_and_an_edit_that_computes_the_intended_result(name, tmp_path):
    kind = KINDS[name]
    path = written(tmp_path, kind.source)
    explanation, output, error = explained(path)
    assert error is not None or output != kind.right
    (fault,) = explanation.faults
    assert kind.verdict in fault.verdict and kind.line in [each.line.number for each in fault.evidence]
    edited = [fix for fix in fault.fixes if fix.edits]
    assert edited, str(explanation)
    for fix in edited:
        again, output, error = explained(written(tmp_path, fix.apply(kind.source)))
        assert error is None and output == kind.right and again.faults == [], fix.apply(kind.source)


RIGHT = {
    "an array that is filled again after each backward": """
import numpy as np
import torch
buf = np.ones((4, 3), np.float32)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    buf[:] = i
    loss = net(torch.from_numpy(buf)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen = net(torch.from_numpy(buf)).detach().numpy()
    seen += 1
""",
    "two halves of one array, one of which is filled while the other is differentiated": """
import numpy as np
import torch
buf = np.ones((2, 3), np.float32)
w = torch.ones(3, requires_grad=True)
x = torch.from_numpy(buf)
loss = (w * x[0]).sum()
buf[1] = 5
loss.backward()
""",
    "gradients that are read after each backward, and kept once": """
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
kept, norms = [], []
for _ in range(3):
    opt.zero_grad()
    (w * 2).sum().backward()
    g = w.grad
    norms.append(g.norm().item())
    kept.append(w.grad)
""",
    "a head that is replaced before the optimizer is made, and a network without an optimizer": """
import torch
net, frozen = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 5)), torch.nn.Linear(1, 1)
net.head = torch.nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
frozen(net(torch.ones(4, 2))).sum().backward()
opt.step()
""",
    "a list that contains one tensor twice, which no line writes": """
import torch
weights = [torch.ones(3)] * 2
print(sum(w.sum().item() for w in weights))
""",
    "an attribute of None in code without tensors": """
class Node:
    next = None
try:
    Node().next.value
except AttributeError:
    pass
""",
    "a read-only array that is only read": """
import numpy as np
import torch
x = torch.from_numpy(np.frombuffer(bytes(8), dtype=np.float32))
w = torch.ones(2, requires_grad=True)
(w * x).sum().backward()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_program_has_no_faults(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, RIGHT[name]))
    assert error is None and explanation.faults == [] and explanation.unseen == [], str(explanation)


def test_there_is_no_edit_if_it_is_unknown_which_of_two_views_was_refused(tmp_path):
    source = "import torch\nx = torch.arange(6)\ny = x.view(2, 3).t().view(6)\n"
    explanation, _, error = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert "view size is not compatible" in str(error) and "Line 3 asks for a view" in fault.verdict
    assert not any(fix.edits for fix in fault.fixes)


def test_an_error_of_code_without_tensors_is_not_explained(tmp_path):
    explanation, _, error = explained(written(tmp_path, "grad = None\ngrad.step()\n"))
    assert isinstance(error, AttributeError) and explanation.faults == []


def test_the_picture_of_the_readme_shows_the_output_of_the_command():
    assert explain_picture.PICTURE.read_text(encoding="utf-8") == explain_picture.as_svg(explain_picture.output_lines())
