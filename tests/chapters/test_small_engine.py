"""Test the engine of chapter 16: built from the chapter's text alone, and judged as the chapter claims."""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from chapters.small_engine import judge, workshop
from tests.support.chapters.chapter import FOLDER, ROOT, Chapter

CHAPTER = "16_an_engine_in_an_afternoon"
CELLS = workshop.read(Chapter.read(CHAPTER).text)
STEPS = list(CELLS.ideas)
RECORD = json.loads((ROOT / "facts" / "small-engine.json").read_text(encoding="utf-8"))
SHORT, *LONG = RECORD["programs"].values()
KINDS = ("right", "refused", "wrong")
FILES = [FOLDER / "small_engine" / name for name in ("engine.py", "judge.py", "workshop.py")]


# ---- the chapter's text ----------------------------------------------------------------------------------------------


def typed_in(chapter: Chapter) -> str:
    """Return the engine of a reader who types every cell in order, and applies each diff."""
    lines: list[str] = []
    for cell in chapter.code:
        magic, _, body = cell.source.partition("\n")
        if magic.startswith("%%engine"):
            lines += [*([""] * 2 if lines else []), *body.splitlines()]
        if magic.startswith("%%step"):
            lines = changed(lines, body.splitlines())
    return "\n".join(lines) + "\n"


def changed(lines: list[str], diff: list[str]) -> list[str]:
    """Apply a unified diff to lines, and require each unchanged or removed line exactly at the stated place."""
    made, at = [], 0
    for line in diff:
        if stated := re.match(r"@@ -(\d+),\d+ \+(\d+),\d+ @@", line):
            made += lines[at : int(stated[1]) - 1]
            at = int(stated[1]) - 1
            assert len(made) == int(stated[2]) - 1
            continue
        mark, text = line[:1] or " ", line[1:]
        if mark != "+":
            assert lines[at] == text
            at += 1
        if mark != "-":
            made.append(text)
    return made + lines[at:]


def test_the_engine_typed_from_the_chapter_is_never_wrong_and_refuses_nothing():
    text = typed_in(Chapter.read(CHAPTER))
    assert text == workshop.FINISHED.read_text(encoding="utf-8")
    assert counted(workshop.counts(text)) == (500, 0, 0)
    assert workshop.counts(text)["leaf"] == 0


def counted(row: dict[str, int]) -> tuple[int, ...]:
    return tuple(row[kind] for kind in KINDS)


def test_the_downloaded_engine_equals_the_engine_after_the_last_step():
    assert CELLS.at(7) == workshop.FINISHED.read_text(encoding="utf-8")


def test_the_diffs_change_as_many_lines_as_the_chapter_says():
    changed_lines = {
        step: tuple(sum(line.startswith(mark) for line in diff.splitlines()) for mark in "-+")
        for step, diff in CELLS.diffs.items()
    }
    assert changed_lines[5] == (2, 2)  # "Two."
    assert changed_lines[2][1] + changed_lines[5][1] == 9  # "two ideas, nine lines"
    assert list(changed_lines) == STEPS[1:]


