"""Explain writes that are hard to find: in a hook, to the input of a checkpoint, in several lines, or between a
backward pass with ``create_graph=True`` and the backward pass through its graph.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

HOOKS = {
    "a lambda": "a.register_hook(lambda grad: grad.mul_(10))\n",
    "a function": "def scale(grad):\n    grad.mul_(10)\na.register_hook(scale)\n",
}


@pytest.mark.parametrize("name", HOOKS)
def test_the_fix_of_a_hook_that_writes_into_its_gradient_returns_a_new_gradient(name, tmp_path):
    begin = "import torch\nw = torch.ones(4, requires_grad=True)\nh = w * 2\na, b = h + 1, h + 2\n"
    source = begin + HOOKS[name] + "(a + b).sum().backward()\nprint(w.grad.tolist())\n"
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    (fix,) = fault.fixes
    again, output, error = explained(written(tmp_path, fix.apply(source)))
    assert error is None and again.faults == [] and output == "[22.0, 22.0, 22.0, 22.0]\n", fix.apply(source)


CHECKPOINT = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(inplace=True)
    def forward(self, x):
        h = self.a(x)
        y = checkpoint(self.b, h, use_reentrant=False)
        h = self.act(h)
        return y + h
Net()(torch.randn(3, 4)).sum().backward()
"""


def test_a_write_to_the_input_of_a_checkpoint_is_named_although_no_variable_refers_to_the_input(tmp_path):
    explanation, _, error = explained(written(tmp_path, CHECKPOINT))
    assert "modified by an inplace operation" in str(error)
    (fault,) = explanation.faults
    assert [each.line.text for each in fault.evidence if each.is_culprit] == ["h = self.act(h)"]
    assert str(fault.verdict).startswith("Line 12 overwrites a tensor, which a checkpoint or a hook keeps")
    (fix,) = fault.fixes
    again, _, error = explained(written(tmp_path, fix.apply(CHECKPOINT)))
    assert error is None and again.faults == []


CLIPPED = """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for step in range(2):
    fake = G(torch.randn(6, 4))
    score = D(fake)
    loss_d = score.mean()
    opt_d.zero_grad()
    loss_d.backward(retain_graph=True)
    opt_d.step()
    for p in D.parameters():
        p.data.clamp_(-0.01, 0.01)
    loss_g = -score.mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
"""


def test_the_fix_repeats_the_forward_pass_after_the_last_of_several_writes(tmp_path):
    explanation, _, _ = explained(written(tmp_path, CLIPPED))
    (fault,) = explanation.faults
    (fix,) = [each for each in fault.fixes if each.edits]
    assert str(fix.sentence).startswith("Run the forward pass again after line 15:")
    again, _, error = explained(written(tmp_path, fix.apply(CLIPPED)))
    assert error is None and again.faults == [], f"{fix.apply(CLIPPED)}\n{again}"


RECORDED = """
import torch
w = torch.ones(3, requires_grad=True)
inner = (w**3).sum()
(g,) = torch.autograd.grad(inner, w, create_graph=True)
with torch.no_grad():
    w.sub_(0.1 * g)
g.square().sum().backward()
"""


def test_the_nodes_that_backward_creates_with_create_graph_have_the_line_of_that_backward(tmp_path):
    explanation, _, _ = explained(written(tmp_path, RECORDED))
    (fault,) = explanation.faults
    assert "(g,) = torch.autograd.grad(inner, w, create_graph=True)" in [each.line.text for each in fault.evidence]
    assert "line 0" not in str(explanation)


TIED = """
import torch
from torch import nn
embed, out = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
model = nn.ModuleDict({"embedding": embed, "out": out})
out.weight = embed.weight
loss = model["out"](torch.tanh(model["embedding"](torch.tensor([0, 1])))).sum()
with torch.no_grad():
    NAME.weight.div_(2)
loss.backward()
"""


@pytest.mark.parametrize("write", ["embed", "out"])
def test_a_tensor_with_several_names_is_called_by_the_name_in_the_line_that_overwrites_it(write, tmp_path):
    explanation, _, _ = explained(written(tmp_path, TIED.replace("NAME", write)))
    (fault,) = explanation.faults
    assert f"overwrites `{write}.weight`" in str(fault.verdict)
