"""Explain programs that end early: their exit status, their reports for tools, and the graphs that they keep."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from memory_stage.explanation.whole_run import command  # noqa: E402

LEAK = """
import sys
import torch
net = torch.nn.Linear(3, 1)
losses = []
for i in range(20):
    losses.append(net(torch.randn(8, 3)).pow(2).mean())
"""


def report(tmp_path: Path, end: str) -> tuple[int, dict]:
    """Return the exit status of a program, and its report for tools."""
    program, written = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(LEAK.lstrip() + end)
    status = command.main(["--json", str(written), str(program)])
    return status, json.loads(written.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "code", ["", "None", "0", "3", "-1", "300", "True", "False", "''", "'text'", "2.5", "[]", "2**40"]
)
def test_the_exit_status_is_that_of_python(code, tmp_path, capsys):
    source = f"import sys\nsys.exit({code})\n"
    expected = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    program = tmp_path / "program.py"
    program.write_text(source)
    status = command.main([str(program)])
    assert type(status) is int and status & 0xFF == expected.returncode
    assert capsys.readouterr().err.partition("\nmemory-stage:")[0] == expected.stderr


@pytest.mark.parametrize(
    ("end", "ended_by"),
    [
        ("", None),
        ("sys.exit()", "SystemExit"),
        ("sys.exit('')", "SystemExit"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("raise ValueError('no data')", "ValueError: no data"),
    ],
)
def test_the_report_for_tools_has_the_error_that_ended_the_program(end, ended_by, tmp_path):
    assert report(tmp_path, end)[1]["ended_by"] == ended_by


@pytest.mark.parametrize("end", ["", "sys.exit()", "sys.exit(3)"])
def test_graphs_that_a_program_keeps_are_found_if_it_calls_exit_at_its_end(end, tmp_path):
    faults = report(tmp_path, end)[1]["faults"]
    assert [each["kind"] for each in faults] == ["leak"]
