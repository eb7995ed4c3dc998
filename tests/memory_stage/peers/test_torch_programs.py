"""Test reports on realistic trainings with a write in the wrong place: the line, the saving operations and the repair.

The trainings are the files of the folder ``programs``. The tests follow the report's advice, and then expect a report
without faults.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.api import run_and_release  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Training:
    """The line at fault, words of the report about it, and the changed lines of the repaired program."""

    line: int
    words: tuple[str, ...]
    fix: dict[int, str]
    fails: bool = True


TRAININGS = {
    "recurrent_state": Training(
        16,
        ("overwrites `h`", "`linear` in line 15 saved", "`h = h.mul(0.9).add(0.1 * z)`"),
        {16: "        h = h.mul(0.9).add(0.1 * z)"},
    ),
    "gan": Training(
        40,
        ("`D.net[2].weight`", "`linear` in line 22 saved", "every `backward()` before `opt_d.step()`"),
        {40: "", 44: "    opt_d.step(); opt_g.step()"},
    ),
    "residual": Training(
        18,
        ("`sigmoid` in line 15 saved at version 0", "`identity = identity + out`"),
        {18: "        identity = identity + out"},
    ),
    "masked_attention": Training(
        19,
        ("`softmax` in line 18", "`weights = torch.where(pad[:, None, None, :].expand_as(weights), 0.0, weights)`"),
        {19: "        weights = torch.where(pad[:, None, None, :].expand_as(weights), 0.0, weights)"},
    ),
    "moving_average": Training(
        16,
        ("`linear` in line 26", "`teacher.net.b.weight` are names of one tensor", "Call every `backward"),
        {10: "        self.net = copy.deepcopy(net)"},
    ),
    "clipped_data": Training(
        16,
        ("`linear` in line 14 saved", "does not increase the version", "before the forward pass of line 14"),
        {16: "", 39: "    opt.step(); [w.data.clamp_(-0.1, 0.1) for w in critic.parameters() if w.dim() == 2]"},
        fails=False,
    ),
    "numpy_pipeline": Training(
        17,
        ("overwrites `f`, which `exp` in line 29", "`.numpy().copy()`"),
        {14: "        array = batch.detach().numpy().copy()"},
        fails=False,
    ),
    "step_in_between": Training(
        32,
        ("`agent.net.value.weight`", "`linear` in line 14", "run the forward pass of line 14 again"),
        {46: "    action, logp, value = agent.act(state)"},
    ),
    "two_modes_of_batch_norm": Training(
        12,
        ("`net.encoder.bn.running_mean`", "run the pass in training first"),
        {24: "        b = self.encoder(batch)", 25: "        self.encoder.eval()",
         26: "        a = self.encoder(anchor)", 27: "        self.encoder.train()"},
        fails=False,
    ),
    "checkpointed": Training(
        14,
        ("a tensor of the shape [3, 4] as it was before", "`x = x - x.mean(-1, keepdim=True)`"),
        {14: "        x = x - x.mean(-1, keepdim=True)"},
    ),
    "forward_hook": Training(
        16,
        ("`sigmoid` in line 30", "`out = out.mul(self.scale)`", "`return out` from `forward`"),
        {16: "        out = out.mul(self.scale); return out"},
    ),
    "gradient_penalty": Training(
        12,
        ("`norm` in line 10 saved", "`norm = norm.clamp(max=1.0)`"),
        {12: "    norm = norm.clamp(max=1.0)"},
    ),
}  # fmt: skip


def reported(source: str):
    explaining = StepReporter()
    done = run_and_release(source, {"__name__": "__main__"}, on_step=explaining.on_step)
    return explaining.report(done.variant), done


@pytest.mark.parametrize("name", TRAININGS)
def test_the_report_names_the_line_at_fault_and_a_repair(name):
    training, source = TRAININGS[name], (PROGRAMS / f"{name}.py").read_text()
    report, done = reported(source)
    print(report)
    assert (done.error is not None) == training.fails
    assert all(row.where.line == training.line for row in report.dangerous()) or not training.fails
    assert training.line in [row.where.line for row in report.dangerous()], str(report)
    rows = [row for row in report.rows if row.where.line == training.line]
    texts = " ".join(f"{row.happened} {row.instead}" for row in rows)
    for words in training.words:
        assert words in texts
    assert f"line {training.line}: {source.splitlines()[training.line - 1].strip()}"[:60] in str(report)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_repaired_as_advised_has_no_reported_fault(name):
    lines = (PROGRAMS / f"{name}.py").read_text().splitlines()
    for number, text in TRAININGS[name].fix.items():
        lines[number - 1] = text
    report, done = reported("\n".join(lines) + "\n")
    assert done.error is None and done.variant["truncated"] is None
    assert report.dangerous() == [] and report.totals.unnoticed == report.totals.refused == 0


def test_a_second_order_gradient_has_a_step_for_the_node_softplus_backward():
    lines = (PROGRAMS / "gradient_penalty.py").read_text().splitlines()
    lines[11] = ""
    _, done = reported("\n".join(lines) + "\n")
    assert done.error is None and done.variant["truncated"] is None
    said = [step["say"] for step in done.variant["steps"] if step["line"] == 36]
    assert any("`softplus_backward`" in each for each in said)


def test_the_report_folds_the_writes_of_an_optimizer_into_few_rows():
    report, _ = reported((PROGRAMS / "gan.py").read_text())
    folded = [row for row, _, _ in report.folded()]
    assert [row.where.line for row in folded].count(
        40
    ) == 3  # two writes made values stale, and one row is for the rest
    assert len(folded) < 8


def test_the_traceback_of_a_recorded_program_is_unchanged(tmp_path):
    (tmp_path / "program.py").write_text((PROGRAMS / "residual.py").read_text())
    plain, watched = (
        subprocess.run([sys.executable, *way, "program.py"], capture_output=True, text=True, cwd=tmp_path,
                       env={"PYTHONPATH": str(ROOT), "PATH": ""}).stderr
        for way in ((), ("-m", "memory_stage"))
    )  # fmt: skip
    without_folder = plain.replace('"' + str(tmp_path) + "/", '"')
    assert without_folder.startswith("Traceback") and without_folder in watched.replace('"' + str(tmp_path) + "/", '"')
