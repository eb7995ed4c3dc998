"""Test programs that once made the recorder fail, or that it once described wrongly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

import memory_stage as stage  # noqa: E402
from memory_stage.recorder import steps  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


def sentences_and_end(source: str) -> tuple[list[str], str | None]:
    shown = stage.record("import torch\nfrom torch import nn\n" + source)
    assert shown.error is None
    variant = shown.data["variants"][0]
    return [step["say"] for step in variant["steps"]], variant["truncated"]


def explained(source: str, folder: Path) -> str:
    (folder / "program.py").write_text("import torch\nfrom torch import nn\n" + source)
    command = [sys.executable, "-m", "memory_stage", "--explain", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"PYTHONPATH": str(ROOT)})
    return re.sub(r"\s+", " ", done.stderr)


def test_a_nested_tensor_is_reported_as_not_recorded():
    sentences, truncated = sentences_and_end(
        "n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])\nm = n * 2"
    )
    assert truncated is None and "Not recorded: a nested tensor." in " ".join(sentences)


def test_a_lazy_parameter_is_recorded_as_soon_as_it_has_a_shape():
    sentences, truncated = sentences_and_end("m = nn.LazyLinear(2)\ny = m(torch.ones(1, 3))\ny.sum().backward()")
    assert truncated is None and "`m.weight.grad`" in sentences[-1]


def test_parametrizations_whose_storages_were_freed_earlier_are_recorded():
    sentences, truncated = sentences_and_end(
        "m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))\n"
        "o = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))\n"
        "o(m(torch.ones(1, 3))).sum().backward()"
    )
    assert truncated is None and "m.parametrizations" in " ".join(sentences)


def test_a_sentence_about_an_unobserved_move_or_write_names_no_operation():
    sentences, _ = sentences_and_end("d = torch.ones(2)\nd.set_(torch.zeros(3))")
    assert "then it moves `d` to storage" in sentences[1]
    other = sentences_and_end(
        "import threading\nx = torch.ones(2)\nt = threading.Thread(target=lambda: x.add_(1))\nt.start()\nt.join()"
    )[0]
    assert any("n update writes all 2 cells of storage 1" in each and "`an" not in each for each in other)


def test_no_advice_assigns_to_the_real_part_of_a_tensor(tmp_path):
    reported = explained(
        "z = torch.ones(2, dtype=torch.complex64, requires_grad=True) * 1\ny = z * z\nz.real.mul_(2)\n"
        "y.abs().sum().backward()",
        tmp_path,
    )
    assert "z.real =" not in reported and "Let line 4 read a copy, with `.clone()`" in reported


def test_the_advice_on_a_refused_write_in_a_hook_copies_no_tensor_outside_of_the_hook(tmp_path):
    reported = explained(
        "exec('def hook(g): g.mul_(10)')\ny = torch.ones(2, requires_grad=True) * 1\ny.register_hook(hook)\n"
        "y.sum().backward()",
        tmp_path,
    )
    assert "more than one element of the written-to tensor" in reported and "y = y.clone()" not in reported
    assert "Return a new gradient from the hook, and do not write into the given one" in reported


def test_a_refused_write_in_a_hook_is_reported_at_its_line(tmp_path):
    reported = explained(
        "def hook(g):\n    g.mul_(10)\ny = torch.ones(2, requires_grad=True) * 1\ny.register_hook(hook)\n"
        "y.sum().backward()",
        tmp_path,
    )
    assert (
        "g.mul_(10) refused" in reported and "`g = g.clone()` before this line gives each element its own." in reported
    )


def test_a_statement_of_many_operations_ends_the_recording_and_its_function_mode(monkeypatch):
    monkeypatch.setattr(steps, "MOST_IN_A_STEP", 60)
    names: dict = {}
    source = (
        "import torch\nfrom functools import reduce\nx = torch.ones(2, requires_grad=True)\n"
        "y = reduce(lambda a, _: a * 1.0, range(200), x)\ny.sum().backward()\nn = torch._C._len_torch_function_stack()"
    )
    shown = stage.record(source, names)
    assert shown.error is None and names["x"].grad.tolist() == [1, 1] and names["n"] == 0
    assert shown.data["variants"][0]["truncated"].startswith("Line 4 alone makes more than 60 changes of memory")


def test_a_recording_that_ends_in_a_hook_of_backward_ends_its_function_mode():
    names: dict = {}
    source = (
        "import torch\nx = torch.ones(2, requires_grad=True)\ndef hook(g):\n    a = g + 1\n    b = a + 1\n"
        "    c = b + 1\n    return c * 1\ny = x * 2\ny.register_hook(hook)\ny.sum().backward()\nz = y.exp()\nz.exp()\n"
        "n = torch._C._len_torch_function_stack(), len([])"
    )
    shown = stage.record(source, names, steps=9)
    assert shown.error is None and "first 9 steps" in shown.data["variants"][0]["truncated"]
    assert shown.data["variants"][0]["steps"][-1]["line"] in (4, 5, 6) and names["n"] == (0, 0)


IN_A_FUNCTION = """
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g
w = torch.ones(3, requires_grad=True)
h = AddOne.apply(w * 2)
h.pow(2).sum().backward()
"""


def test_a_write_that_a_custom_function_marks_as_dirty_is_in_the_history(tmp_path):
    reported = explained(IN_A_FUNCTION, tmp_path)
    assert "line 7: x.add_(1)" in reported and "unrecorded" not in reported
    stale = IN_A_FUNCTION.replace("h = AddOne.apply(w * 2)", "x = w * 2\ny = x * x\nh = AddOne.apply(x) + y")
    assert "2 saved tensors made stale." in explained(stale, tmp_path)
    unmarked = explained(IN_A_FUNCTION.replace("ctx.mark_dirty(x)", "pass"), tmp_path)
    assert "unrecorded" in unmarked or "raises" in unmarked


SWISH = """
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x
h = torch.ones(3, requires_grad=True) * 2
y = Swish.apply(h)
h.add_(1)
y.sum().backward()
"""


def test_a_tensor_that_a_custom_function_saved_is_named_and_the_error_of_backward_leads_to_the_write(tmp_path):
    reported = explained(SWISH, tmp_path)
    assert (
        "It overwrites `h`, which `Swish` in line 14 saved at version 0. A backward pass through it raises" in reported
    )
    assert "`Swish` in line 14 saved `h` at version 0" in reported and "Row 1, in line 15, overwrote it" in reported


def test_a_write_through_detach_is_unrecorded_for_a_result_but_not_for_a_leaf(tmp_path):
    assert "unrecorded" not in explained("p = nn.Parameter(torch.ones(2))\np.detach().mul_(2)", tmp_path)
    reported = explained("p = torch.ones(2, requires_grad=True) * 1\np.detach().mul_(2)", tmp_path)
    assert "1 unrecorded" in reported


#: Maps each statement, which follows the common lines, to the end of the sentence about it.
MOVED = {
    "x.data = torch.zeros(2).add_(1)": "then `data` moves `x` to storage 6. Storage 5 is freed: 8 bytes.",
    "s[0].weight.data = torch.ones(2, 2)": "`ones` allocates storage 6, 16 bytes; "
    "then `data` moves `s[0].weight` to storage 6. Storage 1 is freed: 16 bytes.",
    "s[0].weight = nn.Parameter(torch.zeros(2, 2))": "for a tensor of shape [2, 2]. `s[0].weight` names a new tensor "
    "on storage 6. Storage 1 is freed: 16 bytes.",
    "s.double()": "4 new storages, 96 bytes. 4 storages are freed: 48 bytes.",
    "": "Line 4 runs 8 operations: 4 new storages, 48 bytes and 4 writes.",
}


@pytest.mark.parametrize("statement", MOVED)
def test_a_sentence_says_where_a_tensor_moved_or_which_name_is_new(statement):
    lines = f"s = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\nx = torch.ones(2)\n{statement}\n"
    said, _ = sentences_and_end(lines if statement else lines.replace("s =", "\ns =").partition("x =")[0])
    assert said[-1].endswith(MOVED[statement]), said[-1]


def test_the_sentence_about_a_freed_graph_names_the_operation_that_saved_its_tensors():
    shown = stage.record(
        "import torch\nw = torch.ones(2, requires_grad=True)\na = w.exp()\n" + 2 * "a.sum().backward()\n"
    )
    said = [step["say"] for step in shown.data["variants"][0]["steps"]]
    assert said[-1] == "An earlier backward freed the tensors that `exp` (line 3) saved, so this one raises."
