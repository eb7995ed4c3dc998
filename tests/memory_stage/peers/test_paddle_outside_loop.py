"""Explain a Paddle graph that two backward passes need, if its forward pass is outside a loop or belongs to a GAN."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

paddle = pytest.importorskip("paddle", reason="no Paddle is installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """
import paddle
from paddle import nn
paddle.seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
head = nn.Linear(1, 1)
opt = paddle.optimizer.Adam(0.1, parameters=[*net.parameters(), *head.parameters()])
crit = nn.MSELoss()
x, y = paddle.randn([8, 3]), paddle.randn([8, 1])
"""
END = "print([round(float(p.sum()), 4) for p in [*net.parameters(), *head.parameters()]])\n"
LOOP = """for i in range(3):
    opt.clear_grad()
    loss = crit(out, y)
    loss.backward()
    opt.step()
"""
FIRST = "    loss = crit(out, y)\n"
METHOD = """
class Trainer:
    def __init__(self):
        self.net, self.x = net, x
    def fit(self):
        self.out = self.net(self.x)
        for i in range(3):
            opt.clear_grad()
            loss = crit(self.out, y)
            loss.backward()
            opt.step()
Trainer().fit()
"""
CONSTANT = """old = net(x)
for i in range(3):
    new = net(x)
    loss = ((new - old).exp() * y).mean()
    opt.clear_grad()
    loss.backward()
    opt.step()
"""

#: Pairs of a faulty program and the correct one, which the only fix has to produce.
FIXED = {
    "a result": ("out = net(x)\n" + LOOP, LOOP.replace(FIRST, "    out = net(x)\n" + FIRST)),
    "features": (
        "out = net(x)\n" + LOOP.replace("crit(out", "crit(head(out)"),
        LOOP.replace(FIRST, "    out = net(x)\n    loss = crit(head(out), y)\n"),
    ),
    "a loss": (
        "loss = crit(net(x), y)\n" + LOOP.replace(FIRST, ""),
        LOOP.replace("    loss = crit(out, y)\n", "    loss = crit(net(x), y)\n"),
    ),
    "an attribute": (
        METHOD,
        METHOD.replace("        self.out = self.net(self.x)\n", "").replace(
            "            loss", "            self.out = self.net(self.x)\n            loss", 1
        ),
    ),
    "a step after two iterations": (
        "out = net(x)\n" + LOOP.replace("    opt.step", "    if i % 2: opt.step"),
        LOOP.replace(FIRST, "    out = net(x)\n" + FIRST).replace("    opt.step", "    if i % 2: opt.step"),
    ),
    "an earlier output of the policy": (CONSTANT, CONSTANT.replace("net(x)", "net(x).detach()", 1)),
}


def whole(lines: str) -> str:
    return BEGIN.lstrip() + lines.lstrip() + END


@pytest.mark.parametrize("name", FIXED)
def test_the_fix_moves_the_forward_pass_into_the_loop_or_detaches_a_constant(name, tmp_path):
    faulty, correct = map(whole, FIXED[name])
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = fault.fixes
    assert fix.apply(faulty) == correct
    again, _, error = explained(written(tmp_path, correct))
    assert error is None and again.faults == [], str(again)


#: Programs in which no edit is certain, or in which the parameters have changed, so that no graph may be retained.
UNCERTAIN = {
    "another line reads the result after the loop": "out = net(x)\n" + LOOP + "print(out.sum())\n",
    "the input changes": "out = net(x)\n" + LOOP + "    x = x + 1\n",
    "two results in a row": "h = net[0](x)\nout = net[2](h)\n" + LOOP,
    "the loop runs the network again, to print a prediction": "out = net(x)\n"
    + LOOP.replace("crit(out", "crit(head(out)")
    + "    print(float(net(x).mean()))\n",
    "an entry of a list": "outs = [net(x)]\n" + LOOP.replace("crit(out", "crit(outs[0]"),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_an_uncertain_program_gets_advice_without_an_edit(name, tmp_path):
    (fault,) = explained(written(tmp_path, whole(UNCERTAIN[name])))[0].faults
    (fix,) = fault.fixes
    assert "again" in fix.sentence and not fix.edits, fix
    assert "detach" not in fix.sentence and "retain_graph" not in fix.sentence


def test_a_step_after_the_loop_leaves_the_choice_between_a_new_forward_pass_and_one_backward_pass(tmp_path):
    lines = "out = net(x)\nfor i in range(3):\n    loss = crit(head(out), y)\n    loss.backward()\nopt.step()\n"
    (fault,) = explained(written(tmp_path, whole(lines)))[0].faults
    assert not any("detach" in fix.sentence for fix in fault.fixes)
    assert [fix.sentence.split()[0] for fix in fault.fixes] == ["Run", "Or,"]


GAN = """
import paddle
from paddle import nn
paddle.seed(0)
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
og = paddle.optimizer.Adam(0.1, parameters=G.parameters())
od = paddle.optimizer.Adam(0.1, parameters=D.parameters())
bce, one, zero = nn.BCEWithLogitsLoss(), paddle.ones([8, 1]), paddle.zeros([8, 1])
for i in range(3):
    real = paddle.randn([8, 3])
    fake = G(paddle.randn([8, 2]))
    od.clear_grad()
    f_loss = bce(D(real), one) + bce(D(fake), zero)
    f_loss.backward()
    od.step()
    og.clear_grad()
    g_loss = bce(D(fake), one)
    g_loss.backward()
    og.step()
print([round(float(p.sum()), 4) for p in [*G.parameters(), *D.parameters()]])
"""


@pytest.mark.parametrize(("old", "new"), [("", ""), ("og.clear_grad()", "G.clear_gradients()")])
def test_the_batch_of_a_generator_is_detached_in_the_loss_of_the_discriminator(old, new, tmp_path):
    faulty = GAN.replace(old, new) if old else GAN
    correct = faulty.replace("D(fake), zero", "D(fake.detach()), zero")
    again, _, error = explained(written(tmp_path, correct))
    assert error is None and again.faults == []
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = fault.fixes
    assert fix.apply(faulty) == correct


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    og.clear_grad()\n", ""),
        ("    od.step()\n", "    od.step()\n    og.step()\n"),
        ("    og.clear", "    print(float(G.weight.grad.sum()))\n    og.clear"),
        ("    od.clear", "    fake.retain_grads()\n    od.clear"),
    ],
)
def test_the_batch_of_a_generator_is_not_detached_if_the_lines_do_not_show_that_detaching_is_right(old, new, tmp_path):
    assert old in GAN
    (fault,) = explained(written(tmp_path, GAN.replace(old, new)))[0].faults
    assert fault.kind == "graph freed" and not any(fix.edits for fix in fault.fixes), str(fault.fixes)
