"""Explain faults of trainings: averages that are aliases, gradients that are cleared too early, copied losses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from memory_stage.watch.torch import watched_run  # noqa: E402
from tests.support.peers.whole_runs import explained, written  # noqa: E402

NET = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
"""

SHOWN = """
print([round(n, 5) for p in net.parameters() for n in p.flatten().tolist()])
print([None if p.grad is None else round(p.grad.sum().item(), 5) for p in net.parameters()])
"""

PENALTY = """
for step in range(3):
    net(x).square().mean().backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in net.parameters())
    CLEAR
    penalty.backward()
    opt.step()
    opt.zero_grad()
"""

TRAINED = """
for step in range(5):
    opt.zero_grad()
    (net(x) - y).square().mean().backward()
    opt.step()
    UPDATE
"""

EMA = """
class EMA:
    def __init__(self, model, decay):
        self.model, self.decay, self.shadow, self.backup = model, decay, {}, {}

    def register(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.shadow[name] = KEPT

    def update(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                new = (1.0 - self.decay) * param.data + self.decay * self.shadow[name]
                UPDATED

    def apply_shadow(self):
        for name, param in self.model.named_parameters():
            self.backup[name] = param.data
            param.data = self.shadow[name]

    def restore(self):
        for name, param in self.model.named_parameters():
            param.data = self.backup[name]

ema = EMA(net, 0.9)
ema.register()
"""

AVERAGED = "print([round(n, 5) for p in ema.shadow.values() for n in p.flatten().tolist()])"

BEST = """
best, lowest = {}, 1e9
for step in range(6):
    opt.zero_grad()
    loss = (net(x * (step + 1)) - y).square().mean()
    loss.backward()
    if loss.item() < lowest:
        lowest, best = loss.item(), {n: KEPT for n, p in net.named_parameters()}
    opt.step()
with torch.no_grad():
    for n, p in net.named_parameters():
        p.copy_(best[n])
"""

COPIED = """
losses = []
for i in range(8):
    losses.append((net(x[i]) - y[i]).square().sum())
loss = JOINED
loss.backward()
opt.step()
"""

ONE = """
loss = COPY
loss.backward()
opt.step()
"""

#: A training that clears the gradients one by one.
EACH = PENALTY.replace("CLEAR", "for p in net.parameters():\n        WRONG")

