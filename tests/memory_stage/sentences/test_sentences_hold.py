"""Test that a sentence appears for a program of which it is true, and not for a similar program."""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass, field

import pytest

import minitensor as mt
from memory_stage.recorder import record


@dataclass
class Near:
    """A program with an expected sentence, and a similar program of which the sentence would be false.

    Attributes:
        says: maps a line of ``true`` to words in the sentence of its step.
        never: words that no sentence on ``near`` contains.
        instead: maps a line of ``near`` to words in the sentence of its step.
    """

    true: str
    near: str
    says: dict[int, str]
    never: str
    instead: dict[int, str] = field(default_factory=dict)


def steps(program: str, namespace: dict | None = None) -> list[dict]:
    namespace = {"__name__": "__main__"} if namespace is None else namespace
    namespace.setdefault("mt", mt)
    return record.run(program.strip("\n"), namespace, file="<program>").variant["steps"]


def numbered_sentences(program: str) -> list[tuple[int, str]]:
    return [(step["line"], step["say"]) for step in steps(program)]


def has_sentence(program: str, line: int, text: str) -> bool:
    return any(text in sentence for at, sentence in numbered_sentences(program) if at == line)


LEAF = "x = mt.to_tensor([1., 2.], stop_gradient=False)\n"

PAIRS = {
    "a function returns a tensor, or rebinds a global name": Near(
        "S = mt.ones([2])\ndef reset():\n    global S\n    return mt.zeros([2])\nS = reset()",
        "S = mt.ones([2])\ndef reset():\n    global S\n    S = mt.zeros([2])\nreset()",
        {5: "`S` names its return value"},
        "returned",
        {4: "`S` moves to it, and storage 1 is freed"},
    ),
    "only the running line refers to a result, or a global name does": Near(
        "G = mt.ones([2])\ndef f():\n    return G * 2\nG = f()",
        "G = mt.ones([2])\ndef f():\n    global G\n    G = G * 2\nf()",
        {3: "held by the running line"},
        "held by",
        {4: "`G` moves to it"},
    ),
    "a function returns a tensor, or a closure over it": Near(
        "def make():\n    t = mt.ones([2])\n    return t\nf = make()",
        "def make():\n    t = mt.ones([2])\n    return lambda: t\nf = make()",
        {4: "`f` names its return value"},
        "names its return value",
        {4: "`t in f` is a tensor in its result"},
    ),
    "a function returns a generator's tensor, or the generator keeps it": Near(
        "def gen():\n    yield mt.ones([2])\nit = gen()\ndef step():\n    return next(it)\na = step()",
        "def gen():\n    t = mt.ones([2])\n    yield 1\nit = gen()\ndef step():\n    return next(it)\nstep()",
        {6: "`a` names its return value"},
        "names its return value",
    ),
    "a line has one result, or chooses one of two tensors": Near(
        "def f():\n    return mt.ones([2])\na = f()",
        "def f():\n    return mt.ones([2])\nx = mt.zeros([2])\na = [x, f()][0]",
        {3: "`a` names its return value"},
        "`a` names its return value",
        {4: "`a` names the tensor of `x`"},
    ),
    "a constructor makes a tensor, or receives it": Near(
        "class C:\n    def __init__(self):\n        self.t = mt.ones([2])\nc = C()",
        "class C:\n    def __init__(self, t):\n        self.t = t\nx = mt.ones([2])\nc = C(x)",
        {4: "`c.t` names a tensor that it made"},
        "made.",
        {5: "`c.t` names the tensor of `x`"},
    ),
    "a generator is sent a tensor, or continues with its own": Near(
        "def gen():\n    while True:\n        r = yield\nx = mt.ones([2])\nit = gen()\nnext(it)\nit.send(x)",
        "def gen():\n    r = mt.ones([2])\n    yield\n    yield\nit = gen()\nnext(it)\nnext(it)",
        {7: "`gen` resumes where it waited. `r in gen` is a name for the tensor of `x`."},
        "is a name for the tensor of",
        {7: "`gen` resumes where it waited, with `r in gen`."},
    ),
    "a generator writes and ends, or yields again": Near(
        "def gen():\n    r = yield\n    r.add_(1)\nx = mt.ones([2])\nit = gen()\nnext(it)\nit.send(x)",
        "def gen():\n    r = yield\n    r.add_(1)\n    yield\nx = mt.ones([2])\nit = gen()\nnext(it)\nit.send(x)",
        {3: "`add_` writes all 2 cells of storage 1", 7: "Line 7 raises `StopIteration`"},
        "raises",
        {3: "`add_` writes all 2 cells of storage 1"},
    ),
    "a line writes and raises, or only raises": Near(
        "x = mt.ones([2])\nx.add_(1).no_such_name",
        "x = mt.ones([2])\nx.no_such_name",
        {2: "Line 2: `add_` writes all 2 cells of storage 1, version 1; then it raises `AttributeError`."},
        "writes",
        {2: "Line 2 raises `AttributeError`. Memory does not change."},
    ),
    "a with statement ends, or a method does the same": Near(
        "class C:\n    def __enter__(self):\n        self.t = mt.ones([2])\n    def __exit__(self, *a):\n"
        "        self.t.zero_()\nwith C() as c:\n    y = mt.ones([3])",
        "class C:\n    def __enter__(self):\n        self.t = mt.ones([2])\n    def close(self, y):\n"
        "        self.t.zero_()\nc = C()\nc.__enter__()\nc.close(mt.ones([3]))",
        {7: "`y` is a name for that tensor.", 5: "`zero_` writes all 2 cells of storage 1"},
        "`y` is a name",
        {8: "then line 8 calls `C.close`"},
    ),
    "numpy writes in a line of several operations, or does not": Near(
        "import minitensor.torch as torch\nx = torch.ones(2)\nn = x.numpy()\nn[0] = float(((x + 1) * 2).sum())",
        "import minitensor.torch as torch\nx = torch.ones(2)\nn = x.numpy()\nf = float(((x + 1) * 2).sum())",
        {4: "other code writes 1 cell of storage 1, version unchanged"},
        "other code writes",
    ),
    "a masked fill, or a fill": Near(
        "x = mt.to_tensor([1., -2., 3.])\nx.masked_fill_(x < 0, 9.)",
        "x = mt.to_tensor([1., -2., 3.])\nx.fill_(9.)",
        {2: "then `masked_fill_` writes 1 cell of storage 1, version 1."},
        "1 cell",
        {2: "`fill_` writes all 3 cells of storage 1"},
    ),
    "a temporary array writes a tensor, or a clone of it": Near(
        "import minitensor.torch as torch\nx = torch.ones(2)\nx.numpy()[0] = 5",
        "import minitensor.torch as torch\nx = torch.ones(2)\nx.clone().numpy()[0] = 5",
        {3: "Line 3 writes 1 cell of storage 1 from outside, but the version stays 0."},
        "from outside",
    ),
    "a hook returns another gradient, or is removed": Near(
        LEAF + "y = x * 2\ny.register_hook(lambda g: g * 10)\n(y * 3).backward()",
        LEAF + "y = x * 2\nh = y.register_hook(lambda g: g * 10)\nh.remove()\n(y * 3).backward()",
        {4: "A hook on `y` receives a copy of the gradient [3, 3] and returns [30, 30], in storage 5"},
        "hook on",
        {5: "`multiply` (line 2) receives [3, 3]"},
    ),
    "a value has two hooks, or one": Near(
        LEAF + "y = x * 2\ny.register_hook(lambda g: g * 10)\ny.register_hook(lambda g: g + 1)\n(y * 3).backward()",
        LEAF + "y = x * 2\ny.register_hook(lambda g: g * 10)\nx.register_hook(lambda g: g + 1)\n(y * 3).backward()",
        {
            5: "2 hooks on `y` receive copies of the gradient [3, 3] in turn; 2 returned a gradient, and `backward` "
            "continues with [31, 31]."
        },
        "2 hooks",
        {5: "A hook on `y` receives a copy of the gradient [3, 3] and returns [30, 30]"},
    ),
    "a hook returns nothing, or a gradient": Near(
        "x = mt.to_tensor([1., 2.], stop_gradient=False)\nx.register_hook(lambda g: print(g))\n(x * 3).backward()",
        "x = mt.to_tensor([1., 2.], stop_gradient=False)\nx.register_hook(lambda g: g * 2)\n(x * 3).backward()",
        {3: "A hook on `x` receives a copy of the gradient [3, 3] and returns nothing"},
        "returns nothing",
        {3: "and returns [6, 6]"},
    ),
    "another thread writes, or the main thread does": Near(
        "import threading\nx = mt.ones([2])\ndef work():\n    for i in range(3):\n        x.add_(1)\n"
        "t = threading.Thread(target=work)\nt.start(); t.join()\nx.add_(1)",
        "x = mt.ones([2])\ndef work():\n    for i in range(3):\n        x.add_(1)\nwork()\nx.add_(1)",
        {7: "Another thread writes storage 1, that of `x`: version 0 to version 3.", 8: "from version 3 to version 4"},
        "nother thread",
        {4: "from version 2 to version 3"},
    ),
    "another thread writes a saved tensor, or one that is not saved": Near(
        "import threading\nw = mt.ones([2])\nw.stop_gradient = False\na = w * 1\ny = a * a\n"
        "t = threading.Thread(target=a.detach().zero_)\nt.start(); t.join()",
        "import threading\nw = mt.ones([2])\nw.stop_gradient = False\na = w * 1\ny = a + a\n"
        "t = threading.Thread(target=a.detach().zero_)\nt.start(); t.join()",
        {7: "`multiply` (line 5) saved version 0, and those numbers are gone"},
        "gone",
        {7: "Another thread writes storage 2"},
    ),
    "a program uses PyTorch's property T, or its method permute": Near(
        "import minitensor.torch as torch\nx = torch.ones(2, 3)\ny = x.T",
        "import minitensor.torch as torch\nx = torch.ones(2, 3)\ny = x.permute(1, 0)",
        {3: "`x.T` makes a second tensor"},
        "x.T",
        {3: "`permute` makes a second tensor"},
    ),
    "a program calls PyTorch's reshape, or its view": Near(
        "import minitensor.torch as torch\nx = torch.ones(6)\ny = (x + 1).reshape(2, 3)[0]",
        "import minitensor.torch as torch\nx = torch.ones(6)\ny = (x + 1).view(2, 3)[0]",
        {3: "then `reshape` makes a view on storage 2; then `(x + 1).reshape(2, 3)[0]` makes a view on storage 2."},
        "reshape",
        {3: "then `view` makes a view on storage 2; then `(x + 1).view(2, 3)[0]` makes a view on storage 2."},
    ),
    "a program calls PyTorch's mul, or Paddle's multiply": Near(
        "import minitensor.torch as torch\nw = torch.ones(2, requires_grad=True)\na = w * 1\nb = a.mul(a)\na.mul_(2)",
        "w = mt.ones([2])\nw.stop_gradient = False\na = w * 1\nb = a.multiply(a)\na.multiply_(mt.ones([2]))",
        {5: "`mul_` writes all 2 cells of storage 2, which goes from version 0 to version 1. `mul` (line 4) saved"},
        "`mul`",
        {5: "The saved numbers of `multiply` (line 4) are gone"},
    ),
    "another thread makes a gradient, or the main thread does": Near(
        "import threading\nw = mt.ones([2])\nw.stop_gradient = False\ny = w * 3\n"
        "t = threading.Thread(target=y.backward)\nt.start(); t.join()",
        "w = mt.ones([2])\nw.stop_gradient = False\ny = w * 3\ny.backward()",
        {6: "Another thread allocates storage 3, that of `w.grad`: 8 bytes."},
        "nother thread",
        {4: "`backward` is done: `w.grad` is [3, 3], in storage 3"},
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_sentence_appears_if_it_is_true_and_not_for_a_similar_program(pair: Near) -> None:
    for line, text in pair.says.items():
        assert has_sentence(pair.true, line, text), numbered_sentences(pair.true)
    assert not any(pair.never in sentence for _, sentence in numbered_sentences(pair.near)), numbered_sentences(
        pair.near
    )
    for line, text in pair.instead.items():
        assert has_sentence(pair.near, line, text), numbered_sentences(pair.near)


CONTAINERS = {
    "collections.namedtuple('Pair', 'a b')(x, 1)": "h.a",
    "type('Pair', (collections.namedtuple('Base', 'a b'),), {'__slots__': (), '_fields': 3})(x, 1)": "h[0]",
    "mt.torch.max(mt.torch.ones(2, 2), 0)": "h.values",
    "collections.deque([x])": "h[0]",
    "collections.OrderedDict(w=x)": "h['w']",
    "collections.defaultdict(list, {'w': [x]})": "h['w'][0]",
}


@pytest.mark.parametrize("made", CONTAINERS)
def test_tensors_in_containers_of_the_standard_library_have_names(made: str) -> None:
    taken = steps(f"import collections, minitensor.torch\nx = mt.ones([2])\nh = {made}\ndel h")
    named = [event["name"] for step in taken for event in step["events"] if event["do"] == "name"]
    assert CONTAINERS[made] in named, taken
    assert {"do": "unname", "name": CONTAINERS[made]} in taken[-1]["events"], taken


def test_no_sentence_on_the_last_line_of_a_with_statement_mentions_exit() -> None:
    reported = numbered_sentences(PAIRS["a with statement ends, or a method does the same"].true)
    assert not any("__exit__" in sentence for line, sentence in reported if line == 7), reported


def test_a_function_of_a_cell_that_awaited_is_stepped_through() -> None:
    text = "def helper(x):\n    return x.scale_(2.)\nif False:\n    await None"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    namespace = {"__name__": "__main__", "mt": mt}
    cell = eval(compile(text, "<cell 1>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), namespace)
    with pytest.raises(StopIteration):
        cell.send(None)  # the function returns a coroutine, because the cell awaits
    sentences = [step["say"] for step in steps("x = mt.ones([2])\nhelper(x)", namespace)]
    assert any("`scale_` writes all 2 cells of storage 1" in each for each in sentences), sentences
    assert any("calls `helper`" in each for each in sentences), sentences


def last_of_cell(program: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the sentence on the last line of a notebook's cell. The notebook binds the value of that line to ``_``."""
    namespace = {"__name__": "__main__", "mt": mt}
    monkeypatch.setattr(sys, "displayhook", lambda value: namespace.__setitem__("_", value))
    recording = record.run(program, namespace, file="<program>", show_last=True)
    assert "_" in namespace
    return recording.variant["steps"][-1]["say"]


@pytest.mark.parametrize("last", ["a.add_(1)", "(a.add_(1))", "a[0:1].add_(1)"])
def test_a_stale_tensor_on_the_last_line_is_reported_although_the_notebook_keeps_the_value(last, monkeypatch) -> None:
    said = last_of_cell(f"w = mt.ones([2])\nw.stop_gradient = False\na = w * 1\nb = a * a\n{last}", monkeypatch)
    assert "`multiply` (line 4)" in said and "gone: `backward` through it will be refused." in said, said


def test_a_last_line_that_writes_says_that_the_notebook_keeps_its_value(monkeypatch) -> None:
    said = last_of_cell("a = mt.ones([2])\na.add_(1)", monkeypatch)
    assert said.endswith("version 0 to version 1. The notebook keeps `a` as its output, `_`."), said
    assert not has_sentence("a = mt.ones([2])\na.add_(1)", 2, "notebook keeps")


@pytest.mark.parametrize(
    ("program", "holder"),
    [
        ("xs = {mt.ones([2])}\nx = 1", "a set"),
        ("class Box:\n    __slots__ = ('t',)\nb = Box()\nb.t = mt.ones([2])", "an object of class Box"),
        ("def rows():\n    yield [mt.ones([2])]\ng = rows()\nx = [next(g)]\nx = frozenset(x[0])", ""),
    ],
)
def test_the_trace_names_the_object_that_refers_to_an_unnamed_tensor(program: str, holder: str) -> None:
    reported = [event["holder"] for step in steps(program) for event in step["events"] if "holder" in event]
    assert reported == ([holder] if holder else []), reported


@pytest.mark.parametrize("body", ["f(n - 1)", "h(n); f(n - 1)", "x = n\n        f(n - 1)\n        x = 0"])
def test_the_work_of_recording_a_recursion_is_proportional_to_its_depth(body: str) -> None:
    """The test counts calls of Python functions, not seconds."""
    program = f"def h(x):\n    pass\ndef f(n):\n    if n:\n        {body}\nf(DEPTH)"

    def calls(depth: int) -> int:
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += 1
            return None  # count calls only, not lines

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            steps(program.replace("DEPTH", str(depth)))
        finally:
            sys.settrace(before)
        return count

    first, second, third = (calls(depth) for depth in (20, 60, 100))
    assert third - second <= 1.05 * (second - first)


# ---------- bytes ----------


@pytest.fixture
def notebook_on_a_gpu():
    """Switch to a simulated GPU, and return a list with a tensor of the notebook on it, which no stage shows."""
    mt.set_device("gpu:sim", capacity="64 MiB")
    yield [mt.ones([100_000])]
    mt.set_device("cpu")


def meter(program: str, **names) -> list[tuple[int, int, int]]:
    return [(step["line"], step["allocated"], step["peak"]) for step in steps(program, {"__name__": "m", **names})]


def test_a_stage_on_a_gpu_counts_the_bytes_that_it_shows(notebook_on_a_gpu) -> None:
    reported = meter("x = mt.ones([10])\ny = x + 1\ndel x", rest=notebook_on_a_gpu)
    assert reported == [(1, 512, 512), (2, 1024, 1024), (3, 512, 1024)]


def test_a_stage_on_a_gpu_counts_shown_earlier_tensors_and_ignores_frees_of_other_tensors(notebook_on_a_gpu) -> None:
    old, unseen = mt.ones([1000]), [mt.ones([2000])]
    names = {"old": old, "f": unseen.clear}
    del old
    reported = meter("x = old\nf()\ny = x + 1\ndel old, x", **names)
    assert reported[0] == (1, 4096, 4096)
    assert reported[-2] == (3, 8192, 8192)


def test_a_gpu_tensor_whose_name_is_rebound_adds_no_bytes_to_the_memory_of_the_host(notebook_on_a_gpu) -> None:
    x = mt.ones([1000])
    mt.set_device("cpu")
    program = "x = mt.ones([10])\ny = mt.ones([5])"
    assert meter(program, x=x) == meter(program) == [(1, 40, 40), (2, 60, 60)]


def test_a_free_is_reported_in_blocks_of_512_bytes_on_a_gpu_and_in_exact_bytes_on_the_host(notebook_on_a_gpu) -> None:
    on_gpu, on_host = numbered_sentences("x = mt.ones([10])\ndel x"), None
    mt.set_device("cpu")
    on_host = numbered_sentences("x = mt.ones([10])\ndel x")
    assert "512 bytes fewer are allocated" in on_gpu[-1][1]
    assert "40 bytes fewer are allocated" in on_host[-1][1]
