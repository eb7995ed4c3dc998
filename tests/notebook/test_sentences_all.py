"""Every text in the source of the stage's sentences is said of some program."""

from __future__ import annotations

import re
import sys

import pytest

import minitensor as mt
from minitensor.stage.recording import record
from tests.notebook import kinds, templates, test_sentences, test_sentences_hold, test_sentences_true
from tests.notebook.programs import PROGRAMS

LEAF = "w = mt.to_tensor([1., 2., 3., 4.], stop_gradient=False)\na = w * 1\n"
TORCH = "import minitensor.torch as torch\n"
WRITTEN = "w = mt.ones([4])\nw.stop_gradient = False\na = mt.zeros([4])\nv = a[0:2]\nv.copy_(w[0:2])\nv.add_(w[0:2])\n"

#: What stands before it ran in an earlier cell.
STAGE = "# the stage\n"

#: At the end of a program: the notebook shows the value of the last line, and keeps it as ``_``.
SHOWN = "# shown\n"


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
    "s = {mt.ones([2])}\ndef f():\n    return 1\na = [f(), *s][1]",
    "x = mt.ones([4])\nm = memoryview(x.numpy(share=True))\ndel x",
    "import copy\nx = mt.ones([2])\na, b = copy.copy(x), copy.copy(x)",
    "import threading\nx = mt.ones([2, 3])\nt = threading.Thread(target=x.reshape_, args=([3, 2],))\n"
    "t.start(); t.join()",
    "import threading\nx = mt.ones([2])\nt = threading.Thread(target=x.zero_)\ny = [t.start(), t.join(), x * 2][2]",
    "import threading\nw = mt.ones([2])\nw.stop_gradient = False\nx = w * 3\n"
    "t = threading.Thread(target=x.backward)\ny = [t.start(), t.join(), x * 2][2]",
    TORCH + "torch.ones(1).expand(4).add_(1)",
    TORCH + "x = torch.ones(1).expand(4)\nv = x[0:1]\nv.add_(1)",
    TORCH + "w = torch.ones(4, requires_grad=True)\na = w * 1\np, q = a.split(2)",
    "x = mt.ones([2])\nx * 2\n" + SHOWN,
    "a = mt.ones([2])\na.add_(1)\n" + SHOWN,
    "x = mt.ones([2, 3])\ny = x.reshape_([3, 2])",
    "x = mt.ones([2, 3])\nx.reshape_([3, 2]).add_(1)",
    "x = mt.ones([2, 2])\nfor a, b in [x]:\n    a.zero_()",
    "x = mt.ones([2, 2])\ny = x.t()[0:1].t()[0].detach()",
    LEAF + "y = a[0:2] * a[0:2]\nz = a[0:2] * a[0:2]\na[3] = 1.",
    LEAF + "y = a[0:2] * a[0:2]\nwith mt.set_inplace_policy('copy_on_write'):\n    a[3] = 1.\n"
    "z = a * a\nd = a.detach()\nd.zero_()",
    LEAF + "y = a * a\nwith mt.set_inplace_policy('copy_on_write'), mt.no_grad():\n    a[1] = 0.\n    a[1] = 5.",
    LEAF + "y = a * a\nd = a.detach()\nb = d.add_(1)",
    "w = mt.ones([4])\nw.stop_gradient = False\na = mt.zeros([4])\nv = a[0:2]\nv.add_(w[0:2])\na.sum().backward()",
    LEAF + "n = a.detach().numpy(share=True)\nwith mt.check_foreign_writes():\n    y = a * a\n    z = a * a\n"
    "    n[0] = 7",
    LEAF + "a.register_hook(lambda g: print(g))\na.register_hook(lambda g: None)\na.sum().backward()",
    LEAF + "y = w * w\nwith mt.no_grad():\n    w.reshape_([2, 2])\ny.sum().backward()",
    "class F(mt.autograd.PyLayer):\n    forward = staticmethod(lambda ctx, x: (x * 2, x * 3))\n"
    "    backward = staticmethod(lambda ctx, *g: g[0] + g[1])\n"
    "w = mt.ones([2])\nw.stop_gradient = False\np, q = F.apply(w)\n(p * q).backward()",
    LEAF + "go = (a * a).backward\n" + STAGE + "go()",
    LEAF + "y = a * a\n" + STAGE + "y.backward()",
    LEAF + "y = a * a\na.add_(1)\n" + STAGE + "y.backward()",
    LEAF + "y = mt.to_tensor(0.)\n" + STAGE + "(a * 1).sum().backward()",
    LEAF + "v = a[0:2]\nv.scale_(10)\ny = a.sum()\n" + STAGE + "y.backward()",
    WRITTEN + STAGE + "a.sum().backward()",
)


