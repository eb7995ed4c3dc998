"""Test the reports on programs of PyTorch in Chinese: the same rows, lines, numbers and code as in English."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import memory_stage  # noqa: E402
from memory_stage.api import run_and_release  # noqa: E402
from memory_stage.explanation.report import Report  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402
from memory_stage.explanation.whole_run.explanation import Explanation  # noqa: E402
from memory_stage.messages import language  # noqa: E402
from tests.support.peers.classics import CLASSICS  # noqa: E402

ROOT = Path(__file__).parents[3]
LEAK = "import torch\nw = torch.ones(2, requires_grad=True)\ntotal = 0\nfor _ in range(4):\n  total += w.exp().sum()\n"
SPOILED = """\
import torch
w = torch.ones(2, requires_grad=True)
y = w.exp()
y.add_(1)
y.sum().backward()
"""


def code_and_numbers(text: str) -> list[str]:
    """Return the pieces of code in a text, and the numbers outside of them, in sorted order."""
    return sorted(re.findall(r"`[^`]*`|\d+", text))


def english_in(text: str) -> list[str]:
    """Return the English phrases of three words and more that a Chinese text has outside of code."""
    return re.findall(r"(?:[A-Za-z]+ ){2,}[A-Za-z]+", re.sub(r"`[^`]*`", "", text))


def report_of(program: str, code: str) -> Report:
    reporter = StepReporter(language(code))
    names = {"__name__": "__main__", "torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    return reporter.report(run_and_release(program, names, on_step=reporter.on_step).variant)


@pytest.mark.parametrize("name", CLASSICS)
def test_both_languages_report_the_same_rows_with_the_same_code_and_numbers(name):
    english, chinese = (report_of(CLASSICS[name].program, code) for code in ("en", "zh"))
    assert len(english.rows) == len(chinese.rows)
    for one, other in zip(english.rows, chinese.rows, strict=True):
        assert (one.verdicts, one.where.line, one.error, one.cause) == (
            other.verdicts,
            other.where.line,
            other.error,
            other.cause,
        )
        for text, said in ((one.happened, other.happened), (one.instead, other.instead)):
            assert code_and_numbers(text) == code_and_numbers(said) and english_in(said) == []


def explained(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "memory_stage", "explain", *options, "program.py"]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", cwd=folder, env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    )


@pytest.mark.parametrize("program", [SPOILED, LEAK], ids=["overwritten", "leak"])
def test_the_command_explains_a_program_in_chinese(program, tmp_path):
    english, chinese = (explained(tmp_path, program, "--language", code) for code in ("en", "zh"))
    told, said = (each.stderr.partition("memory-stage: ")[2] for each in (english, chinese))
    assert told and said and english.returncode == chinese.returncode
    assert code_and_numbers(" ".join(told.split())) == code_and_numbers(" ".join(said.split()))
    assert "Fix:" not in said and "改法：" in said
    sentences = [line for line in said.splitlines() if not re.match(r"^ +[-+]? *\d", line)]
    assert english_in("\n".join(sentences)) == []


def test_a_block_is_explained_in_the_language_that_the_call_requests():
    with memory_stage.explain(language="zh") as why, pytest.raises(RuntimeError):
        exec(SPOILED, {})
    assert isinstance(why, Explanation) and why.faults
    assert "覆盖" in str(why) and "覆盖" in why.faults[0].verdict


def test_a_language_that_does_not_exist_is_refused_before_the_program_runs(tmp_path):
    calls: list[int] = []
    with pytest.raises(ValueError, match="language is one of 'en', 'zh', not 'fr'"):
        memory_stage.explain(lambda: calls.append(1), language="fr")
    with pytest.raises(ValueError, match="language is one of 'en', 'zh', not 'fr'"):
        memory_stage.explain(language="fr")
    refused = explained(tmp_path, "print('ran')", "--language", "fr")
    assert calls == [] and refused.returncode == 2 and refused.stdout == "" and "'fr'" in refused.stderr
