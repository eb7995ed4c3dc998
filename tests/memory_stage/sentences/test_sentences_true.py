"""Test that each claim of each sentence is true of the observed memory, in programs of every kind.

``kinds`` generates the programs, ``truth`` observes the engine after each step, ``claims`` defines the claims. The test
also fails if a sentence contains an unknown claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

import minitensor as mt
from memory_stage.recorder import record
from tests.support.stage import claims, claims_rarer, kinds, truth  # importing the modules registers their claims

SEEDS = 20  # the number of programs of each kind, 220 in all

#: Programs of learners, and programs whose sentences were once wrong.
BY_HAND = {
    "a GAN's step": """
import minitensor.torch as torch
from minitensor.torch import nn
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
og, od = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
fake = G(torch.ones(1, 2))
loss = nn.functional.binary_cross_entropy_with_logits(D(fake.detach()), torch.zeros(1, 1))
loss.backward()
od.step()
loss = nn.functional.binary_cross_entropy_with_logits(D(fake), torch.ones(1, 1))
loss.backward()
og.step()
""",
    "a recurrent state": """
import minitensor.torch as torch
W = torch.ones(3, 3, requires_grad=True)
h = torch.zeros(1, 3)
for t in range(3):
    h = torch.tanh(h @ W)
    kept = h.detach()
h.sum().backward()
""",
    "masks": """
import minitensor.torch as torch
x = torch.tensor([1., -2., 3.], requires_grad=True)
y = x * 1
y[y < 0] = 0
y.masked_fill_(y > 2, 9)
y.sum().backward()
""",
    "batch normalization in training and in evaluation": """
import minitensor.torch as torch
bn = torch.nn.BatchNorm1d(2)
y = bn(torch.ones(4, 2))
bn.eval()
z = bn(torch.ones(4, 2))
bn.running_mean.zero_()
""",
    "a residual and a ReLU in place": """
import minitensor.torch as torch
x = torch.ones(2, requires_grad=True)
h = x * 2
out = torch.relu(h)
out += h
out.relu_()
out.sum().backward()
""",
    "writes through data and its array": """
import minitensor.torch as torch
w = torch.ones(2, requires_grad=True)
y = w * w
n = w.data.numpy()
n[0] = 9
w.data.mul_(2)
w.data[0] = 4
y.sum().backward()
""",
    "a parameter written in the line that makes it": """
import minitensor.torch as torch
x = torch.ones(2)
with torch.no_grad(): torch.nn.Parameter(x).add_(1)
with torch.no_grad(): torch.nn.Parameter(x.add_(1)).add_(1)
""",
    "temporary storages inside of operations": """
import minitensor.torch as torch
x = torch.ones(2)
y = x.repeat(3, 1)
""",
    "an expanded tensor that is written": """
import minitensor.torch as torch
x = torch.ones(2)
y = x.expand(3, 2)
try:
    y.add_(1)
except RuntimeError:
    pass
""",
    "several operations with a saved tensor": """
w = mt.to_tensor([1., 2.], stop_gradient=False)
a = w * 1
b = a * a
c = a * a
d = a * a
a.add_(1)
""",
    "a function of two tensors": """
x = mt.ones([2])
y = mt.ones([2])
def f(a, b):
    return a + b
z = f(x, y)
""",
    "a coroutine": """
import asyncio
x = mt.ones([2])
async def work():
    x.add_(1)
    await asyncio.sleep(0)
    return x * 2
r = asyncio.run(work())
""",
    "hooks that replace gradients": """