def said_of(program: str) -> list[str]:
    namespace = {"__name__": "__main__", "mt": mt}
    earlier, _, program = program.rpartition(STAGE)
    exec(compile(earlier, "<earlier>", "exec"), namespace)
    shown = program.endswith(SHOWN)
    hook, sys.displayhook = sys.displayhook, lambda value: namespace.__setitem__("_", value)
    try:
        program = program.removesuffix(SHOWN).strip("\n")
        recording = record.run(program, namespace, file="<program>", show_last=shown)
    finally:
        sys.displayhook = hook
        mt.set_device("cpu")
    return [step["say"] for step in recording.variant["steps"]]


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """By text, a sentence with it that is said of a program of the tests of the sentences."""
    programs = [*MORE, *test_sentences.SAYS, *PROGRAMS.values(), *test_sentences_true.BY_HAND.values()]
    for pair in test_sentences_hold.PAIRS.values():
        programs += [pair.true, pair.near]
    programs += [kinds.program(kind, seed) for kind in kinds.KINDS for seed in range(test_sentences_true.SEEDS)]
    with templates.marked():
        sentences = {sentence for program in programs for sentence in said_of(program)}
    return {text: templates.plain(sentence) for sentence in sentences for text in templates.said_in(sentence)}


@pytest.mark.filterwarnings("ignore")
def test_every_text_is_said_of_a_program(said):
    """A new text needs a program that says it: a pair of ``test_sentences_hold``, or one of ``MORE``."""
    assert [text for text in templates.texts() if text not in said] == []


def test_the_texts_are_those_of_the_source(said):
    assert len(templates.texts()) > 150
    assert re.search("takes away a name and its tensor. ", said["naming: {} takes away a name and its {}. {}"])


def test_a_sentence_without_marks_is_what_is_said_without_them():
    for program in MORE[:12]:
        plain = said_of(program)
        with templates.marked():
            assert [templates.plain(sentence) for sentence in said_of(program)] == plain
        assert said_of(program) == plain


def test_an_operation_recorded_before_the_first_line_has_no_line():
    told = said_of(LEAF + "y = a * a\n" + STAGE + "y.backward()")
    assert (
        told[1] == "`multiply` (earlier) takes [1, 1, 1, 1] and sends [1, 2, 3, 4] and [1, 2, 3, 4] to earlier values."
    )


def test_a_view_recorded_before_the_first_line_is_no_layers_call():
    told = said_of(LEAF + "v = a[0:2]\n" + STAGE + "v.add_(1)\na.sum().backward()")
    assert not any("its call" in sentence for sentence in told)
    assert "`getitem` (earlier) takes [1, 1] and sends [1, 1, 0, 0] to `v@0`, which has [1, 1, 1, 1] now." in told


@pytest.mark.parametrize(
    ("last", "asked"),
    [
        ("x.astype('int32').divide_(x)", "the dtype of its target cannot hold"),
        ("x.add_(w.add_(1))", "asks to write a leaf while"),
        ("w.add_(1)", "asks to write the leaf `w` while"),
    ],
)
def test_a_refusal_names_what_was_asked_for_and_nothing_else(last, asked):
    assert asked in said_of(LEAF + "x = mt.ones([4])\n" + last)[-1]


def test_what_a_line_made_is_not_what_it_assigns():
    assert said_of(TORCH + "x = torch.ones(2)\nx.clone().numpy()[0] = 5")[-1].startswith("`clone` copies 2 numbers")
