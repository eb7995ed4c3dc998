"""Check programs for which a wrong edit was once offered: now the edit is right, or there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="no PyTorch from 2.10 on is installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """
import random
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.Adam(net.parameters(), 0.1)
x = torch.randn(4, 3)
""".lstrip()

TEACHER = """
teacher = nn.Linear(3, 3)
teacher.weight = net.weight
teacher.bias = net.bias
for i in range(3):
    loss = (net(x) - teacher(x + 1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), net.parameters()):
            a.mul_(0.9).add_(b, alpha=0.1)
"""

STYLE = """
image = torch.zeros(4, 3, requires_grad=True)
opt = torch.optim.Adam([image], 0.1)
target = net(x)
for i in range(3):
    loss = (net(image) - target).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

MEMORY = """
memory = torch.zeros(5, 3)
cell = nn.GRUCell(3, 3)
for i in range(3):
    new = cell(x[:2], memory[[0, 2]])
    memory[[0, 2]] = new
    loss = memory.square().mean()
    loss.backward()
"""

SCALED = """
w = torch.ones(3, requires_grad=True)
w *= 0.1
opt = torch.optim.SGD([w], 0.1)
"""

AVERAGED = """
for p in net.parameters():
    p.mul_(0.9)
"""

EXPANDED = """
bias = nn.Parameter(torch.zeros(3))
out = bias.expand(4, 3)
out += x
"""

#: For each faulty program, the edits (old and new text) of the only fix with edits.
FIXED = {
    "parameters that a module shares": (
        TEACHER,
        [
            ("\nteacher.weight = net.weight", "\nimport copy\nteacher.weight = copy.deepcopy(net.weight)"),
            ("= net.bias", "= copy.deepcopy(net.bias)"),
        ],
    ),
    "a target of a network that no optimizer has": (STYLE, [("target = net(x)", "target = net(x).detach()")]),
    "a memory that is written by index": (MEMORY, [("backward()\n", "backward()\n    memory = memory.detach()\n")]),
    "a leaf that an optimizer gets": (SCALED, [("w *= 0.1", "with torch.no_grad():\n    w *= 0.1")]),
    "a leaf that a loop visits": (AVERAGED, [("    p.mul_", "    with torch.no_grad():\n        p.mul_")]),
    "an expanded leaf": (EXPANDED, [("out += x", "out = out + x")]),
}


@pytest.mark.parametrize("name", FIXED)
def test_the_only_edit_is_the_right_one_and_runs(name, tmp_path):
    source, changes = FIXED[name]
    faulty = correct = BEGIN + source.lstrip()
    for old, new in changes:
        assert old in correct
        correct = correct.replace(old, new)
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = [each for each in fault.fixes if each.edits]
    assert fix.apply(faulty) == correct
    again, _, error = explained(written(tmp_path, correct))
    assert error is None and again.faults == [], str(again)


REPLAY = """
buffer = []
for i in range(6):
    values = net(x[0])
    buffer.append((values, 1.0))
    batch = random.sample(buffer, min(len(buffer), 2))
    loss = sum((value - reward).square().sum() for value, reward in batch)
    opt.zero_grad()
    loss.backward()
"""

EPISODES = """
results, rewards = [], []
for episode in range(3):
    for t in range(2):
        results.append(net(x[t]).sum())
        rewards.append(t + 1.0)
    loss = sum(result * reward for result, reward in zip(results, rewards))
    opt.zero_grad()
    loss.backward()
"""

CLOSURE = """
opt = torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)
loss = net(x).square().mean()
def closure():
    opt.zero_grad()
    loss.backward()
    return loss
for i in range(2):
    opt.step(closure)
"""


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (REPLAY, "Detach the entries of `buffer` where the program stores them"),
        (EPISODES, "Empty the lists after the backward pass"),
        (CLOSURE, "Run the forward pass again"),
    ],
)
def test_advice_has_no_edit_if_lists_belong_together_or_keep_earlier_steps_or_a_closure_runs_backward(
    source, advice, tmp_path
):
    (fault,) = explained(written(tmp_path, BEGIN + source.lstrip()))[0].faults
    (fix,) = fault.fixes
    assert fix.sentence.startswith(advice) and not fix.edits, fix
