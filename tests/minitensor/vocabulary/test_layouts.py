"""Compare the layouts of results with those of PyTorch and Paddle, recorded in facts/layouts.json.

The layout decides if reshaping returns a view or a copy. Therefore the record also has programs that reshape a result,
write to the result, and check if the reshaped tensor has changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitensor as paddle
from facts import layouts
from minitensor import torch
from minitensor.engine.core.layout_rules import strided

RECORDS = json.loads(layouts.FILE.read_text("utf-8"))
#: For each library, the recorded version that minitensor imitates, and minitensor's module.
FOLLOWED = {"paddle": ("paddle 3.3.1", "minitensor"), "torch": ("torch 2.13.0", "minitensor.torch")}
PROGRAMS = [(library, program) for library, programs in layouts.PROGRAMS.items() for program in programs]

#: Programs with intended differences in some scenes (inputs), and the reasons.
DELIBERATE = {
    (
        "paddle",
        "x[:, at([0, 0])]",
    ): "Paddle 3.3.1 returns a wrong shape if x is not contiguous; minitensor returns the right one",
    ("paddle", "x.contiguous()"): "Paddle copies if the stride of a dimension of length 1 is unusual",
    ("paddle", "x.astype('float32')"): "Paddle 3.3 returns x itself if x has this dtype; Paddle 2.6 copies, as here",
    (
        "paddle",
        "gradient(lambda x: x.T * 2, x)",
    ): "Paddle returns the transposed gradient with its strides; minitensor copies it",
    (
        "torch",
        "L.einsum('ij,ij->ij', x, y)",
    ): "PyTorch keeps the order of the dimensions of a transposed operand; here the result is contiguous",
}
#: Programs whose results differ in some scenes only in the strides of dimensions of length 1, which are never used.
OTHER_ONES = {
    *(("torch", f"L.{call}") for call in ("split(x, 1)", "narrow(x, 0, 0, 1)", "meshgrid(x[:, 0], x[0])")),
    ("torch", "L.meshgrid(x[:, 0], x[0], indexing='xy')"),
    *(("torch", f"gradient(L.{name}, x)") for name in ("sum", "diag_embed")),
    *(("torch", f"gradient(lambda x: {result}, x)") for result in ("L.sum(x, 0)", "x * y", "x + y", "x.T * 2")),
    ("torch", "F.normalize(x)"),
    *(("paddle", call) for call in ("L.unflatten(x, 0, [1, -1])", "L.sum(x, 0, keepdim=True)")),
    *(("paddle", call) for call in ("L.slice(x, [0], [0], [1])", "gradient(lambda x: x * y, x)")),
}
#: Scenes with elements that share memory. minitensor refuses a write to them before anything is written.
EXPANDED = {"expanded rows", "expanded columns"}


def comparable(answer: str, with_ones: bool = True) -> list[Any]:
    """Return the parts of an answer. If ``with_ones`` is false, omit the strides of dimensions of length 1."""
    parts = []
    for part in answer.split(" and "):
        shape_text, _, strides_text = part.removeprefix("&").partition(":")
        if not shape_text or not all(n.isdigit() for n in shape_text.split(",")):
            parts.append(part)
            continue
        shape = [int(n) for n in shape_text.split(",")]
        contiguous = [int(np.prod([max(n, 1) for n in shape[i + 1 :]])) for i in range(len(shape))]
        strides = [int(n) for n in strides_text.split(",")] if strides_text else contiguous
        used = [stride for n, stride in zip(shape, strides, strict=True) if (with_ones or n != 1) and 0 not in shape]
        parts.append((part.startswith("&"), shape, used))
    return parts


def differences(library: str, program: str) -> list[tuple[list[str], str, str | None]]:
    """Return the scenes in which minitensor's answer differs from the library's, with both answers."""
    version, module = FOLLOWED[library]
    with_ones = (library, program) not in OTHER_ONES
    found = []
    for scene, theirs in zip(RECORDS["scenes"][library][program], RECORDS[version]["answers"][program], strict=True):
        if theirs is None:
            continue
        here = layouts.answer(module, library, program, scene)
        if here is None or comparable(theirs, with_ones) != comparable(here, with_ones):
            found.append((scene, theirs, here))
    return found


def is_deliberate(program: str, scene: list[str], here: str | None) -> bool:
    """True if `program` writes to elements that share memory, which minitensor refuses."""
    return program.startswith("follows(") and here is None and bool(EXPANDED.intersection(scene))


@pytest.mark.parametrize(("library", "program"), [each for each in PROGRAMS if each not in DELIBERATE])
def test_results_have_the_layout_of_the_library(library: str, program: str):
    found = differences(library, program)
    assert [each for each in found if not is_deliberate(program, each[0], each[2])] == []


@pytest.mark.parametrize(("library", "program"), DELIBERATE)
def test_an_intended_difference_exists(library: str, program: str):
    assert differences(library, program), "the program no longer differs, so remove it from DELIBERATE"


@pytest.mark.parametrize(("library", "program"), sorted(OTHER_ONES))
def test_each_listed_program_differs_in_strides_of_dimensions_of_length_1(
    library: str, program: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.modules[__name__], "OTHER_ONES", set())
    assert differences(library, program), "the program no longer differs, so remove it from OTHER_ONES"


def test_the_record_contains_the_programs_of_the_layout_script():
    assert RECORDS["scenes"] == layouts.PROGRAMS
    assert RECORDS["layouts"] == json.loads(json.dumps(layouts.LAYOUTS))
    for library, programs in layouts.PROGRAMS.items():
        assert list(RECORDS[FOLLOWED[library][0]]["answers"]) == list(programs)


def test_both_versions_of_paddle_have_the_same_layouts_except_in_three_programs():
    differing = layouts.differing(RECORDS["paddle 2.6.2"], RECORDS["paddle 3.3.1"])
    assert set(differing) == {"x[:, at([0, 0])]", "x.astype('float32')", "L.nonzero(x, True)[1]"}


@pytest.mark.parametrize(
    ("recorded", "here"),
    [("3,2", "3,2:1,3"), ("3,2", "&3,2"), ("3,2", "2,3"), ("True", "False"), ("2 and 2", "2 and 3")],
)
def test_different_answers_are_distinguished(recorded: str, here: str):
    assert comparable(recorded) != comparable(here)


# ---------- views or copies ----------


def test_a_write_changes_the_reshaped_result_in_paddles_vocabulary():
    w = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    y = paddle.tanh(w.T)
    flat = y.reshape([-1])
    assert y.strides == [2, 1]
    y.zero_()
    assert flat.tolist() == [0.0] * 4


def test_a_write_does_not_change_the_reshaped_result_in_pytorchs_vocabulary():
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = torch.relu(w.T)
    flat = y.reshape(-1)
    assert y.stride() == (1, 2)
    y.zero_()
    assert flat.tolist() == [1.0, 3.0, 2.0, 4.0]


@pytest.mark.parametrize("vocabulary", [paddle, torch])
@pytest.mark.parametrize("through", [lambda y: y, lambda y: y.reshape([-1])], ids=["the result", "a reshaped one"])
def test_backward_notices_a_write_to_a_saved_result_if_the_memory_is_shared(
    vocabulary: Any, through: Callable[[Any], Any]
):
    w = vocabulary.ones([2, 2])
    w.stop_gradient = False
    y = w.T * 2
    squares = y * y  # saves y
    written = through(y)
    with paddle.set_inplace_policy("2.5"):
        written.add_(vocabulary.ones(list(written.shape)))
    shares = y.tolist() != [[2.0, 2.0], [2.0, 2.0]]
    assert shares == (written is y or vocabulary is paddle)
    if shares:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            squares.sum().backward()
    else:
        squares.sum().backward()
        assert w.grad.tolist() == [[8.0, 8.0], [8.0, 8.0]]


@pytest.mark.parametrize("vocabulary", [paddle, torch])
def test_copy_on_write_preserves_the_saved_numbers_of_a_transposed_result(vocabulary: Any):
    w = vocabulary.ones([2, 3])
    w.stop_gradient = False
    y = w.T * 2
    squares = y * y
    with paddle.set_inplace_policy("copy_on_write"):
        y[1:].add_(vocabulary.ones([2, 2]))
        squares.sum().backward()
    assert w.grad.tolist() == [[8.0, 8.0, 8.0]] * 2


# ---------- no cost for programs whose tensors are all contiguous ----------

MAKERS: dict[str, Callable[[], Any]] = {
    "T": lambda: paddle.ones([2, 3]).T,
    "a slice": lambda: paddle.ones([2, 3])[:, 1:],
    "t_": lambda: paddle.ones([2, 3]).t_(),
    "transpose_": lambda: paddle.ones([2, 3]).transpose_([1, 0]),
    "as_strided": lambda: paddle.as_strided(paddle.ones([6]), [2, 3], [1, 2]),
    "from_numpy": lambda: paddle.from_numpy(np.ones((2, 3), "float32").T),
    "from_dlpack": lambda: paddle.from_dlpack(np.ones((2, 3), "float32").T),
    "unbind": lambda: paddle.unbind(paddle.ones([2, 3]), 1)[0],
    "diagonal": lambda: paddle.diagonal(paddle.ones([2, 3])),
    "expand in PyTorch": lambda: torch.ones(3, 1).expand(3, 2),
    "split in PyTorch": lambda: torch.ones(3, 2).split(1, 1)[0],
    "permute in PyTorch": lambda: torch.ones(2, 3).permute(1, 0),
    "tensor of an array": lambda: torch.tensor(np.ones((2, 3), "float32").T),
    "nonzero": lambda: torch.ones(2, 2).nonzero(),
    "data of another": lambda: torch.ones(2, 3).__setattr__("data", torch.ones(3, 2).T),
    "set_": lambda: torch.ones(2, 3).set_(torch.ones(3, 2).T),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_first_tensor_that_is_not_contiguous_switches_the_layout_rules_on(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(strided, "exist", False)
    monkeypatch.setattr(strided, "overlapping", False)
    MAKERS[name]()
    assert strided.exist


@pytest.mark.parametrize(("library", "program"), PROGRAMS)
def test_the_first_result_that_is_not_contiguous_switches_the_layout_rules_on(
    library: str, program: str, monkeypatch: pytest.MonkeyPatch
):
    _, module = FOLLOWED[library]
    for scene in RECORDS["scenes"][library][program]:
        if set(scene) <= {"contiguous", "cube", "images", "2 by 3", "4 by 3 by 2", "a vector", "a number"}:
            monkeypatch.setattr(strided, "exist", False)
            monkeypatch.setattr(strided, "overlapping", False)
            answer = layouts.answer(module, library, program, scene)
            if answer is not None and any(
                isinstance(part, tuple) and _is_strided(part) for part in comparable(answer, False)
            ):
                assert strided.exist, (scene, answer)


def _is_strided(part: tuple[bool, list[int], list[int]]) -> bool:
    _, shape, strides = part
    long = [n for n in shape if n != 1]
    return bool(strides) and strides != [int(np.prod(long[i + 1 :])) for i in range(len(long))]


def test_an_ellipsis_before_a_list_of_indices_gives_the_layout_of_the_slices_that_it_replaces():
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    assert x[..., [0, 2]].stride() == x[:, :, [0, 2]].stride() == (2, 8, 1)  # as in PyTorch 2.13
    assert x[1, ..., [0, 2]].stride() == x[1, :, [0, 2]].stride() == (2, 1)