w = mt.to_tensor([1., 2.], stop_gradient=False)
y = w * 2
y.register_hook(lambda g: g * 10)
y.register_hook(lambda g: g + 1)
w.register_hook(lambda g: mt.zeros([2]))
y.sum().backward()
""",
}


@pytest.fixture(autouse=True, scope="module")
def _existing_objects_ignored() -> Iterator[None]:
    with truth.existing_objects_ignored():
        yield


@pytest.fixture(autouse=True)
def _on_the_host() -> Iterator[None]:
    yield
    mt.set_device("cpu")


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "STRICT", True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_sentences_on_programs_of_a_kind_are_true(kind: str) -> None:
    steps = 0
    for seed in range(SEEDS):
        program = kinds.program(kind, seed)
        reported, wrong = truth.false_sentences(program)
        assert not wrong, f"{program}\n" + "\n".join(wrong)
        steps += reported
    assert steps > 4 * SEEDS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_HAND)
def test_the_sentences_on_a_learners_program_are_true(name: str) -> None:
    steps, wrong = truth.false_sentences(BY_HAND[name].strip("\n"))
    assert steps > 1 and not wrong, "\n".join(wrong)


def test_the_kinds_have_at_least_200_programs_and_most_programs_differ() -> None:
    programs = [kinds.program(kind, seed) for kind in kinds.KINDS for seed in range(SEEDS)]
    assert len(programs) >= 200 and len(set(programs)) > 0.8 * len(programs)


# ---------- a false sentence is noticed ----------

ALIASES = """
x = mt.ones([6])
v = x[1:3]
y = x + 1
v.add_(1)
w = mt.ones([6])
w.stop_gradient = False
a = w * 2
b = a * a
a.add_(1)
z = y
del y
z = x.clone()
w = 0
"""


def altered(sentence: str) -> Iterator[str]:
    """Yield copies of the sentence, each with one number or one name changed."""
    for found in re.finditer(r"(?<![\w.])\d+(?![\w.]*\d)", sentence):
        if sentence[: found.start()].count("`") % 2:
            continue  # the number is part of code
        yield f"{sentence[: found.start()]}{int(found[0]) + 1}{sentence[found.end() :]}"
    for found in re.finditer(r"(?<=`)[a-z](?=`)", sentence):
        yield f"{sentence[: found.start()]}nobody{sentence[found.end() :]}"


def test_a_sentence_with_a_changed_number_or_name_is_usually_found_false() -> None:
    namespace = {"__name__": "__main__", "mt": mt}
    with truth.watched(namespace, "<true?>") as witness:
        steps = record.run(ALIASES.strip("\n"), namespace, file="<true?>").variant["steps"]
    tried, missed = 0, []
    for k, step in enumerate(steps):
        for text in altered(step["say"]):
            tried += 1
            source = ALIASES.strip("\n").splitlines()
            said = truth.Said(step["line"], text, witness.moments[k], witness.moments[k + 1], source, None)
            if not list(truth.judged(said)):
                missed.append(text)
    # The line number at the beginning of a sentence is not judged.
    missed = [text for text in missed if text.partition(" ")[0] != "Line"]
    assert tried > 40 and len(missed) < 0.1 * tried, missed


@pytest.mark.parametrize(
    ("program", "said", "planted"),
    [
        ("def f(t):\n    return t + 1\ny = f(mt.ones([2]))", "`f` is done", "`g` is done"),
        ("x = mt.arange(4.0)\ny = x.sum() * x.sum() * 2", "Line 2 runs 4 operations", "Line 2 runs 3 operations"),
        ("x = mt.arange(4.0)\ny = x.sum() * x.sum() * 2", "4 new storages, 16 bytes", "3 new storages, 16 bytes"),
        ("x = mt.arange(4.0)\ny = x.sum() * x.sum() * 2", "storages, 16 bytes", "storages, 3 bytes"),
        ("x = mt.ones([2])\ny = x.sin_()", "`y` is a second name", "`y` names a tensor that it received"),
        (
            "w = mt.to_tensor([1.], stop_gradient=False)\na = w * w",
            "`w@0`, because its gradient needs those numbers",
            "nothing for backward",
        ),
    ],
)
def test_a_planted_sentence_is_found_false(program, said, planted):
    steps = [each for each in truth.observed_sentences(program) if said in each.text]
    assert len(steps) == 1 and not list(truth.judged(steps[0]))
    assert list(truth.judged(replace(steps[0], text=steps[0].text.replace(said, planted))))


def test_a_sentence_with_an_unknown_claim_is_found_false() -> None:
    now = truth.Moment()
    assert list(truth.judged(truth.Said(1, "`x` is beautiful.", now, now, [], None))) == ["unknown: `x` is beautiful"]
    assert claims.rule is claims_rarer.rule is truth.rule
