"""Test that reports on common mistakes name the line at fault, even if Paddle silently computes a wrong gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memory_stage.api import run_and_release
from memory_stage.explanation.rewrite import respelled
from memory_stage.explanation.step_reporter import StepReporter
from memory_stage.explanation.verdict import Verdict
from tests.support.peers.paddle_classics import FAILING, SILENT, START, fixed, source

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")

BAD = (Verdict.UNNOTICED, Verdict.REFUSED, Verdict.STALE, Verdict.UNRECORDED)
ALL = FAILING | SILENT


def names(start: list[float]) -> dict[str, Any]:
    return {"paddle": paddle, "F": paddle.nn.functional, "START": start}


def reported(program: str) -> tuple[Any, Any, dict[str, Any]]:
    explaining, found = StepReporter(), names(START)
    done = run_and_release(program, found, on_step=explaining.on_step)
    return explaining.report(done.variant), done, found


def gradient(found: dict[str, Any]) -> np.ndarray:
    """Return the gradient of the leaf ``w``, or the value that the program has stored under the name ``gradient``."""
    noted = found.get("gradient")
    return np.asarray(found["w"].grad if noted is None else noted, "float64")


def slope(program: str) -> np.ndarray:
    """Return the gradient of ``loss`` at the start values of the leaf, computed by central differences."""
    step, found = 1e-2, []
    for cell in range(len(START)):
        ends = []
        for sign in (step, -step):
            there = names([each + sign * (cell == i) for i, each in enumerate(START)])
            exec(program, there)
            ends.append(float(there["loss"]))
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.asarray(found)


@pytest.mark.parametrize("name", ALL)
def test_the_report_names_the_line_at_fault_the_reason_and_the_repair(name):
    classic = ALL[name]
    report, done, _ = reported(source(classic))
    assert (done.error is not None) == classic.fails
    rows = [row for row in report.rows if row.where.line == classic.line and (row.verdict in BAD or row.error)]
    assert rows, str(report)
    texts = " ".join(f"{row.happened} {row.error} {row.instead}" for row in rows)
    for words in classic.words:
        assert words in texts, texts
    if classic.written:
        assert any(f"`{text.strip()}`" in texts for text in classic.fix.values()), texts
    assert "torch" not in texts


@pytest.mark.parametrize("name", SILENT)
def test_paddle_computes_a_wrong_gradient_silently(name):
    found = names(START)
    exec(source(SILENT[name]), found)
    assert not np.allclose(gradient(found), slope(source(SILENT[name])), rtol=1e-2)


@pytest.mark.parametrize("name", ALL)
def test_a_repaired_program_has_the_right_gradient_and_no_reported_fault(name):
    program = fixed(ALL[name])
    report, done, found = reported(program)
    assert done.error is None
    assert [f"{row.where} {row.happened}" for row in report.rows if row.verdict in (*BAD, Verdict.RAISES)] == []
    if "w = w -" not in name:  # the repaired program updates the leaf, so its gradient is not the slope at START
        assert np.allclose(gradient(found), slope(program), rtol=1e-2)


def test_the_report_says_that_clearing_a_gradient_changes_its_second_name_too():
    report, _, found = reported("w = paddle.ones([2])\nw.stop_gradient = False\n(w * w).sum().backward()\n"
                                "g = w.grad\nw.clear_grad()\n")  # fmt: skip
    (row,) = [row for row in report.rows if row.where.line == 5]
    assert "`g` uses the same memory" in row.happened and "`w.grad.clone()`" in row.instead
    assert found["g"].tolist() == [0, 0]


def test_a_tensor_from_dlpack_has_a_separate_version_and_the_same_memory():
    program = (
        "w = paddle.ones([2])\nw.stop_gradient = False\nx = w * 3\ny = x * x\n"
        "dlpack = paddle.utils.dlpack\nz = dlpack.from_dlpack(dlpack.to_dlpack(x.detach()))\n"
        "shared = z.data_ptr() == x.data_ptr()\nz.scale_(10.0)\ny.sum().backward()\n"
    )
    report, done, found = reported(program)
    assert done.error is None
    rows = [row for row in report.rows if row.where.line == 8]
    if found["shared"]:  # false in Paddle 2.6, which copies
        assert [row.verdict for row in rows] == [Verdict.UNNOTICED] and "`x`, which `multiply`" in rows[0].happened
        assert found["w"].grad.tolist() == [180, 180]  # wrong: the gradient is [18, 18]
    else:
        assert not any(row.verdict in BAD for row in rows)


@pytest.mark.parametrize(
    ("torch_words", "ours"),
    [
        ("`with torch.no_grad(): w -= (0.1 * w.grad)`.", "`with paddle.no_grad(): w.subtract_(0.1 * w.grad)`."),
        ("`x = torch.where(m, 0.5, x)`: new", "`x = paddle.where(m, paddle.full_like(x, 0.5), x)`: new"),
        ("`h.retain_grad()` before", "`h.retain_grads()` before"),
        ("`x = x.mul(2)`", "`x = x.mul(2)`"),
    ],
)
def test_advice_uses_paddles_names(torch_words, ours):
    assert respelled(torch_words) == ours


REFUSED = """\
try:
    w.add_(paddle.ones([3]))
except ValueError:
    pass
"""


def test_a_refused_write_has_one_row_that_says_what_was_overwritten():
    leaf = "w = paddle.ones([3])\nw.stop_gradient = False\n"
    report, _, found = reported(leaf + REFUSED)
    assert found["w"].numpy().tolist() == [2.0, 2.0, 2.0]
    (row,) = report.rows
    assert row.verdicts == (Verdict.REFUSED,) and row.error.startswith("ValueError")
    assert row.happened == "It overwrote the numbers of `w`, and raised the error afterwards."
    assert report.totals.refused == 1 and report.totals.operations == 1


def test_a_refused_write_may_overwrite_a_saved_tensor_too():
    report, _, _ = reported("w = paddle.ones([3])\nw.stop_gradient = False\nloss = (w * w).sum()\n" + REFUSED)
    (row,) = report.rows
    assert row.verdicts == (Verdict.UNNOTICED, Verdict.REFUSED)
    assert "`multiply`" in row.happened and "its gradients will be wrong" in row.happened


def test_a_hook_that_writes_into_its_gradient_gets_advice_about_the_hook():
    report, done, _ = reported(
        "w = paddle.ones([4])\nw.stop_gradient = False\nh = w * 2\na = h + 1\n"
        "a.register_hook(lambda grad: grad.scale_(10.0))\na.sum().backward()\n"
    )
    assert done.error is not None
    assert report.rows[-1].instead.startswith("Return a new gradient from the hook")
