"""Test that reports on common mistakes name the line, the reason and a repair, in a terminal and in a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.api import explain, run_and_release  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402
from memory_stage.explanation.verdict import Verdict  # noqa: E402
from tests.support.peers.classics import CLASSICS, fixed  # noqa: E402

NAMES = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
BAD = (Verdict.UNNOTICED, Verdict.REFUSED, Verdict.STALE)


def reported(program: str):
    explaining = StepReporter()
    torch.manual_seed(0)
    done = run_and_release(program, dict(NAMES), on_step=explaining.on_step)
    return explaining.report(done.variant), done


@pytest.mark.parametrize("name", CLASSICS)
def test_the_report_names_the_line_at_fault_the_reason_and_the_repair(name):
    classic = CLASSICS[name]
    report, done = reported(classic.program)
    assert (done.error is not None) == classic.fails
    rows = [row for row in report.rows if row.where.line == classic.line and (row.verdict in BAD or row.op == ".grad")]
    assert rows, str(report)
    texts = " ".join(f"{row.happened} {row.error} {row.instead}" for row in rows)
    for words in classic.words:
        assert words in texts
    if classic.written:
        assert any(f"`{text.strip()}`" in texts for text in classic.fix.values())
    assert rows[0].where.text == classic.program.splitlines()[classic.line - 1].strip()


@pytest.mark.parametrize("name", CLASSICS)
def test_a_repaired_program_runs_and_has_no_reported_fault(name):
    report, done = reported(fixed(CLASSICS[name]))
    assert done.error is None
    assert [str(row.where) for row in report.rows if row.verdict in (*BAD, Verdict.RAISES)] == []


def test_the_error_of_backward_leads_to_the_row_that_caused_it():
    report, _ = reported(CLASSICS["two backwards and a step (GAN)"].program)
    last = report.rows[-1]
    assert last.verdict is Verdict.RAISES and last.cause is not None
    assert report.rows[last.cause - 1].where.line == 9
    assert "saved `D.weight` at version 1" in last.happened


def test_a_function_is_explained_and_its_error_reaches_the_caller():
    def spoil(x):
        y = x.exp()
        y.mul_(2)
        return y.sum().backward()

    report = explain(spoil, torch.ones(2, requires_grad=True), catch=True)
    assert isinstance(report.error, RuntimeError)
    assert [row.instead for row in report.rows if row.verdict is Verdict.STALE] == [
        "`y = y.mul(2)` puts the new numbers into new memory."
    ]
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        explain(spoil, torch.ones(2, requires_grad=True))
    assert str(raised.value.explained) == str(report)


def test_minitensor_explain_refers_a_torch_program_to_memory_stage_explain():
    import minitensor as mt

    def spoil(x):
        return x.exp().mul_(2).sum()

    report = mt.explain(spoil, torch.ones(2, requires_grad=True))
    assert "uses PyTorch" in str(report) and "`memory_stage.explain(function, ...)`" in str(report)
    assert "PyTorch" in str(mt.explain(lambda: torch.ones(2).add_(1)))
    assert "PyTorch" in str(mt.explain(torch.nn.Linear(2, 2), torch.ones(2)))
    assert "PyTorch" not in str(mt.explain(lambda: mt.ones([2]).add_(mt.ones([2]))))
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        mt.explain(lambda x: x.exp().mul_(2).sum().backward(), torch.ones(2, requires_grad=True))
    assert "PyTorch" in str(raised.value.explained)


PROGRAM = "import sys\nimport torch\n" + CLASSICS["masked assignment in forward"].program


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_command_keeps_the_exit_status_and_writes_a_page_and_prints_the_error_with_a_fix(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    plain = command(tmp_path, "program.py")
    watched = command(tmp_path, "-m", "memory_stage", "--explain", "program.py")
    assert watched.returncode == plain.returncode == 1 and watched.stdout == plain.stdout
    assert plain.stderr.strip().splitlines()[-1] in watched.stderr
    assert "`x = torch.where(mask, 0, x)` puts the new numbers into new memory." in watched.stderr
    assert "stale" in (tmp_path / "program.stage.html").read_text()


def test_the_traceback_of_a_script_has_no_frame_of_the_recorder(tmp_path):
    (tmp_path / "program.py").write_text("import torch\ndef f(x):\n    return x @ torch.ones(3)\nf(torch.ones(2))\n")
    watched = command(tmp_path, "-m", "memory_stage", "program.py")
    assert "in f" in watched.stderr and "minitensor" not in watched.stderr.replace("-m memory_stage", "")


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    interactive.clear_instance()
    shell = interactive.instance()
    shell.run_line_magic("load_ext", "book_kit")
    yield shell
    interactive.clear_instance()


def test_the_magics_record_cells_with_torch_without_an_option(shell, monkeypatch):
    shown = []
    monkeypatch.setattr("book_kit.magics.stage_magic.display", shown.append)
    monkeypatch.setattr("memory_stage.integrations.explain_magic.display", shown.append)
    shell.run_cell("import torch", store_history=True)
    result = shell.run_cell("%%stage\nx = torch.ones(2)\ny = x[0:1]\ny.add_(1)", store_history=True)
    assert result.success and "through `y`" in shown[-1].data["variants"][0]["steps"][-1]["say"]
    shell.run_cell(
        "%%stage --compare\nx = torch.ones(2)\n# --- normal\ny = x + 1\n# --- in place\nx.add_(1)", store_history=True
    )
    assert [variant["label"] for variant in shown[-1].data["variants"]] == ["normal", "in place"]
    result = shell.run_cell(
        "%%explain\nw = torch.ones(2, requires_grad=True)\nz = w.exp()\nz.add_(1)\nz.sum().backward()",
        store_history=True,
    )
    assert isinstance(result.error_in_exec, RuntimeError)
    assert "z = z.add(1)" in str(shown[-1])


ATTRIBUTE = """\
class Halve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = {}
        return x{}

    @staticmethod
    def backward(ctx, grad):
        {}
        return grad / 2

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 3
y = Halve.apply(h)
h.add_(1)
y.sum().backward()
"""


@pytest.mark.parametrize("kept", ["x", "[x, 1]", "{'a': x}", "x[1:]"])
def test_a_write_to_a_tensor_in_an_attribute_of_ctx_is_reported_as_unnoticed_by_autograd(kept):
    report, done = reported(ATTRIBUTE.format(kept, " / 2", "pass"))
    assert done.error is None
    unnoticed = [row for row in report.rows if row.verdict is Verdict.UNNOTICED]
    assert [row.where.line for row in unnoticed] == [15] and "`Halve` in line 14" in unnoticed[0].happened


@pytest.mark.parametrize(("kept", "backward"), [("x.clone()", "pass"), ("x + 1", "ctx.kept.mul_(2)"), ("3", "pass")])
def test_a_write_is_not_reported_if_an_attribute_of_ctx_has_separate_memory(kept, backward):
    report, done = reported(ATTRIBUTE.format(kept, " / 2", backward))
    assert done.error is None
    assert [row for row in report.rows if row.verdict in BAD] == []


def test_a_write_to_a_tensor_that_ctx_saves_and_has_as_an_attribute_raises_in_backward():
    report, done = reported(ATTRIBUTE.format("x; ctx.save_for_backward(x)", " / 2", "ctx.saved_tensors"))
    assert "modified by an inplace operation" in str(done.error)
    assert [row.where.line for row in report.rows if row.verdict is Verdict.STALE] == [15]
    assert [row for row in report.rows if row.verdict is Verdict.UNNOTICED] == []


def test_a_write_that_a_custom_function_does_not_mark_is_reported_as_unrecorded():
    report, _ = reported(ATTRIBUTE.format("None; x.div_(2)", "", "pass"))
    (row,) = [row for row in report.rows if Verdict.UNRECORDED in row.verdicts]
    assert row.where.line == 4
    assert row.instead.startswith("`ctx.mark_dirty(x)` in `Halve.forward` reports this write to autograd")
    announced, _ = reported(ATTRIBUTE.format("None; ctx.mark_dirty(x); x.div_(2)", "", "pass"))
    assert [row for row in announced.rows if Verdict.UNRECORDED in row.verdicts] == []
