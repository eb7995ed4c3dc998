"""Every text in the source of the stage's sentences is said of some program, or stands in a list that shrinks."""

from __future__ import annotations

from pathlib import Path

import pytest

import minitensor as mt
from minitensor.stage.recording import record
from tests.notebook import kinds, templates, test_sentences, test_sentences_hold, test_sentences_true
from tests.notebook.programs import PROGRAMS

LEAF = "w = mt.to_tensor([1., 2., 3., 4.], stop_gradient=False)\na = w * 1\n"

#: Texts that no program is known for here.
NOT_SAID = Path(__file__).with_name("sentences-not-said.txt")

#: For texts that no other test's program says.
MORE = (
    "pass",
    LEAF + "with mt.set_inplace_policy('2.5'):\n    a.sin_()",
    LEAF + "w.reshape_([2, 2])",
    LEAF + "y = a * a\ny.backward()\ny.backward()",
    LEAF + "y = a[0:2] * a[0:2]\na[3] = 1.\ny.backward()",
    "x = mt.ones([4])\nw = mt.ones([4])\nw.stop_gradient = False\nx.add_(w)",
    "x = mt.ones([4]).astype('int32')\nx.divide_(mt.ones([4]))",
    "import numpy as np\nn = np.ones(4)\nn.flags.writeable = False\nx = mt.from_numpy(n)\nx.add_(1)",
    "x = mt.ones([1]).expand([4])\ny = x.detach()\ny.add_(1)",
    "x = mt.ones([2])\nx.add_(mt.ones([3, 2]))",
    LEAF
    + "with mt.check_foreign_writes():\n    n = a.numpy(share=True)\n    y = a * a\n    n[0] = 7\n    y.backward()",
    LEAF + "n = a.detach().numpy(share=True)\ny = a * a\nn[0] = 7",
    "import numpy as np\nx = mt.from_numpy(np.ones(4))\ndel x",
    "x = mt.ones([2, 3])\nx.reshape_([2, 3])",
    "import threading\nx = mt.ones([2])\ndef work():\n    x.add_(1)\n"
    "t = threading.Thread(target=work); y = x * 2; t.start(); t.join(); z = x * 2",
    LEAF + "y = a * a\nwith mt.set_inplace_policy('copy_on_write'):\n    a.add_(1)\n    a.add_(1)",
    "x = mt.ones([2])\nv = x.detach()\ny = v.add_(1)",
    "x = mt.to_tensor([[1., 2.], [3., 4.]])\nx.t_()",
    "def g():\n    t = yield\n    yield\ni = g()\nnext(i)\ni.send(mt.ones([2]))",
    LEAF
    + "n = a.detach().numpy(share=True)\nwith mt.check_foreign_writes():\n    y = a*a\n    n[0] = 7\n    y.backward()",
    "x = mt.ones([4])\nxs = {x[0:2]}\ndel x",
)


def said_of(program: str) -> list[str]:
    try:
        recording = record.run(program.strip("\n"), {"__name__": "__main__", "mt": mt}, file="<program>")
    finally:
        mt.set_device("cpu")
    return [step["say"] for step in recording.variant["steps"]]


@pytest.fixture(scope="module")
def said() -> set[str]:
    """What is said of the programs of the tests of the sentences."""
    programs = [*MORE, *test_sentences.SAYS, *PROGRAMS.values(), *test_sentences_true.BY_HAND.values()]
    for pair in test_sentences_hold.PAIRS.values():
        programs += [pair.true, pair.near]
    programs += [kinds.program(kind, seed) for kind in kinds.KINDS for seed in range(test_sentences_true.SEEDS)]
    return {sentence for program in programs for sentence in said_of(program)}


@pytest.mark.filterwarnings("ignore")
def test_every_text_is_said_of_a_program_or_is_listed(said):
    """A new text needs a program that says it: a pair of ``test_sentences_hold``, or one of ``MORE``."""
    silent = {text for text, pattern in templates.templates().items() if not any(map(pattern.search, said))}
    assert silent == set(NOT_SAID.read_text(encoding="utf-8").splitlines())


def test_the_texts_are_those_of_the_source():
    texts = templates.templates()
    assert len(texts) > 150
    pattern = texts["naming: {} takes away a name and its {}. {}"]
    assert pattern.search("`del x` takes away a name and its tensor. Storage 1 stays.")
    assert not pattern.search("`del x` takes away the last name of its tensor.")
