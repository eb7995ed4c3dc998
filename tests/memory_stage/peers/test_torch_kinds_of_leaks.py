"""Test that reports name the variables and attributes that keep graphs alive, even in functions that have returned."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.explanation.whole_run.program_text import ProgramText  # noqa: E402
from memory_stage.explanation.whole_run.value_reads import ValueReads  # noqa: E402
from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
xs = [torch.randn(5, 4) for _ in range(12)]
"""

#: For each program: its text after BEGIN, the name that keeps graphs alive, and the statement that causes this.
LEAKS = {
    "a loss that main adds up and prints": (
        """
def main():
    total = 0.0
    for x in xs:
        loss = net(x).square().mean()
        total += loss
    print(f"{total.item() / len(xs):.6f}")
main()
""",
        "total",
        "total += loss",
    ),
    "a loss that is added without an in-place operation": (
        """
def main():
    total = torch.zeros(())
    for x in xs:
        total = total + net(x).square().mean()
    average = total / len(xs)
    print(f"{average:.6f}")
if __name__ == "__main__":
    main()
""",
        "total",
        "total = total + net(x).square().mean()",
    ),
    "outputs that an evaluation keeps and counts, after a training in the same function": (
        """
def main():
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(4):
        for x in xs:
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
    kept = []
    for x in xs:
        out = net(x)
        kept.append(out)
    print(len(kept))
main()
""",
        "kept",
        "kept.append(out)",
    ),
    "a method of a class that a function calls": (
        """
class Trainer:
    def __init__(self, net):
        self.net = net
    def evaluate(self):
        total = 0
        for x in xs:
            total += self.net(x).sum()
        print(round(float(total), 4))
def main():
    trainer = Trainer(net)
    trainer.evaluate()
main()
""",
        "total",
        "total += self.net(x).sum()",
    ),
    "an attribute of an attribute of an object": (
        """
class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0
    def update(self, loss):
        self.total += loss
        self.count += 1
    @property
    def average(self):
        return self.total / self.count
class Trainer:
    def __init__(self):
        self.meter = Meter()
    def validate(self):
        for x in xs:
            self.meter.update(net(x).square().mean())
        return self.meter
trainer = Trainer()
print(f"{trainer.validate().average:.6f}")
""",
        "self.total",
        "self.total += loss",
    ),
    "an attribute that grows in a statement outside of functions": (
        """
class Statistics:
    total = 0
statistics = Statistics()
for x in xs:
    statistics.total = statistics.total + net(x).sum()
print(f"{statistics.total.item():.6f}")
""",
        "statistics.total",
        "statistics.total = statistics.total + net(x).sum()",
    ),
    "a list in an attribute, from which the program computes one number": (
        """
class Validation:
    def __init__(self):
        self.outs = []
    def run(self):
        for x in xs:
            self.outs.append(net(x))
        return (torch.cat(self.outs) > 0).float().mean()
def main():
    print(f"{Validation().run().item():.4f}")
main()
""",
        "self.outs",
        "self.outs.append(net(x))",
    ),
    "a sum that a function returns, and that its caller prints": (
        """
def evaluate():
    total = 0
    for x in xs:
        total = total + net(x).square().mean()
    return total / len(xs)
print(f"{evaluate():.6f}")
""",
        "total",
        "total = total + net(x).square().mean()",
    ),
    "a sum that a function returns, and on which the caller then calls a method": (
        """
def evaluate():
    total, count = 0, 0
    for x in xs:
        total += net(x).square().mean()
        count += 1
    return total, count
def main():
    total, count = evaluate()
    print(f"{total.item() / count:.6f}")
main()
""",
        "total",
        "total += net(x).square().mean()",
    ),
    "results that a function returns, and that its caller keeps": (
        """
def step(x):
    return net(x).square().mean()
history = []
for x in xs:
    history.append(step(x))
print(["%.4f" % each for each in history], sum(h.item() for h in history))
""",
        "history",
        "history.append(step(x))",
    ),
    "dicts of results in a list": (
        """
def validate():
    outputs = []
    for x in xs:
        loss = net(x).square().mean()
        outputs.append({"loss": loss, "count": len(x)})
    return torch.stack([each["loss"] for each in outputs]).mean()
print(f"{validate().item():.6f}")
""",
        "outputs",
        'outputs.append({"loss": loss, "count": len(x)})',
    ),
    "a list of outputs in a dict": (
        """
results = {"out": [], "label": []}
for i, x in enumerate(xs):
    results["out"].append(net(x))
    results["label"].append(i)
print(len(results["out"]), len(results["label"]))
""",
        "results['out']",
        'results["out"].append(net(x))',
    ),
    "a function that raises and catches an unrelated error": (
        """
def main():
    running = 0
    for i, x in enumerate(xs):
        running += net(x).square().mean()
        if i % 4 == 0:
            print(i, running.item())
    try:
        {}["missing"]
    except KeyError:
        print("no key")
main()
""",
        "running",
        "running += net(x).square().mean()",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_variable_that_keeps_graphs_is_named_and_the_fixed_program_keeps_none(name, tmp_path):
    source, variable, blamed = LEAKS[name]
    path = written(tmp_path, BEGIN + source)
    explanation, output, error = explained(path)
    assert error is None
    (fault,) = explanation.faults
    assert fault.kind == "leak" and fault.verdict.startswith(f"`{variable}` keeps "), str(explanation)
    size, each = _bytes(fault.verdict)
    assert 3 * each <= size <= 13 * each and fault.verdict.endswith(
        ("more with each iteration.", "more with each result.")
    )
    assert fault.evidence[0].line.text == blamed
    (fix,) = fault.fixes
    assert fix.edits, str(explanation)
    again, repaired, error = explained(written(tmp_path, fix.apply(BEGIN + source)))
    assert error is None and again.faults == [], str(again)
    assert _numbers(repaired) == pytest.approx(_numbers(output), rel=1e-4)


def _bytes(verdict: str) -> list[float]:
    """Return the two sizes in a verdict: the bytes of all graphs, and the bytes of one graph."""
    units = {"bytes": 1, "KiB": 1024}
    return [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (bytes|KiB)", verdict)]


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split() if word.replace(".", "").replace("-", "").isdigit()]


def test_a_report_counts_the_kept_graphs_of_at_least_half_the_iterations(tmp_path):
    source = (
        BEGIN + "def main():\n    total = 0\n    for i in range({}):\n        total += net(xs[i % 12]).sum()\nmain()\n"
    )
    counts = []
    for n in (20, 200):
        explanation, _, _ = explained(written(tmp_path, source.replace("{}", str(n))))
        (fault,) = explanation.faults
        counts.append(int(fault.verdict.partition("after ")[2].split()[0]))
        assert n / 2 - 2 <= counts[-1] <= n
    assert counts[1] > 5 * counts[0]


RIGHT = {
    "a sum that the caller differentiates": """
def loss_of(xs):
    total = 0
    for x in xs:
        total += net(x).square().mean()
    return total / len(xs)
def main():
    for _ in range(3):
        net.zero_grad()
        loss_of(xs).backward()
main()
""",
    "a sum that is differentiated under another name": """
def main():
    total = 0
    for x in xs:
        total += net(x).square().mean()
    loss = total / len(xs)
    print(loss.item())
    loss.backward()
main()
""",
    "a sum that is differentiated in an expression": """
def main():
    total = 0
    for x in xs:
        total = total + net(x).square().mean()
    (total / len(xs)).backward()
main()
""",
    "a sum that a function of torch differentiates": """
def main():
    total = 0
    for x in xs:
        total += net(x).square().mean()
    grads = torch.autograd.grad(total, list(net.parameters()))
    print(len(grads))
main()
""",
    "a list of losses that are stacked": """
def main():
    losses = []
    for x in xs:
        losses.append(net(x).square().mean())
    torch.stack(losses).mean().backward()
    print(len(losses))
main()
""",
    "a list of losses, each of which is differentiated later": """
def main():
    losses = []
    for x in xs:
        losses.append(net(x).square().mean())
    for loss in losses:
        loss.backward()
main()
""",
    "a penalty that each step computes from all parameters": """
def main():
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in xs:
        penalty = 0
        for p in net.parameters():
            penalty = penalty + p.square().sum()
        loss = net(x).square().mean() + 0.01 * penalty
        opt.zero_grad()
        loss.backward()
        opt.step()
main()
""",
    "a sum of numbers that are read from losses after backward has freed their graphs": """
def main():
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    total, count = 0.0, 0
    for x in xs:
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        count += 1
    print(total / count)
main()
""",
    "a state that the next step reads": """
def main():
    h = torch.zeros(5, 4)
    for x in xs:
        h = h + net(x)
        out = h.sin()
    out.sum().backward()
main()
""",
    "an attribute that a method differentiates and clears": """
class Criterion:
    def __init__(self):
        self.total = 0
    def add(self, x):
        self.total = self.total + net(x).square().mean()
    def step(self):
        self.total.backward()
        self.total = 0
criterion = Criterion()
for _ in range(2):
    for x in xs:
        criterion.add(x)
    criterion.step()
for x in xs:
    criterion.add(x)
(criterion.total / len(xs)).backward()
""",
    "an attribute that a method returns to a caller that differentiates it": """
class Parts:
    def __init__(self):
        self.total, self.parts = 0, []
    def add(self, x):
        self.total += net(x).square().mean()
        self.parts.append(net(x).mean())
    def value(self):
        return self.total + sum(self.parts)
def main():
    parts = Parts()
    for x in xs:
        parts.add(x)
    loss = parts.value()
    loss.backward()
    print(loss.item())
main()
""",
    "an auxiliary loss that a layer keeps for the caller": """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.aux = torch.nn.Linear(4, 4), 0
    def forward(self, x):
        self.aux = 0
        for _ in range(5):
            x = torch.tanh(self.fc(x))
            self.aux = self.aux + x.square().mean()
        return x
layer = Net()
for x in xs:
    loss = layer(x).mean() + 0.1 * layer.aux
    loss.backward()
""",
    "a method that the program looks up with getattr": """
class Module:
    def training_step(self, x):
        loss = 0
        for part in x.split(1):
            loss = loss + net(part).square().mean()
        return {"loss": loss}
step = getattr(Module(), "training_step")
for x in xs:
    step(x)["loss"].backward()
""",
    "parameters of inner steps, through which the outer loss is differentiated": """
def adapt(w, x):
    for _ in range(4):
        loss = (x @ w).square().mean()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        w = w - 0.1 * g
    return w
w = torch.randn(4, 1, requires_grad=True)
losses = []
for x in xs:
    losses.append((x @ adapt(w, x)).square().mean())
torch.stack(losses).sum().backward()
""",
    "a validation without gradients": """
def main():
    total, kept = 0, []
    with torch.no_grad():
        for x in xs:
            total += net(x).square().mean()
            kept.append(net(x))
    print(total, len(kept))
main()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_whose_graphs_are_needed_or_freed_has_no_fault(name, tmp_path):
    explanation, _, error = explained(written(tmp_path, BEGIN + RIGHT[name]))
    assert error is None and explanation.faults == [], str(explanation)


def test_explaining_a_leak_keeps_no_tensor_alive(tmp_path):
    source = (
        BEGIN
        + """
import gc, weakref
def main():
    total = 0
    seen = []
    for x in xs:
        out = net(x)
        total += out.sum()
        seen.append(weakref.ref(out))
    print(total.item())
    return seen
seen = main()
gc.collect()
print(sum(each() is not None for each in seen))
"""
    )
    explanation, output, error = explained(written(tmp_path, source))
    assert error is None and output.splitlines()[-1] == "0" and len(explanation.faults) == 1


@pytest.mark.parametrize(("read", "is_reported"), [("print(loss)", True), ("loss.backward()", False)])
def test_a_value_passed_to_a_class_method_counts_as_reported_if_the_method_only_prints_it(read, is_reported, tmp_path):
    calls = f"class Epoch:\n    @classmethod\n    def end(cls, loss):\n        {read}\n\nEpoch.end(total)\n"
    texts = [ProgramText(str(written(tmp_path, "total = 0\n" + calls)))]
    assert ValueReads(texts).are_reported("total", None) == is_reported