#: For each kind: the program, its wrong part with the right replacement, and words of the verdict. A program ends by
#: printing its result.
KINDS = {
    "a gradient with a graph, filled with zeros through .data": (
        NET + EACH + SHOWN,
        ("p.grad.data.zero_()", "p.grad = None"),
        "overwrites `p.grad` and 3 other tensors without raising their versions",
    ),
    "a gradient with a graph, filled with zeros in place": (
        NET + EACH + SHOWN,
        ("p.grad.zero_()", "p.grad = None"),
        "overwrites `p.grad`, which the backward pass",
    ),
    "a gradient with a graph, detached in place and filled with zeros": (
        NET + EACH + SHOWN,
        ("p.grad.detach_()\n        p.grad.zero_()", "p.grad = None"),
        "overwrites `p.grad`, which the backward pass",
    ),
    "gradients with a graph, filled with zeros by the optimizer": (
        NET + PENALTY.replace("CLEAR", "opt.zero_grad(WRONG)") + SHOWN,
        ("set_to_none=False", "set_to_none=True"),
        ".grad`, which the backward pass",
    ),
    "a state that is detached in place before backward": (
        NET + "h = torch.tanh(net[0](x))\nloss = net[2](h).square().mean()\nWRONG\nloss.backward()" + SHOWN,
        ("h.detach_()", "h = h.detach()"),
        "detaches `h` in place, which the backward pass",
    ),
    "an average in a dict of .data": (
        NET
        + "ema = type('Average', (), {})()\nshadow = {n: WRONG for n, p in net.named_parameters()}\n"
        + "ema.shadow = shadow"
        + TRAINED.replace(
            "UPDATE", "for n, p in net.named_parameters():\n        shadow[n].mul_(0.9).add_(p.data, alpha=0.1)"
        )
        + AVERAGED,
        ("p.data", "p.data.clone()"),
        "`shadow` is not an average",
    ),
    "an average in an object that keeps the parameters without a copy": (
        NET
        + EMA.replace("KEPT", "WRONG").replace("UPDATED", "self.shadow[name].copy_(new)")
        + TRAINED.replace("UPDATE", "ema.update()")
        + AVERAGED,
        ("param.data", "param.data.clone()"),
        "`ema.shadow` is not an average",
    ),
    "a list of averages": (
        NET
        + "average = [WRONG for p in net.parameters()]"
        + TRAINED.replace("UPDATE", "for a, p in zip(average, net.parameters()):\n        a.lerp_(p.data, 0.1)")
        + "print([round(n, 5) for p in average for n in p.flatten().tolist()])",
        ("p.detach()", "p.detach().clone()"),
        "`average` is not an average",
    ),
    "the best parameters, kept without a copy": (
        NET + BEST.replace("KEPT", "WRONG") + SHOWN,
        ("p.detach()", "p.detach().clone()"),
        "restores nothing",
    ),
    "a target network that is the trained network itself": (
        NET
        + "import copy\nWRONG"
        + TRAINED.replace(
            "UPDATE", "for t, p in zip(target.parameters(), net.parameters()):\n        t.data.lerp_(p.data, 0.1)"
        )
        + "print([round(n, 5) for p in target.parameters() for n in p.flatten().tolist()])",
        ("target = net", "target = copy.deepcopy(net)"),
        "`target` is not a copy of `net`",
    ),
    "a target network on the same memory": (
        NET
        + "net = net[0]\ny = torch.randn(8, 4)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        + "target = nn.Linear(3, 4)\nWRONG"
        + TRAINED.replace(
            "UPDATE",
            "for p, t in zip(net.parameters(), target.parameters()):\n        t.data.mul_(0.9).add_(0.1 * p.data)",
        )
        + "print([round(n, 5) for p in target.parameters() for n in p.flatten().tolist()])",
        (
            "target.weight.data = net.weight.data\ntarget.bias.data = net.bias.data",
            "target.load_state_dict(net.state_dict())",
        ),
        "`target` is not a copy of `net`",
    ),
    "losses that torch.tensor copies": (
        NET + COPIED.replace("JOINED", "WRONG") + SHOWN,
        ("torch.tensor(losses, requires_grad=True).mean()", "sum(losses) / 8"),
        "copies the numbers of `losses` into a new leaf",
    ),
    "losses that torch.tensor copies without requires_grad": (
        NET + COPIED.replace("JOINED", "WRONG") + SHOWN,
        ("torch.tensor(losses).mean()", "sum(losses) / 8"),
        "runs backward from a tensor without a history",
    ),
    "a list of two losses": (
        NET + "a, b = net(x).mean(), net(x).std()" + ONE.replace("COPY", "WRONG") + SHOWN,
        ("torch.tensor([a, b], dtype=torch.float64, requires_grad=True).sum()", "(a.double() + b.double())"),
        "copies the numbers of `[a, b]` into a new leaf",
    ),
    "the item of a loss": (
        NET + ONE.replace("COPY", "WRONG") + SHOWN,
        ("torch.tensor((net(x) - y).square().mean().item(), requires_grad=True)", "(net(x) - y).square().mean()"),
        "copies the numbers of",
    ),
    "items of losses in a list": (
        NET + COPIED.replace("(net(x[i]) - y[i]).square().sum()", "ITEM").replace("JOINED", "WRONG") + SHOWN,
        ("torch.tensor(losses, requires_grad=True).sum()", "sum(losses)"),
        "copies the numbers of `losses` into a new leaf",
    ),
    "a cloned loss with a penalty whose saved tensor is overwritten": (
        NET
        + "size = net[0].weight.exp()\n"
        + ONE.replace("COPY", "(net(x) - y).square().mean().clone() + 0.01 * size.sum()\nWRONG")
        + SHOWN,
        ("size.mul_(2)", "size = size.mul(2)"),
        "overwrites `size`, which the backward pass in line",
    ),
    "losses that torch.tensor copies, plus a penalty": (
        NET + COPIED.replace("JOINED", "WRONG + 0.01 * net[0].weight.square().sum()") + SHOWN,
        ("torch.tensor(losses, requires_grad=True).mean()", "sum(losses) / 8"),
        "only the other terms of the loss do",
    ),
    "the item of a loss, to which a penalty is added": (
        NET + ONE.replace("COPY", "WRONG\nloss = loss + sum(p.square().sum() for p in net.parameters())") + SHOWN,
        ("torch.tensor((net(x) - y).square().mean().item(), requires_grad=True)", "(net(x) - y).square().mean()"),
        "only the other terms of the loss do",
    ),
    "a loss that is copied, with requires_grad set in the next line": (
        NET + ONE.replace("COPY", "WRONG") + SHOWN,
        ("torch.tensor((net(x) - y).square().mean())\nloss.requires_grad = True", "(net(x) - y).square().mean()"),
        "copies the numbers of",
    ),
}

#: Writes into parameters between forward and backward, and the definitions that they need. The right program writes
#: after backward.
WRITES = {
    "a loop of the training": ("with torch.no_grad():\n        for p in net.parameters():\n            p -= 0.1", ""),
    "a call": ("shrink(net)", "def shrink(module):\n    for p in module.parameters():\n        p.data.mul_(0.5)\n"),
    "one parameter": ("net[2].weight.data.clamp_(-0.1, 0.1)", ""),
}