def test_the_engine_and_the_judge_stay_short():
    assert workshop.lines_of_code(CELLS.at(1)) <= 135
    assert workshop.lines_of_code(CELLS.at(7)) <= 180
    judging, command_line = FILES[1].read_text(encoding="utf-8").split("# ---------- the command line ----------")
    assert workshop.lines_of_code(judging) <= 125
    assert workshop.lines_of_code(command_line) <= 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_files_describe_their_purpose(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_"]
    assert ast.get_docstring(tree)
    assert [node.name for node in named if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("step", STEPS)
def test_the_engine_of_every_step_keeps_the_house_style(step):
    for command in (["format", "--check"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(FILES[0]), "-"]
        ran = subprocess.run(ruff, input=CELLS.at(step), capture_output=True, text=True, cwd=ROOT)
        assert ran.returncode == 0, ran.stdout + ran.stderr


# ---- the counts of the seven steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_the_judge_agrees_with_the_record_of_every_step(step):
    assert workshop.counts(CELLS.at(step)) == SHORT[str(step)]


def test_the_chapter_states_how_many_programs_each_step_gets_wrong():
    wrong = [SHORT[str(step)]["wrong"] for step in STEPS]
    assert wrong == [410, 197, 35, 35, 0, 0, 0]
    options = re.findall(r'^        "(\d+)": "', Chapter.read(CHAPTER).text, re.MULTILINE)
    assert options == [str(number) for number in sorted({*wrong})]
    assert f"{wrong[3]} programs are still silently wrong" in Chapter.read(CHAPTER).prose


def test_from_step_to_step_wrong_programs_never_increase_and_refused_ones_decrease_to_zero():
    for rows in (SHORT, *LONG):
        wrong = [row["wrong"] for row in rows.values()]
        assert wrong == sorted(wrong, reverse=True)
        assert wrong[4:] == [0, 0, 0]
        refused = [row["refused"] for row in rows.values()]
        assert refused[2] == refused[4] > refused[5] > refused[6] == 0
        assert [row["leaf"] for row in rows.values()][3:] == [0, 0, 0, 0]


def test_step_6_without_step_5_gets_more_programs_wrong_than_step_4():
    assert workshop.counts(CELLS.text(2, 3, 4, 6))["wrong"] > workshop.counts(CELLS.at(4))["wrong"]


def some_programs(count: int, length: int, vocabulary: str, seed: int) -> list:
    """Generate random programs of the vocabulary, each with its exact numbers."""
    dice, found = random.Random(seed), []
    while len(found) < count:
        program, names = (), dict.fromkeys("xa")
        while names is not None and len(program) < length:
            statement = dice.choice(list(judge.statements(vocabulary, list(names))))
            try:
                names = judge.exactly((*program, statement))
            except judge.NoSense:
                continue
            program = (*program, statement)
        found.append((program, names))
    return found


@pytest.mark.parametrize(("length", "vocabulary"), [(3, judge.SMALL), (3, judge.WIDE), (5, judge.WIDE)])
def test_only_the_steps_before_step_5_get_longer_programs_wrong(length, vocabulary):
    programs = some_programs(400, length, vocabulary + " | {0}[::-1]", seed=length)
    assert len({program for program, _ in programs}) > 300
    found = {step: judge.judge(workshop.loaded(CELLS.at(step)), programs) for step in STEPS}
    assert counted(found[7])[1:] == (0, 0)
    assert found[5]["wrong"] == found[6]["wrong"] == 0 < min(found[step]["wrong"] for step in (1, 2, 3, 4))
    assert found[5]["refused"] > found[6]["refused"] > 0


# ---- the judge -------------------------------------------------------------------------------------------------------


def test_the_exact_derivative_equals_finite_differences(monkeypatch):
    shift = 1e-6
    for program, exact in workshop.short_programs()[:: len(workshop.short_programs()) // 60]:
        if exact is None or any("detach" in statement for statement in program):
            continue  # the program overwrites the leaf, or detaches: finite differences would differ
        totals = []
        for side in (shift, -shift):
            monkeypatch.setattr(judge, "X", XBEFORE + side * judge.DIRECTION)
            totals.append(np.asarray(judge.total(judge.exactly(program))).real)
        monkeypatch.setattr(judge, "X", XBEFORE)
        derivative = np.asarray(judge.total(exact)).imag / judge.STEP
        assert np.isclose((totals[0] - totals[1]) / (2 * shift), derivative, rtol=1e-6), program


XBEFORE = judge.X


def test_no_program_is_judged_twice_and_every_kind_of_statement_is_judged():
    programs = [program for program, _ in workshop.short_programs()]
    assert len(set(programs)) == len(programs)
    stated = {statement.removeprefix("b = ") for program in programs for statement in program}
    kinds = [template.strip().format("a", "x") for template in judge.SMALL.split("|")]
    assert len(kinds) == 13
    assert set(kinds) <= stated
    assert sum(exact is not None for _, exact in workshop.short_programs()) == 500


@pytest.mark.parametrize("line", ["gradient[self.written] = 0", "if x.tracked and isinstance", "saved.outlive(x)"])
def test_the_counts_change_if_a_line_of_the_engine_is_removed(line):
    assert workshop.counts(workshop.without(CELLS.at(7), line)) != workshop.counts(CELLS.at(7))


def test_removing_the_version_check_changes_the_counts_of_2_6_and_not_of_copy_on_write():
    line = "if self.version != self.storage.version:"
    assert line in RECORD["one statement taken out, programs of at most two statements"]["unnoticed"]
    less = workshop.without(CELLS.at(7), line)
    assert workshop.counts(less) == workshop.counts(CELLS.at(7))
    assert workshop.counts(less.replace('policy = "copy_on_write"', 'policy = "2.6"'))["wrong"] > 0


def test_a_file_is_judged_from_the_command_line():
    ran = subprocess.run([sys.executable, FILES[1], FILES[0]], capture_output=True, text=True, check=True)
    assert ast.literal_eval(ran.stdout) == {"right": 500, "refused": 0, "wrong": 0, "leaf": 0}


@pytest.fixture
def judged_file(tmp_path):
    """Return a function that judges an engine's text with the command, and returns the counts and the other output."""

    def run(text, *options):
        file = tmp_path / "engine.py"
        file.write_text(text, encoding="utf-8")
        ran = subprocess.run([sys.executable, FILES[1], file, *options], capture_output=True, text=True, check=True)
        counts, _, rest = ran.stdout.partition("\n")
        return ast.literal_eval(counts), rest

    return run


def test_the_option_show_prints_the_first_program_of_each_fault_with_its_numbers(judged_file):
    _, shown = judged_file(CELLS.at(3), "--show")
    titles = re.findall(r"^The first program that (.+):$", shown, re.MULTILINE)
    assert titles == [judge.FAULTS[kind] for kind in ("wrong", "leaf", "refused")]
    wrong = shown.split("The first program")[1]
    program = tuple(re.search(r"a = x \* 1\.0\n(.+?)\n  gradient", wrong, re.DOTALL)[1].splitlines())
    engine = workshop.loaded(CELLS.at(3))
    assert judge.verdict(engine, program, judge.exactly(program)) == "wrong"
    engines, exact = (
        [float(number) for number in re.findall(r"\d\.\d+", line)] for line in re.findall(r"  .*\[.*\]", wrong)
    )
    assert np.allclose(engines, judge.ran(engine, program)[1], atol=1e-4)
    right = workshop.loaded(CELLS.at(7))  # the finished engine is right about this program
    assert np.allclose(exact, judge.ran(right, program)[1], atol=1e-4)


def test_a_crash_of_the_engine_counts_as_refused_and_names_the_program(judged_file):
    counts, shown = judged_file(CELLS.at(7).replace("saved.outlive(x)", "saved.outlives(x)"))
    assert counts["refused"] == counts["crashed"] > 0
    assert counts["right"] + counts["refused"] == 500
    assert "crashes, which counts as refused:\nx = tensor([0.31" in shown
    assert "AttributeError: 'Saved' object has no attribute 'outlives'" in shown


def test_a_further_statement_is_judged_right_if_the_table_has_a_row_for_it(judged_file):
    row = 'TABLE = [\n    Operation("sqrt", np.sqrt, x="g / (2 * out)"),\n'
    counts, _ = judged_file(CELLS.at(7).replace("TABLE = [\n", row), "--also", "{0}.sqrt_()")
    assert counts["right"] > 500
    assert (counts["refused"], counts["wrong"], counts["leaf"]) == (0, 0, 0)
    counts, shown = judged_file(CELLS.at(7), "--also", "{0}.sqrt_()")
    assert counts["crashed"] > 0
    assert "'Tensor' object has no attribute 'sqrt_'" in shown
    counts, _ = judged_file(CELLS.at(7), "--also", "{0}.subtract_({1}) | {0}.log_()")  # logarithms of negative numbers
    assert (counts["refused"], counts["wrong"], counts["leaf"]) == (0, 0, 0)


def test_a_statement_that_the_judge_does_not_know_is_an_error_that_names_it():
    ran = subprocess.run(
        [sys.executable, FILES[1], FILES[0], "--also", "{0}.no_such_()"], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert "--also '{0}.no_such_()'" in ran.stderr and "sqrt" in ran.stderr


def test_a_reader_can_apply_the_diffs_of_the_chapter_with_patch(tmp_path):
    if not shutil.which("patch"):
        pytest.skip("the command patch is not installed")
    engine, diff = tmp_path / "engine.py", tmp_path / "step.diff"
    engine.write_text(CELLS.at(1), encoding="utf-8")
    for step in STEPS[1:]:
        diff.write_text(CELLS.diffs[step], encoding="utf-8")
        ran = subprocess.run(["patch", engine, diff], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert engine.read_text(encoding="utf-8") == CELLS.at(step)


def test_the_counts_do_not_change_without_the_increment_of_the_version_as_the_first_exercise_shows():
    less = workshop.without(CELLS.at(7), "self.version += 1")
    assert workshop.counts(less) == workshop.counts(CELLS.at(7))


# ---- the workshop ----------------------------------------------------------------------------------------------------


def test_a_cell_that_runs_again_replaces_its_part():
    ours = workshop.Cells()
    for part, text in (("first", "a = 1"), ("second", "b = 2"), ("first", "a = 3")):
        ours.parts[part] = text
    assert ours.at(1) == "a = 3\n\n\nb = 2\n"


def test_the_bars_of_a_step_are_named_by_its_heading_in_any_language():
    assert list(range(1, 8)) == STEPS
    read = workshop.read(
        "# 16. An engine\n\n## Step 2: a write\n\n## 第 3 步：存储记下写入\n\n## Longer programs\n\n:tags: 4: no\n"
    )
    assert [read.title(step) for step in (2, 3, 4)] == ["2. a write", "3. 存储记下写入", "4"]


def test_a_hunk_whose_lines_occur_twice_is_applied_at_its_stated_line():
    assert workshop.patched("a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n a\n-b\n+c\n") == "a\nb\na\nc\n"


def test_the_error_about_a_diff_names_missing_lines_or_the_missing_hunk():
    with pytest.raises(ValueError, match="not in the engine:\nd"):
        workshop.patched("a\n", "@@ -1,1 +1,1 @@\n-d\n+c\n")
    with pytest.raises(ValueError, match="begin with @@"):
        workshop.patched("a\n", "b")


def test_removing_a_line_that_is_not_unique_is_an_error():
    with pytest.raises(ValueError, match="not 2"):
        workshop.without("a = 1\na = 2\n", "a =")


def test_the_bars_do_not_count_programs_that_overwrite_the_leaf():
    shown = workshop.bars({"one": {"right": 3, "refused": 0, "wrong": 1, "leaf": 7}}, of="trials")
    assert str(shown).split() == ["one", "right", "3", "refused", "0", "wrong", "1"]
    assert "of 4 trials" in shown._repr_mimebundle_()["text/html"]


def test_a_diff_is_shown_line_by_line_with_removed_and_added_lines():
    bars = workshop.bars({"one": {"right": 1, "refused": 0, "wrong": 0}})
    shown = workshop.Step("@@ -1,2 +1,2 @@\n a < b\n-c\n+d", bars)._repr_mimebundle_()
    assert shown["text/plain"].startswith("@@ -1,2 +1,2 @@\n a < b\n-c\n+d\n")
    assert re.findall(r"<(del|ins)[^>]*>([^<]*)</", shown["text/html"]) == [("del", "-c"), ("ins", "+d")]
    assert "\n a &lt; b\n" in shown["text/html"]
