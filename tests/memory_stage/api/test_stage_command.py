"""Test `python -m memory_stage program.py`: the program runs unchanged, and its stage is written."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_stage.__main__ import main
from memory_stage.explanation.whole_run import command

ROOT = Path(__file__).resolve().parents[3]

STALE = """
import minitensor.torch as torch
import helper

w = torch.tensor([1.0, 4.0], requires_grad=True)
h = w * 1.0
y = h.sin()
helper.spoil(h)
y.sum().backward()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("def spoil(x):\n    x.mul_(2.0)\n")
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    return tmp_path


def run(*command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )


def trace_in(page: Path) -> dict:
    """Return the trace in the HTML file of a stage."""
    (found,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found)


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nimport minitensor as mt\nprint(sys.argv, __name__, __file__)\nx = mt.ones([2])\nprint(x.add_(x))",
        STALE,
        "import sys\nimport minitensor as mt\nmt.ones([2])\nsys.exit(3)",
        "raise KeyboardInterrupt",
    ],
    ids=["arguments", "a stale tensor", "an exit status", "an interrupt"],
)
def test_output_error_and_exit_status_equal_those_of_the_plain_program(folder, program):
    (folder / "program.py").write_text(program)
    plain = run("program.py", "one", "--two", "3")
    watched = run("-m", "memory_stage", "program.py", "one", "--two", "3")
    assert watched.stdout == plain.stdout
    # An interrupt kills the plain program by a signal, which is a negative returncode here. A shell reports it as 130.
    assert watched.returncode == (130 if plain.returncode < 0 else plain.returncode)
    reported = without_marks(watched.stderr)
    assert reported[: len(without_marks(plain.stderr))] == without_marks(plain.stderr)
    assert reported[-1].startswith("program.stage.html: ")


def without_marks(text: str) -> list[str]:
    """Return the lines of a traceback without the marks below code, which differ between Python's versions."""
    return [line for line in text.splitlines() if not re.fullmatch(r" +[~^]+", line)]


def test_the_file_contains_the_stage_of_the_program(folder, capsys):
    (folder / "program.py").write_text("import minitensor as mt\nx = mt.ones([3])\nx.add_(x)\nprint('<b>')\n")
    assert main(["program.py"]) == 0
    trace = trace_in(folder / "program.stage.html")
    assert trace["title"] == "program.py"
    assert [step["line"] for step in trace["variants"][0]["steps"]] == [2, 3, 4]
    out, err = capsys.readouterr()
    assert out == "<b>\n" and err == "program.stage.html: 3 steps\n"


def test_the_option_explain_prints_the_lines_of_a_fault_and_a_repair(folder, capsys):
    (folder / "program.py").write_text(STALE)
    assert main(["--explain", "--output", "why.html", "--title", "A stale tensor", "program.py"]) == 1
    reported = capsys.readouterr().err
    assert "helper.py, line 2: x.mul_(2.0)" in reported and "instead  Run backward before this line" in reported
    assert reported.count("program.py, line 7: y = h.sin()") >= 2
    assert trace_in(folder / "why.html")["title"] == "A stale tensor"
    assert "why.html: " in reported


def test_a_text_that_a_program_passes_to_exit_is_printed(folder, capsys):
    (folder / "program.py").write_text("import sys\nsys.exit('it cannot go on')")
    assert main(["program.py"]) == 1
    assert capsys.readouterr().err.startswith("it cannot go on\n")


def test_changes_that_a_program_makes_to_sys_are_undone(folder):
    before = sys.argv, list(sys.path), sys.modules["__main__"], sys.stdout
    (folder / "program.py").write_text("import sys\nsys.argv.append('more')\nsys.path.append('/elsewhere')\n")
    main(["program.py"])
    assert (sys.argv, list(sys.path), sys.modules["__main__"], sys.stdout) == before


def test_the_options_policy_and_steps_are_applied(folder, capsys):
    (folder / "program.py").write_text(STALE + "print(w.grad.tolist())\n")
    assert main(["--policy", "copy_on_write", "--steps", "3", "program.py"]) == 0
    assert json.loads(capsys.readouterr().out) == pytest.approx([math.cos(1.0), math.cos(4.0)])
    assert len(trace_in(folder / "program.stage.html")["variants"][0]["steps"]) == 3


