"""Explain a graph that two backward passes need, if the forward pass is outside a loop or belongs to a GAN.

Each edit has to give the program the parameters of the correct training. Where no edit is certain, there must be none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Linear(4, 1))
head = nn.Linear(1, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], 0.1)
crit = nn.MSELoss()
x, y = torch.randn(8, 3), torch.randn(8, 1)
"""
END = "print([round(p.sum().item(), 4) for p in [*net.parameters(), *head.parameters()]])\n"
LOOP = """for i in range(3):
    opt.zero_grad()
    loss = crit(out, y)
    loss.backward()
    opt.step()
"""
WHILE = LOOP.replace("for i in range(3)", "i = 0\nwhile i < 3") + "    i += 1\n"
FIRST = "    loss = crit(out, y)\n"
METHOD = """
class Trainer:
    def __init__(self):
        self.net, self.x = net, x
    def fit(self):
        self.out = self.net(self.x)
        for i in range(3):
            opt.zero_grad()
            loss = crit(self.out, y)
            loss.backward()
            opt.step()
Trainer().fit()
"""

#: Pairs of a faulty program and the correct one.
MOVED = {
    "a result": ("out = net(x)\n" + LOOP, LOOP.replace(FIRST, "    out = net(x)\n" + FIRST)),
    "a result in a while loop": ("out = net(x)\n" + WHILE, WHILE.replace(FIRST, "    out = net(x)\n" + FIRST)),
    "features": (
        "out = net(x)\n" + LOOP.replace("crit(out", "crit(head(out)"),
        LOOP.replace("crit(out", "crit(head(net(x))"),
    ),
    "a loss": ("loss = crit(net(x), y)\n" + LOOP.replace(FIRST, ""), LOOP.replace("crit(out", "crit(net(x)")),
    "an attribute": (
        METHOD,
        METHOD.replace("        self.out = self.net(self.x)\n", "").replace("crit(self.out", "crit(self.net(self.x)"),
    ),
    "a step after two iterations": (
        "out = net(x)\n" + LOOP.replace("    opt.step", "    if i % 2: opt.step"),
        LOOP.replace(FIRST, "    out = net(x)\n" + FIRST).replace("    opt.step", "    if i % 2: opt.step"),
    ),
}


def programs(faulty: str, correct: str) -> tuple[str, str]:
    return BEGIN.lstrip() + faulty.lstrip() + END, BEGIN.lstrip() + correct.lstrip() + END


@pytest.mark.parametrize("name", MOVED)
def test_a_forward_pass_outside_the_loop_is_moved_into_it(name, tmp_path):
    faulty, correct = programs(*MOVED[name])
    _, expected, error = explained(written(tmp_path, correct))
    assert error is None
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = fault.fixes
    assert "again in each iteration of the loop" in fix.sentence and fix.edits
    again, output, error = explained(written(tmp_path, fix.apply(faulty)))
    assert error is None and again.faults == [] and output == expected, fix.apply(faulty)


#: Programs in which the forward pass may not be moved: another line could notice the move, or the move would not
#: suffice.
UNCERTAIN = {
    "another line reads the result after the loop": "out = net(x)\n" + LOOP + "print(out.sum())\n",
    "another line reads the result before the loop": "out = net(x)\nprint(out.sum())\n" + LOOP,
    "a function reads the result": "out = net(x)\ndef last(): return out\n" + LOOP + "last()\n",
    "the input changes": "out = net(x)\n" + LOOP + "    x = x + 1\n",
    "the input changes through another name": "z = x\nout = net(x)\n" + LOOP + "    z.mul_(2)\n",
    "the layer changes through another name": "same = net\nout = net(x)\n" + LOOP + "    same.eval()\n",
    "the loop has an else": "out = net(x)\n" + LOOP + "else:\n    print(i)\n",
    "two passes": "out = net(x)\n" + LOOP + "    opt.zero_grad()\n    out.sum().backward()\n    opt.step()\n",
    "two loops": "out = net(x)\nfor epoch in range(2):\n" + "".join(f"    {each}\n" for each in LOOP.splitlines()),
    "a step before the pass": "out = net(x)\nfor i in range(3):\n    s = out.sum()\n    opt.step()\n"
    "    loss = crit(out, y)\n    loss.backward()\n",
    "a decorated function in the loop": "out = net(x)\n"
    + LOOP.replace(FIRST, "    @torch.enable_grad()\n    def run(): return crit(out, y)\n    loss = run()\n"),
    "the loop computes the same result after the pass, to print it": "out = head(y)\n"
    + LOOP.replace("crit(out", "crit(net(x) * out")
    + "    after = head(y)\n    print(after.mean())\n",
    "two results in a row": "h = net[0](x)\nout = net[2](h)\n" + LOOP,
    "a tuple": "out, n = net(x), 3\n" + LOOP,
    "random input": "out = net(torch.randn(8, 3))\n" + LOOP,
    "a function that the loop calls": "out = net(x)\ndef run():\n"
    + LOOP.replace("for i in range(3):\n", "")
    + "for i in range(3): run()\n",
    "an attribute that another method assigns": METHOD.replace(
        "        for i", "    def train(self):\n        for i"
    ).replace("Trainer().fit()", "t = Trainer(); t.fit(); t.train()"),
    "an attribute that another line reads": METHOD.replace("Trainer().fit()", "t = Trainer(); t.fit(); t.out.sum()"),
    "an entry of a list": "outs = [net(x)]\n" + LOOP.replace("crit(out", "crit(outs[0]"),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_a_forward_pass_outside_the_loop_is_neither_moved_nor_detached_if_that_could_be_wrong(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, programs(UNCERTAIN[name], "")[0]))
    assert "a second time" in str(error)
    (fault,) = explanation.faults
    (fix,) = fault.fixes
    assert "again" in fix.sentence and not fix.edits, fix
    assert "detach" not in fix.sentence and "retain_graph" not in fix.sentence


