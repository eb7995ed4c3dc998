"""Run each exercise of the chapters as a page runs it: after those statements of earlier cells that it needs."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from _ext.book_pages.exercise_cells import Exercise, exercises, lacking
from book_kit.in_page import page_kernel
from tests.support.chapters.chapter import Chapter, in_order
from tools import live
from tools.build import ROOT


@cache
def exercises_of(name: str) -> list[Exercise]:
    return exercises([cell.source for cell in Chapter.read(name).code])


@cache
def solutions(name: str) -> list[str]:
    """Return the solutions of a chapter, checked like a reader's answer."""
    return [cell.source.replace("require(", "check(") for cell in Chapter.read(name).cells_with("require(")]


@pytest.fixture(autouse=True)
def beside_the_chapters(monkeypatch):
    """Make ``chapters`` importable, because chapter 16 imports its engine. A page imports the engine from its wheel."""
    monkeypatch.syspath_prepend(ROOT / "chapters")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return live.make_wheel(tmp_path_factory.mktemp("wheel"))


def test_every_exercise_runs_with_the_modules_of_a_page(wheel):
    everywhere = [(name, exercise) for name in in_order() for exercise in exercises_of(name)]
    lacks = lacking([exercise for _, exercise in everywhere], wheel)
    assert lacks == [""] * len(everywhere)
    assert len(lacks) >= 29


@pytest.mark.parametrize("name", in_order())
def test_each_solution_passes_its_check_and_the_code_that_readers_start_from_does_not(name):
    assert len(exercises_of(name)) == len(solutions(name)) == len(Chapter.read(name).cells_with("check("))
    for exercise, solution in zip(exercises_of(name), solutions(name), strict=True):
        start = page_kernel.check_answer({"before": exercise.before, "code": exercise.code})
        assert not start["report"]["passed"], exercise.code
        right = page_kernel.check_answer({"before": exercise.before, "code": solution})
        assert right["report"]["passed"], right


@pytest.mark.parametrize("name", in_order())
def test_an_exercise_runs_no_stage_and_no_question_of_earlier_cells(name):
    for exercise in exercises_of(name):
        assert "stage." not in exercise.before and "predict(" not in exercise.before
        whole = "\n".join(cell.source for cell in Chapter.read(name).code)
        assert len(exercise.before) < len(whole) / 3


# ---------- the earlier statements that an exercise needs ----------


def before(*cells: str) -> str:
    (found,) = exercises([*cells, "def f(x):\n    ...\n\n\ncheck(f, **tests)"])
    return found.before


def test_only_lines_that_define_a_name_used_by_the_exercise_are_included():
    assert before("a = 1\nb = 2", "stage.record('x')", "tests = dict(cases=[(a,)])") == (
        "a = 1\ntests = dict(cases=[(a,)])"
    )


def test_a_name_has_its_last_value_before_it_is_used():
    assert before("a = 1", "a = 2", "tests = [a]", "a = 3") == "a = 2\ntests = [a]"
    assert before("a = 1", "a += 1", "tests = [a]") == "a = 1\na += 1\ntests = [a]"
    assert before("a = 1", "if a:\n    a = 2", "tests = [a]") == "a = 1\nif a:\n    a = 2\ntests = [a]"


def test_a_function_uses_the_names_at_the_time_of_its_call():
    assert before("tests = dict(against=lambda x: WANTED[x])", "WANTED = [1]").endswith("\nWANTED = [1]")
    assert before("tests = dict(against=lambda x: [y for y in WANTED])", "WANTED = [1]").endswith("\nWANTED = [1]")
    at_once = "W = [1]\ntests = [a for a in W]"
    assert before(at_once, "W = [2]") == at_once


def test_lines_that_write_into_a_used_object_are_included():
    assert before("tests = {}", "tests['cases'] = [(1,)]", "tests.more = 2", "other = {}\nother[0] = 1") == (
        "tests = {}\ntests['cases'] = [(1,)]\ntests.more = 2"
    )


def test_no_global_is_included_for_a_local_name_of_a_function():
    assert before("x = 1\ni = 2", "def g(x):\n    return [x for i in range(3)]", "tests = [g]") == (
        "def g(x):\n    return [x for i in range(3)]\ntests = [g]"
    )


def test_a_global_object_that_a_function_writes_into_is_included_and_a_local_one_is_not():
    fills = "def fill():\n    x = {}\n    x[0] = 1\n    found[0] = x"
    assert before("x = {}", "found = {}", fills, "tests = [found]") == f"found = {{}}\n{fills}\ntests = [found]"


def test_the_module_that_an_exercise_needs_and_a_page_lacks_is_named(wheel):
    needs = ["import PIL", "import book_kit.magics.stage_magic", "import json"]
    asked = [Exercise("def f(x):\n    ...\n\n\ncheck(f)", each) for each in needs]
    assert lacking(asked, wheel) == ["PIL", "book_kit.magics", ""]


def test_only_the_used_names_of_an_import_are_imported():
    assert before("import numpy as np, os.path\nfrom a import b, c as d, check", "tests = [np, d]") == (
        "import numpy as np\nfrom a import c as d\ntests = [np, d]"
    )


def test_magics_of_the_notebook_are_left_out():
    assert before("%load_ext book_kit\na = 1", "%%stage\na = 2", "tests = [a]") == "a = 1\ntests = [a]"


def test_the_names_that_a_solution_uses_are_defined():
    cells = ["import numpy as np\ntests = []", "def f(x):\n    ...\n\n\ncheck(f, **tests)"]
    (found,) = exercises([*cells, "def g(x):\n    return np.sin(x)\n\n\nrequire(g, **tests)"])
    assert found.before == "import numpy as np\ntests = []"


def test_an_exercise_that_cannot_run_ends_the_build(wheel, capfd):
    with pytest.raises(subprocess.CalledProcessError):
        lacking([Exercise("check(f)", "1 / 0")], wheel)
    assert "ZeroDivisionError" in capfd.readouterr().err
