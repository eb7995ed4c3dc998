"""Test that hooks and custom functions of a Paddle program are recorded as steps, and run unchanged."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memory_stage.api import run_and_release
from memory_stage.explanation.step_reporter import StepReporter
from tests.support.peers.paddle_recording import events, recorded
from tests.support.stage.stages import sentences_of

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")

ROOT = Path(__file__).resolve().parents[3]

HOOK = """\
w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = w * 3
{hook}
y.sum().backward()
"""


@pytest.mark.parametrize(
    ("hook", "reported"),
    [
        (
            "y.register_hook(lambda g: g * 2)",
            "A hook on `y` receives the gradient [1, 1] and returns [2, 2], in storage",
        ),
        (
            "y.register_hook(lambda g: None)",
            "A hook on `y` receives the gradient [1, 1] and returns nothing, so `backward` continues with the "
            "same numbers.",
        ),
        (
            "handle = w.register_hook(lambda g: g + 1)",
            "A hook on `w` receives the gradient [3, 3] and returns [4, 4], in storage",
        ),
        (
            "def double(g):\n    with paddle.no_grad():\n        g.scale_(2.0)\ny.register_hook(double)",
            "A hook on `y` receives the gradient [1, 1] itself, writes [2, 2] into it and returns nothing",
        ),
        (
            "t = y * 5\nt.register_hook(lambda g: None)\ny = t * 1\ndel t",
            "receives the gradient [1, 1] and returns nothing",
        ),
    ],
)
def test_a_hook_of_a_tensor_is_a_step_with_its_result(hook, reported):
    said = sentences_of(recorded(HOOK.format(hook=hook)))
    assert any(reported in each for each in said), "\n".join(said)


def test_a_removed_hook_is_no_step_and_the_variable_with_its_handle_is_not_shown():
    shown = recorded(HOOK.format(hook="handle = y.register_hook(lambda g: g * 2)\nhandle.remove()"))
    assert not any("hook" in each for each in sentences_of(shown))
    assert [event["name"] for event in events(shown, "name") if "handle" in event["name"]] == []


def test_hooks_of_a_layer_are_steps_of_the_program():
    said = sentences_of(
        recorded(
            "net = paddle.nn.Linear(1, 1)\n"
            "def before(layer, given):\n"
            "    return (given[0] * 2,)\n"
            "def after(layer, given, result):\n"
            "    return result + 1\n"
            "net.register_forward_pre_hook(before)\n"
            "net.register_forward_post_hook(after)\n"
            "y = net(paddle.ones([1, 1]))\n"
        )
    )
    assert any("calls `before`" in each for each in said) and any("calls `after`" in each for each in said)


def test_the_text_of_an_error_in_a_hook_is_the_same_as_without_a_recorder(tmp_path: Path):
    (tmp_path / "program.py").write_text("import paddle\n" + HOOK.format(hook="y.register_hook(lambda g: 1 / 0)"))
    paths = {"PYTHONPATH": str(ROOT), "PATH": ""}
    alone, watched = (
        subprocess.run(
            [sys.executable, *command, "program.py"], cwd=tmp_path, env=paths, capture_output=True, text=True
        )
        for command in ([], ["-m", "memory_stage"])
    )
    assert alone.returncode == watched.returncode == 1

    def error(text: str) -> list[str]:
        lines = text[text.index("OSError") :].splitlines()
        return lines[: next(i for i, line in enumerate(lines) if "Hint" in line) + 1]

    there = [line.replace(str(tmp_path) + "/", "") for line in error(watched.stderr)]
    assert there == [line.replace(str(tmp_path) + "/", "") for line in error(alone.stderr)]
    assert any("<lambda>" in line for line in there)


# ---------- PyLayer ----------

CUBE = """\
class Cube(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 3 * x * x
w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
a = w * 1
y = Cube.apply(a)
"""


def test_a_custom_function_is_a_step_that_lists_the_tensors_it_was_seen_to_save():
    shown = recorded(CUBE + "y.sum().backward()\n")
    said = sentences_of(shown)
    assert any("recorded as the output of `Cube`. `Cube` saves `a@0`" in each for each in said)
    cube = next(event["id"] for event in events(shown, "node") if event["op"] == "Cube")
    (save,) = [each for each in events(shown, "save") if each["node"] == cube]
    assert "inferred" not in save and save["version"] == 0


def test_the_backward_of_a_custom_function_is_a_step_with_its_gradients():
    said = sentences_of(recorded(CUBE + "y.sum().backward()\n"))
    begins = next(i for i, each in enumerate(said) if "`Cube` (line 12) receives the gradient [1, 1] and calls" in each)
    ends = next(i for i, each in enumerate(said) if each.startswith("The `backward` of `Cube`"))
    assert begins < ends and "it sends [3, 12] to `a@0`" in said[ends]


def test_the_report_says_that_paddle_does_not_notice_a_write_to_a_tensor_saved_by_a_custom_function():
    source = CUBE + "a.scale_(10.0)\ny.sum().backward()\n"
    said = sentences_of(recorded(source))
    (write,) = [each for each in said if each.startswith("`scale_` writes")]
    assert "without a version to compare: `backward` will silently use the new ones" in write
    explaining, names = StepReporter(), {"paddle": paddle}
    done = run_and_release(source, names, on_step=explaining.on_step)
    (row,) = [row for row in explaining.report(done.variant).rows if row.where.line == 13]
    assert row.verdict.word == "unnoticed" and "`a`, which `Cube` in line 12 saved at version 0" in row.happened
    right = 3 * np.array([1.0, 2.0]) ** 2
    assert done.error is None and names["w"].grad.numpy().tolist() != right.tolist()


def test_the_gradient_of_a_custom_function_is_right_if_nothing_writes_its_saved_tensor():
    names = {"paddle": paddle}
    run_and_release(CUBE + "a = a * 10.0\ny.sum().backward()\n", names)
    assert names["w"].grad.tolist() == [3, 12]


def test_a_custom_function_in_place_has_two_writes_because_paddle_increments_the_version_again():
    shown = recorded(
        "class Twice(paddle.autograd.PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        x.scale_(2.0)\n        return x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
        "w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\na = w * 1\nr = Twice.apply(a)\nr.sum().backward()\n"
    )
    writes = events(shown, "write")
    assert [event["version"] for event in writes] == [1, 2] and not writes[1]["cells"]
    assert any("it sends [2, 2] to `a@1`" in each for each in sentences_of(shown))


def test_a_sentence_says_that_paddle_ignores_a_hook_on_the_output_of_a_custom_function():
    names = {"paddle": paddle}
    source = CUBE + "h = y.register_hook(lambda g: g * 2)\ny.sum().backward()\n"
    said = sentences_of(recorded(source))
    assert any("ignores the gradient that it returns" in each for each in said)
    assert any(each.startswith("`Cube` (line 12) receives the gradient [1, 1]") for each in said)
    exec(source, names)
    assert names["w"].grad.tolist() == [3, 12]  # with the result of the hook it would be [6, 24]


def test_a_sentence_says_that_a_result_marked_as_not_in_place_has_no_history():
    names = {"paddle": paddle}
    source = (
        "class Same(paddle.autograd.PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.mark_not_inplace(x)\n        return x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 5\n"
        "w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nr = Same.apply(w * 1)\nr.sum().backward()\n"
    )
    assert any("Paddle gives this result no history" in each for each in sentences_of(recorded(source)))
    exec(source, names)
    assert names["w"].grad is None  # with a history it would be [5, 5]


@pytest.mark.parametrize("ends", ["y.sum().backward()", "g = paddle.grad(y.sum(), w)", "raise ValueError"])
def test_a_program_with_hooks_and_custom_functions_runs_as_without_a_recorder(ends):
    source = CUBE + f"seen = []\ny.register_hook(lambda g: seen.append(g.tolist()))\nCube.apply(y)\n{ends}\n"
    plain, watched = {"paddle": paddle}, {"paddle": paddle}
    with contextlib.suppress(ValueError):
        exec(source, plain)
    run_and_release(source, watched)
    assert watched["seen"] == plain["seen"]
    for name in ("w", "a", "y"):
        ours, theirs = watched[name], plain[name]
        assert ours.numpy().tobytes() == theirs.numpy().tobytes() and ours.inplace_version == theirs.inplace_version
        assert ours.grad_fn.name() == theirs.grad_fn.name()
        assert (ours.grad is None) == (theirs.grad is None) and (ours.grad is None or (ours.grad == theirs.grad).all())
    assert "apply" not in vars(paddle.autograd.PyLayer)


def test_a_hook_and_a_custom_function_still_work_after_the_recording():
    names = {"paddle": paddle, "seen": []}
    run_and_release(CUBE + "h = a.register_hook(lambda g: seen.append(1) or g * 2)\n", names)
    names["y"].sum().backward()
    assert names["seen"] == [1] and names["w"].grad.tolist() == [6, 24]
