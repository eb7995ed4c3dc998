"""Test that a report uses the program's names, folds the writes of a loop into one row, and raises no false
alarms.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np  # noqa: E402

from memory_stage.api import run_and_release  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402
from memory_stage.explanation.verdict import Verdict  # noqa: E402


def reported(program: str):
    explaining = StepReporter()
    torch.manual_seed(0)
    names = {"torch": torch, "nn": torch.nn, "np": np}
    done = run_and_release(program, names, on_step=explaining.on_step)
    return explaining.report(done.variant), done


def test_the_result_of_a_layer_has_the_name_that_the_program_gives_it_later():
    report, done = reported(
        "net = nn.Linear(2, 3)\n"
        "out = net(torch.ones(4, 2))\n"
        "penalty = (out[:, 2] * out[:, 0]).sum()\n"
        "out[:, 2] = out[:, 2].clamp(min=0)\n"
        "(out.sum() + penalty).backward()\n"
    )
    (row,) = [row for row in report.rows if row.verdict is Verdict.STALE]
    assert isinstance(done.error, RuntimeError) and row.where.line == 4
    assert "overwrites `out`, which `mul` in line 3 saved" in row.happened and "`linear`" not in row.happened
    assert "saved `out` at version" in report.rows[-1].happened
    assert row.instead.startswith("Let lines 3 and 4 read a copy")


def test_the_report_on_a_program_without_an_error_says_that_backward_needed_no_stale_tensor():
    program = (
        "policy, value = nn.Linear(3, 2), nn.Linear(3, 1)\n"
        "opt = torch.optim.SGD(value.parameters(), lr=0.1)\n"
        "f = nn.Linear(3, 3)(torch.ones(4, 3)).tanh()\n"
        "gain, guess = policy(f).sum(), value(f).square().sum()\n"
        "guess.backward(retain_graph=True)\n"
        "opt.step()\n"
    )
    unasked = "No backward pass has read it since."
    report, done = reported(program + "gain.backward()\n")
    stale = [row for row in report.rows if row.verdict is Verdict.STALE]
    assert done.error is None and stale and all(row.happened.endswith(unasked) for row in stale)
    assert all(row.instead.startswith("Nothing, unless a backward pass is still to run through it.") for row in stale)
    report, done = reported(program + "guess.backward()\n")
    assert isinstance(done.error, RuntimeError) and unasked not in str(report)


def test_the_repair_copies_an_array_and_a_loop_is_one_row():
    program = (
        "a = np.ones((4, 3), np.float32)\n"
        "net = nn.Linear(3, 1)\n"
        "for _ in range(5):\n"
        "    x = torch.from_numpy(a)\n"
        "    loss = net(x).sum()\n"
        "    a *= 2\n"
        "    loss.backward()\n"
    )
    report, _ = reported(program)
    assert report.totals.unnoticed == 5
    assert [row.where.line for row in report.dangerous()] == [6]
    (row,) = report.dangerous()
    assert row.instead.startswith("Make `x` with `torch.tensor(...)`, which copies the array")
    report, _ = reported(program.replace("torch.from_numpy(a)", "torch.tensor(a)"))
    assert report.totals.unnoticed == 0


def test_the_repair_copies_a_tensor_into_an_array():
    program = "w = torch.ones(3, requires_grad=True)\nx = torch.ones(3)\na = x.numpy()\nloss = (w * x).sum()\na += 1\n"
    report, _ = reported(program + "loss.backward()\n")
    (row,) = [row for row in report.rows if row.verdict is Verdict.UNNOTICED]
    assert "`.numpy().copy()`" in row.instead


def test_of_two_writes_that_fit_an_unobserved_saved_tensor_the_last_one_is_named():
    report, done = reported(
        "from torch.utils.checkpoint import checkpoint\n"
        "h, other = torch.ones(3, requires_grad=True) * 1, torch.ones(3)\n"
        "y = checkpoint(lambda t: t * t, h, use_reentrant=False)\n"
        "other.add_(1)\n"
        "h.add_(1)\n"
        "y.sum().backward()\n"
    )
    assert isinstance(done.error, RuntimeError)
    assert report.rows[-1].happened.endswith("Row 2, in line 5, is the last write that fits.")


def test_a_line_after_the_read_of_a_missing_gradient_is_not_its_cause():
    report, _ = reported(
        "w = torch.ones(2, requires_grad=True)\ny = w * 2\ny.sum().backward()\nprint(y.grad)\ny = y - 0.1 * w.grad\n"
    )
    (row,) = [row for row in report.rows if row.op == ".grad"]
    assert row.where.line == 4 and row.instead.startswith("`y.retain_grad()` before `backward()`")