def test_a_program_without_tensors_gets_a_message(folder, capsys):
    (folder / "program.py").write_text("print(1)")
    assert main(["program.py"]) == 0
    assert (
        "made no tensor of minitensor, PyTorch or Paddle; tensors of other libraries are not recorded"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "program, output, said",
    [
        (None, "a.html", "program.py cannot be read: "),
        (b"x = (", "a.html", "program.py is not a program: '(' was never closed"),
        (b"\xff\xfe", "a.html", "program.py cannot be read: 'utf-8' codec"),
        (b"# coding: foo\nx = 1", "a.html", "program.py is not a program: unknown encoding: foo"),
        (b"x = 1", "nowhere/a.html", "nowhere/a.html cannot be written: "),
    ],
    ids=["a missing program", "a syntax error", "bytes that are not UTF-8", "an unknown encoding", "a missing folder"],
)
def test_invalid_arguments_print_a_message_and_return_status_2(folder, capsys, program, output, said):
    if program is not None:
        (folder / "program.py").write_bytes(program)
    assert main(["--output", output, "program.py"]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / output).exists()


@pytest.mark.parametrize("steps", ["0", "-1", "many", "3:", ":3", "9:3", "0:3", "1:2:3"])
def test_an_invalid_number_of_steps_is_refused_by_the_command(folder, capsys, steps):
    (folder / "program.py").write_text("x = 1")
    with pytest.raises(SystemExit) as caught:
        main([f"--steps={steps}", "program.py"])
    assert caught.value.code == 2
    wanted = "FROM:TO, two whole numbers from 1 with FROM <= TO" if ":" in steps else "a whole number from 1"
    assert f"{wanted}, not '{steps}'" in capsys.readouterr().err


LOOP = """\
import minitensor as mt
x = mt.ones([2])
for i in range(100):
    if i == 60:
        x.scale_(2.0)
    x.add_(x)
print(i)
"""


@pytest.mark.parametrize(
    ("options", "lines", "iterations"),
    [
        (["--steps", "100:103"], [6, 6], [49, 50]),
        (["--iteration", "61"], [5, 6], [61]),
        (["--line", "6", "--iteration", "61"], [5, 6], [61]),
        (["--line", "5", "--steps", "3"], [5, 6, 6], [61, 62]),
    ],
)
def test_a_part_of_a_long_run_is_recorded(folder, capsys, options, lines, iterations):
    (folder / "program.py").write_text(LOOP)
    assert main([*options, "program.py"]) == 0
    assert capsys.readouterr().out == "99\n"
    (variant,) = trace_in(folder / "program.stage.html")["variants"]
    assert [step["line"] for step in variant["steps"]] == lines
    assert sorted({step["passes"][0][1] for step in variant["steps"]}) == iterations


def test_the_stage_of_a_part_opens_at_the_given_line_and_the_program_ends_after_the_part(folder, capsys):
    (folder / "program.py").write_text(LOOP)
    assert main(["--steps", "118:130", "--line", "5", "--end-after-steps", "program.py"]) == 0
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("program.stage.html: ")
    (variant,) = trace_in(folder / "program.stage.html")["variants"]
    assert variant["steps"][variant["key"]]["line"] == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--steps", "3:9", "--iteration", "2"], "both choose a part of the run"),
        (["--line", "2", "--iteration", "2"], "line 2 is in no loop"),
        (["--end-after-steps"], "--end-after-steps needs --steps FROM:TO"),
    ],
)
def test_contradictory_options_for_the_recorded_part_are_refused(folder, capsys, options, said):
    (folder / "program.py").write_text(LOOP)
    assert main([*options, "program.py"]) == 2
    assert said in capsys.readouterr().err and not (folder / "program.stage.html").exists()


def test_a_process_of_a_distributed_run_writes_a_page_named_after_its_rank(folder, capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    (folder / "program.py").write_text(LOOP)
    assert main(["--iteration", "61", "--output", "part.html", "program.py"]) == 0
    assert [page.name for page in folder.glob("*.html")] == ["part.rank1.html"]
    assert capsys.readouterr().err == "part.rank1.html: 2 steps\n"


def test_the_help_of_each_option_of_explain_begins_with_a_verb():
    options = [each for each in command._options()._actions if each.option_strings]
    verbs = {str(each.help).removeprefix("also ").split()[0] for each in options}
    assert verbs <= {"show", "list", "run", "write", "draw", "let"}, verbs