KEPT_STATE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = nn.GRUCell(3, 4), START

    def forward(self, x):
        WRONGfor row in x:
            self.h = self.cell(row, self.h)
        return self.h

model = Model()
for step in range(3):
    model.zero_grad()
    model(torch.randn(2, 5, 3)).square().mean().backward()
print([round(n, 5) for p in model.parameters() for n in p.grad.flatten().tolist()])
"""

_ITEM = "(net(x[i]) - y[i]).square().sum()"


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_has_its_line_and_edits_that_compute_the_intended_result(name, tmp_path):
    program, (wrong, right), verdict = KINDS[name]
    source = program.replace("WRONG", wrong).replace("ITEM", f"{_ITEM}.item()")
    _, meant, error = explained(written(tmp_path, program.replace("WRONG", right).replace("ITEM", _ITEM)))
    assert error is None
    explanation, output, error = explained(written(tmp_path, source))
    assert error is not None or output != meant
    (fault,) = explanation.faults
    first = source[: source.index(wrong)].count("\n") + 1
    lines = set(range(first, first + wrong.count("\n") + 1))
    assert verdict in fault.verdict and lines & {each.line.number for each in fault.evidence}, str(explanation)
    assert fault.is_silent == (error is None) and explanation.unseen == []
    edited = [fix for fix in fault.fixes if fix.edits]
    assert edited, str(explanation)
    for fix in edited:
        again, output, error = explained(written(tmp_path, fix.apply(source)))
        assert error is None and output == meant and again.faults == [], fix.apply(source)


@pytest.mark.parametrize("start", ["None", "torch.zeros(5, 4)"])
def test_the_fix_detaches_the_state_of_a_module_before_the_loop_in_its_forward(start, tmp_path):
    program = NET + KEPT_STATE.replace("START", start)
    right = "self.h = None if self.h is None else self.h.detach()\n        "
    _, meant, error = explained(written(tmp_path, program.replace("WRONG", right)))
    assert error is None
    source = program.replace("WRONG", "")
    explanation, _, error = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert "second time" in str(error) and "`self.h` carries the graph" in fault.verdict
    again, output, error = explained(written(tmp_path, fault.fixes[0].apply(source)))
    assert error is None and output == meant and again.faults == [], fault.fixes[0].apply(source)


def test_the_fix_of_a_copied_sum_converts_the_whole_sum_and_not_its_last_term(tmp_path):
    copied = "torch.tensor(a.item() + b.item(), dtype=torch.float64, requires_grad=True)"
    source = NET + "a, b = net(x).mean(), net(x).std()" + ONE.replace("COPY", copied) + SHOWN
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    (edited,) = [fix.apply(source) for fix in fault.fixes if fix.edits]
    assert "loss = (a + b).to(dtype=torch.float64)\n" in edited


def test_a_list_of_losses_that_is_only_counted_and_printed_is_a_leak(tmp_path):
    kept = "kept = []\nfor step in range(4):\n    kept.append(net(x).square().mean())\nprint(len(kept), kept[-1])\n"
    explanation, _, _ = explained(written(tmp_path, f"{NET}{kept}n = len(kept)\n"))
    (fault,) = explanation.faults
    assert fault.kind == "leak" and "`kept` keeps 4 results" in fault.verdict
    explanation, _, _ = explained(
        written(tmp_path, f"{NET}{kept}torch.stack(kept).mean().backward(retain_graph=True)\n")
    )
    assert explanation.faults == []


def test_an_unnamed_result_is_not_called_by_the_name_of_another_tensor(tmp_path):
    layers = "nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Dropout(0.2, inplace=True), nn.Linear(4, 1))"
    source = f"{NET}head = {layers}\nout = head(net[0](x))\nout.sum().backward()\n"
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert "overwrites the result of `relu`" in fault.verdict, str(explanation)
    again, _, error = explained(written(tmp_path, fault.fixes[0].apply(source)))
    assert error is None and again.faults == []


RIGHT = {
    "a penalty on gradients that are dropped": NET + PENALTY.replace("CLEAR", "opt.zero_grad()"),
    "an average that starts from a copy, and is applied at the end": (
        NET
        + EMA.replace("KEPT", "param.data.clone()").replace("UPDATED", "self.shadow[name] = new.clone()")
        + TRAINED.replace("UPDATE", "ema.update()")
        + "ema.apply_shadow()\nprint(net(x).mean())"
    ),
    "an average that is computed anew": (
        NET
        + EMA.replace("KEPT", "param.data").replace("UPDATED", "self.shadow[name] = new")
        + TRAINED.replace("UPDATE", "ema.update()")
    ),
    "parameters that a list of aliases updates": (
        NET
        + "weights = [p.data for p in net.parameters()]\n"
        + TRAINED.replace(
            "UPDATE",
            "for w, p in zip(weights, net.parameters()):\n        w.add_(p.grad, alpha=-0.1)\n        w.clamp_(-1, 1)",
        )
    ),
    "a target network whose parameters move slowly": (
        NET
        + "import copy\ntarget = copy.deepcopy(net)\nslow = {n: p.data for n, p in target.named_parameters()}\n"
        + TRAINED.replace(
            "UPDATE", "for n, p in net.named_parameters():\n        slow[n].mul_(0.9).add_(p.data, alpha=0.1)"
        )
    ),
    "the best parameters, copied": NET + BEST.replace("KEPT", "p.detach().clone()"),
    "metrics that are copied, and no backward from them": (
        NET
        + COPIED.replace("JOINED", "torch.stack(losses).mean()")
        + "print(torch.tensor(losses).std(), torch.tensor([a.item() for a in losses], requires_grad=True).mean())"
    ),
    "an input that starts from an output, and is optimized": (
        NET
        + "z = torch.tensor(net(x).detach().mean().item(), requires_grad=True)\n"
        + "own = torch.optim.SGD([z], lr=0.1)\n(z - 1).square().backward()\nown.step()\n"
        + "start = net(x).mean()\nguess = torch.tensor(start, requires_grad=True)\n"
        + "(guess - 1).square().backward()\nprint(guess.grad)"
    ),
    "a temperature that starts from an output, and is trained together with the parameters": (
        NET
        + "t = torch.tensor(net(x).detach().std().item(), requires_grad=True)\n"
        + "own = torch.optim.SGD([*net.parameters(), t], lr=0.1)\n"
        + "for _ in range(3):\n"
        + "    own.zero_grad()\n    (net(x) / t).square().mean().backward()\n    own.step()\n"
    ),
    "a weight that starts from an output, and is added to a list of parameters": (
        NET
        + "out = net(x)\nw = torch.tensor(out.std().item(), requires_grad=True)\nparameters = list(net.parameters())\n"
        + "parameters.append(w)\nown = torch.optim.SGD(parameters, lr=0.1)\n"
        + "(w * net(x).square().mean()).backward()\nown.step()\n"
    ),
    "a leaf of numbers": "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n(w * w).sum().backward()\n",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_program_has_no_faults(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, RIGHT[name]))
    assert error is None and explanation.faults == [] and explanation.unseen == [], str(explanation)


@pytest.mark.parametrize("name", WRITES)
def test_the_fix_lets_a_line_that_writes_to_parameters_run_after_backward(name, tmp_path):
    write, before = WRITES[name]
    start = f"{NET}{before}for step in range(3):\n    loss = (net(x) - y).square().mean()\n"
    end = f"    opt.step()\n{SHOWN}"
    passed = "    opt.zero_grad()\n    loss.backward()\n"
    source = f"{start}    {write}\n{passed}{end}"
    _, meant, _ = explained(written(tmp_path, f"{start}{passed}    {write}\n{end}"))
    explanation, output, error = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert output != meant and fault.is_silent == (error is None) == (".data" in f"{before}{write}")
    (fix,) = fault.fixes
    again, output, error = explained(written(tmp_path, fix.apply(source)))
    assert error is None and output == meant and again.faults == [], fix.apply(source)


def test_a_state_dict_that_restores_nothing_is_found_after_more_passes_than_the_watch_remembers(tmp_path, monkeypatch):
    monkeypatch.setattr(watched_run, "MOST_PASSES", 2)
    training = TRAINED.replace("UPDATE", "")
    source = f"{NET}{training}best = net.state_dict()\n{training}net.load_state_dict(best)\n"
    (fault,) = explained(written(tmp_path, source))[0].faults
    assert "restores nothing" in fault.verdict


def test_a_line_that_overwrites_several_tensors_is_one_fault(tmp_path):
    write = "for p in deep.parameters():\n    p.data.mul_(2)\n"
    source = f"{NET}deep = nn.Sequential(net, nn.Linear(1, 2))\nloss = deep(x).sum()\n{write}loss.backward()\n"
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert "and 1 other tensor without raising their versions" in fault.verdict
    assert fault.evidence[0].role.endswith("weight`")


@pytest.mark.parametrize("between", ["extra = net(x).mean()", "print(net[2].weight)"])
def test_no_fix_moves_a_write_past_a_line_that_may_read_the_written_parameter(between, tmp_path):
    source = f"{NET}loss = net(x).sum()\nnet[2].weight.data.mul_(2)\n{between}\nloss.backward()\n"
    explanation, _, _ = explained(written(tmp_path, source))
    (fault,) = explanation.faults
    assert "overwrites `net[2].weight`" in fault.verdict
    assert fault.fixes and all(fix.edits == () for fix in fault.fixes), str(explanation)