def test_a_result_that_may_be_a_constant_has_both_sentences_and_no_edit(tmp_path):
    lines = "out = net(x)\n" + LOOP.replace("crit(out, y)", "crit(out, net(x + 1))")
    (fault,) = explained(written(tmp_path, programs(lines, "")[0]))[0].faults
    again, constant = fault.fixes
    assert "again in each iteration" in again.sentence and "if it should be a constant" in constant.sentence
    assert not again.edits and not constant.edits


#: Programs in which the result may be a constant, but in which neither edit is certain.
AMBIGUOUS = {
    "the loop computes a result with other units dropped": "out = net(x)\nfor i in range(3):\n    again = net(x)\n"
    "    loss = crit(out, y) + crit(again, y) + crit(out, again)\n    opt.zero_grad()\n    loss.backward()\n"
    "    opt.step()\n",
    "the loop averages the network": "import copy\nteacher, z = copy.deepcopy(net), x + 1\nout = teacher(z)\n"
    + LOOP.replace("crit(out, y)", "crit(net(x), out)")
    + "    for a, b in zip(teacher.parameters(), net.parameters()):\n"
    "        a.data.mul_(0.9).add_(b.data, alpha=0.1)\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_result_that_is_perhaps_a_constant_is_neither_moved_nor_detached_by_an_edit(name, tmp_path):
    (fault,) = explained(written(tmp_path, programs(AMBIGUOUS[name], "")[0]))[0].faults
    again, constant = fault.fixes
    assert "again in each iteration" in again.sentence and "if it should be a constant" in constant.sentence
    assert not again.edits and not constant.edits


#: Programs whose step follows the loop, each with True if the result before the loop may be a constant.
STEP_AFTER_LOOP = {
    "a network that the loop runs again to print a prediction": (
        "out = net(x)\nfor i in range(3):\n    pred = net(x)\n    print(pred.mean().item())\n"
        "    loss = crit(head(out), y)\n    loss.backward()\nopt.step()\n",
        False,
    ),
    "a network that the loop trains with a second loss": (
        "out = net(x)\nfor i in range(3):\n    loss = crit(head(out), y)\n    loss.backward()\n"
        "    second = net(x).square().mean()\n    second.backward()\nopt.step()\n",
        True,
    ),
    "another result of the network in the same loss": (
        "out = net(x)\nfor i in range(3):\n    loss = crit(out, y) + net(x + i).mean()\n    loss.backward()\n"
        "opt.step()\n",
        True,
    ),
    "a step without an optimizer": (
        "del opt\nout = x * head.weight\nfor i in range(3):\n    loss = (net[0].weight[:3, 0] * out).sum()\n"
        "    loss.backward()\nfor p in (head.weight, net[0].weight):\n    p.data -= 0.1 * p.grad\n",
        True,
    ),
}


@pytest.mark.parametrize("name", STEP_AFTER_LOOP)
def test_a_result_is_not_detached_by_an_edit_if_the_step_that_needs_it_follows_the_loop(name, tmp_path):
    lines, may_be_constant = STEP_AFTER_LOOP[name]
    source = programs(lines, "")[0]
    (fault,) = explained(written(tmp_path, source))[0].faults
    detaching = [fix for fix in fault.fixes if "detach" in fix.sentence]
    assert bool(detaching) == may_be_constant and not any(fix.edits for fix in detaching), str(fault.fixes)
    edited = [fix.apply(source) for fix in fault.fixes if fix.edits]
    assert len(edited) == (not may_be_constant)
    assert all(each == source.replace("    loss =", "    out = net(x)\n    loss =") for each in edited)


CONSTANT = (
    "out = net(x).detach()\nfor i in range(3):\n    new = net(x)\n    loss = ((new - out).exp() * y).mean()\n"
    "    loss.backward()\nopt.step()\n"
)


def test_a_result_that_each_iteration_computes_again_is_detached_although_the_step_follows_the_loop(tmp_path):
    correct = programs(CONSTANT, "")[0].replace("nn.Dropout(0.2)", "nn.Tanh()")
    faulty = correct.replace(".detach()", "")
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = fault.fixes
    assert fix.apply(faulty) == correct


def test_one_of_two_constants_has_no_edit_because_the_pass_still_needs_the_graph_of_the_other(tmp_path):
    lines = CONSTANT.replace("net(x).detach()", "net(x)\nold = head(x[:, :1])").replace("* y)", "* (y - old))")
    (fault,) = explained(written(tmp_path, programs(lines, "")[0].replace("nn.Dropout(0.2)", "nn.Tanh()")))[0].faults
    (fix,) = fault.fixes
    assert "Detach `out`" in fix.sentence and not fix.edits


TWO = (
    "for i in range(3):\n    opt.zero_grad()\n    out = net(x)\n    a, b = crit(out, y), out.abs().mean()\n"
    "    a.backward()\n    b.backward()\n    opt.step()\n"
)
#: Programs in which an edit would change the gradients, or would raise another error.
WRONG_EDITS = {
    "gradients that are clipped between two passes": TWO.replace(
        "    b.", "    nn.utils.clip_grad_norm_(net.parameters(), 0.1)\n    b."
    ),
    "gradients that the program's function reads": "def show():\n    print(net[0].weight.grad.norm())\n"
    + TWO.replace("    b.", "    show()\n    b."),
    "a pass for some parameters": TWO.replace("b.backward()", "b.backward(inputs=[net[0].weight])"),
}


@pytest.mark.parametrize("name", WRONG_EDITS)
def test_there_is_no_edit_that_would_change_the_gradients(name, tmp_path):
    (fault,) = explained(written(tmp_path, programs(WRONG_EDITS[name], "")[0]))[0].faults
    assert not any(fix.edits for fix in fault.fixes), fault.fixes


GRAD = "from torch.autograd import grad\nz = torch.randn(1, 3, requires_grad=True)\n"
#: The same, run by the command: inside this process, the text of this file would be searched for such calls, too.
NOT_CONSTANT = {
    "gradients of the input by an imported function": GRAD
    + "enc = nn.Linear(3, 1)\nout = enc(z).tanh()\nfor i in range(3):\n    g, = grad(head(out).sum(), z)\n",
    "a network that drops units in its forward method": "class Net(nn.Module):\n    def forward(self, x):\n"
    "        return net[2](net[0](nn.functional.DROPOUT(x, 0.5)))\nn = Net()\nn.net = net\nout = n(x)\n"
    "for i in range(3):\n    new = n(x)\n    loss = crit(new, y) + crit(out, y)\n    opt.zero_grad()\n"
    "    loss.backward()\n    opt.step()\n",
}


@pytest.mark.parametrize("name", NOT_CONSTANT)
def test_a_result_is_not_detached_by_an_edit_if_the_calls_show_that_it_is_no_constant(name, tmp_path):
    source = programs(NOT_CONSTANT[name].replace("DROPOUT", "dropout"), "")[0]
    program = written(tmp_path, source.replace("nn.Dropout(0.2)", "nn.Tanh()"))
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "memory_stage", "explain", "--json", str(report), str(program)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    (fault,) = json.loads(report.read_text())["faults"]
    assert not any(fix["diff"] for fix in fault["fixes"]), fault


def test_features_of_a_shared_network_are_not_detached_if_a_step_follows_all_passes(tmp_path):
    lines = "out = net(x)\nfor k in (1.0, 2.0):\n    loss = crit(head(out) * k, y)\n    loss.backward()\nopt.step()\n"
    (fault,) = explained(written(tmp_path, programs(lines, "")[0]))[0].faults
    assert not any("detach" in fix.sentence for fix in fault.fixes)


STATES = {
    "a variable that the end of the iteration assigns": "h = torch.zeros(8, 1)\nfor i in range(3):\n"
    "    out = cell(x, h)\n    crit(out, y).backward()\n    h = out\n",
    "an attribute that a method assigns": "class Kept:\n    def __init__(self): self.h = torch.zeros(8, 1)\n"
    "    def keep(self, h): self.h = h\n    def fit(self):\n        for i in range(3):\n"
    "            out = cell(x, self.h)\n            crit(out, y).backward()\n            self.keep(out)\n"
    "Kept().fit()\n",
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_is_stored_after_the_pass_is_detached_before_the_next_iteration(name, tmp_path):
    faulty = BEGIN.lstrip() + "cell = nn.RNNCell(3, 1)\n" + STATES[name]
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    (fix,) = fault.fixes
    again, _, error = explained(written(tmp_path, fix.apply(faulty)))
    assert fix.edits and error is None and again.faults == [], fix.apply(faulty)


GAN = """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
og, od = torch.optim.Adam(G.parameters(), 0.1), torch.optim.Adam(D.parameters(), 0.1)
bce, one, zero = nn.BCEWithLogitsLoss(), torch.ones(8, 1), torch.zeros(8, 1)
for i in range(3):
    real = torch.randn(8, 3)
    fake = G(torch.randn(8, 2))
    od.zero_grad()
    d_loss = bce(D(real), one)
    d_loss.backward()
    f_loss = bce(D(fake), zero)
    f_loss.backward()
    od.step()
    og.zero_grad()
    g_loss = bce(D(fake), one)
    g_loss.backward()
    og.step()
print([round(p.sum().item(), 4) for p in [*G.parameters(), *D.parameters()]])
"""


def test_the_batch_of_a_generator_is_not_detached_if_a_gradient_penalty_needs_its_history(tmp_path):
    faulty = GAN.replace(
        "    f_loss = bce(D(fake), zero)\n",
        """    mid = torch.lerp(real, fake, 0.5)
    g, = grad(D(mid).sum(), mid, create_graph=True)
    f_loss = bce(D(fake), zero) + g.norm()
""",
    ).replace("from torch import nn", "from torch import nn\nfrom torch.autograd import grad")
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    assert not any(fix.edits for fix in fault.fixes), fault.fixes


def test_the_batch_of_a_generator_is_detached_in_the_loss_of_the_discriminator(tmp_path):
    correct = GAN.replace("D(fake), zero", "D(fake.detach()), zero")
    _, expected, error = explained(written(tmp_path, correct))
    assert error is None
    (fault,) = explained(written(tmp_path, GAN))[0].faults
    (fix,) = fault.fixes
    assert fix.apply(GAN) == correct and fault.evidence[1].line.text == "f_loss.backward()"
    again, output, error = explained(written(tmp_path, correct))
    assert error is None and again.faults == [] and output == expected


#: For each variant, the changes of the program. The first loss of a variant may be meant for the generator, or a line
#: of the variant reads gradients.
OTHER_GANS = {
    "no gradient is set to zero between the passes": [
        ("    og.zero_grad()\n", ""),
        ("    od.zero", "    og.zero_grad()\n    od.zero"),
    ],
    "only some iterations set the gradients to zero": [("    og.zero_grad", "    if i % 2: og.zero_grad")],
    "an optimizer of both networks": [
        (
            "od = torch.optim.Adam(G.parameters(), 0.1), torch.optim.Adam(",
            "od = (torch.optim.Adam(G.parameters(), 0.1), torch.optim.Adam([*G.parameters(), *",
        ),
        ("D.parameters(), 0.1)\n", "D.parameters()], 0.1))\n"),
    ],
    "two steps": [("    od.step()\n", "    od.step()\n    og.step()\n")],
    "the gradients are printed": [("    og.zero", "    print(G.weight.grad.sum())\n    og.zero")],
    "a gradient of the discriminator": [
        (
            "    f_loss.backward",
            "    g, = torch.autograd.grad(D(fake).sum(), fake, create_graph=True)\n    f_loss.backward",
        )
    ],
    "the gradient of the batch is kept": [("    od.zero", "    fake.retain_grad()\n    od.zero")],
    "one prediction for both losses": [
        ("bce(D(fake), zero)", "bce(p := D(fake), zero)"),
        ("bce(D(fake), one)", "bce(p, one)"),
    ],
}


@pytest.mark.parametrize("name", OTHER_GANS)
def test_the_batch_of_a_generator_is_not_detached_if_the_lines_do_not_show_that_detaching_is_right(name, tmp_path):
    source = GAN
    for old, new in OTHER_GANS[name]:
        assert old in source
        source = source.replace(old, new)
    (fault,) = explained(written(tmp_path, source))[0].faults
    assert fault.kind == "graph freed" and not any(fix.edits for fix in fault.fixes), str(fault.fixes)
