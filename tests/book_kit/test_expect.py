"""Test `%%expect_error` in IPython's shell, and cells with each helper in a kernel, as the book runs them."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(shell, capsys):
    """Return a function that runs a cell and returns three values: True if it passed, its error, and its output."""

    def run(cell: str):
        result = shell.run_cell(cell, store_history=True)
        return result.success, result.error_in_exec, capsys.readouterr().out

    return run


def test_the_expected_error_is_shown_with_lines_numbered_as_in_the_whole_cell(run):
    run("def ratio(a, b):\n    return a / b\n")
    passed, _, out = run("%%expect_error ZeroDivisionError by zero\n\nx = 5\nratio(x, 0)\ny = 6")
    assert passed
    assert out.splitlines() == [
        "this cell, line 4",
        "      3  x = 5",
        "-->   4  ratio(x, 0)",
        "an earlier cell, line 2, in ratio",
        "      1  def ratio(a, b):",
        "-->   2      return a / b",
        "ZeroDivisionError: division by zero",
    ]


def test_names_from_before_the_error_remain_and_later_lines_do_not_run(run, shell):
    run("%%expect_error ValueError\nbefore = 1\nint('a')\nafter = 2")
    assert shell.user_ns["before"] == 1 and "after" not in shell.user_ns


def test_no_error_fails_the_cell(run):
    passed, error, _ = run("%%expect_error ValueError\nx = 1")
    assert not passed and isinstance(error, AssertionError)
    assert str(error) == "this cell has to raise ValueError, but it raised nothing"


def test_another_error_fails_the_cell_and_both_errors_are_named(run):
    passed, error, _ = run("%%expect_error ValueError\n1 / 0")
    assert not passed and isinstance(error, AssertionError)
    assert str(error) == "this cell has to raise ValueError, but it raised ZeroDivisionError: division by zero"


def test_another_message_fails_the_cell_and_both_messages_are_named(run):
    passed, error, _ = run("%%expect_error ValueError no such thing\nint('a')")
    assert not passed and isinstance(error, AssertionError)
    assert "'no such thing'" in str(error) and "invalid literal" in str(error)


def test_an_expected_assertion_error_must_be_raised_by_the_cell_itself(run):
    assert run("%%expect_error AssertionError told\nassert False, 'told'")[0]
    assert not run("%%expect_error AssertionError\npass")[0]


def test_a_subclass_of_the_expected_error_is_accepted_and_a_superclass_is_not(run):
    assert run("%%expect_error ArithmeticError\n1 / 0")[0]
    assert not run("%%expect_error ZeroDivisionError\nraise ArithmeticError")[0]


def test_the_expected_type_may_be_a_class_of_the_notebook_or_of_an_imported_module(run):
    run("import json\nclass Mine(Exception): pass")
    assert run("%%expect_error Mine\nraise Mine('x')")[0]
    assert run("%%expect_error json.JSONDecodeError line 1\njson.loads('{')")[0]


def test_the_regular_expression_is_used_unchanged(run):
    run("text = 'not this'")
    assert run("%%expect_error ValueError ^a{2}\\s\\$text$\nraise ValueError('aa $text')")[0]


@pytest.mark.parametrize("line", ["", "NoSuchError", "int", "ValueError ("])
def test_invalid_arguments_of_the_magic_fail_before_the_cell_runs(run, shell, line):
    assert not run(f"%%expect_error {line}\nran = True\nraise ValueError('(')")[0]
    assert "ran" not in shell.user_ns


def test_a_syntax_error_can_be_expected(run):
    passed, _, out = run("%%expect_error SyntaxError\nx = 1\ny = = 2")
    assert passed and "-->   3  y = = 2" in out and "SyntaxError: invalid syntax" in out


def test_an_interrupt_is_not_swallowed(run):
    passed, error, _ = run("%%expect_error ValueError\nraise KeyboardInterrupt")
    assert not passed and isinstance(error, KeyboardInterrupt)


def test_no_path_is_shown_even_if_the_message_names_the_cell(run):
    run("import sys")
    out = run("%%expect_error ValueError\nraise ValueError(sys._getframe().f_code.co_filename)")[2]
    assert "ValueError: this cell" in out


def test_only_frames_of_cells_are_shown_and_of_many_frames_only_the_innermost(run):
    out = run("%%expect_error RecursionError\ndef f(): return f()\nf()")[2]
    assert out.count("in f") == 4 and "expect.py" not in out
    run("import json")
    out = run("%%expect_error ValueError\njson.loads('{')")[2]
    assert "json.loads" in out and "decoder.py" not in out


def test_an_expected_error_keeps_no_object_alive(run, shell):
    run("class Thing: pass\ndef lose(thing):\n    raise ValueError\n")
    gc.disable()
    try:
        assert run("%%expect_error ValueError\nlocal = Thing()\nlose(local)")[0]
        thing = weakref.ref(shell.user_ns.pop("local"))
        assert thing() is None
    finally:
        gc.enable()


def test_the_text_of_an_expected_error_does_not_become_markup():
    from book_kit.magics.expect import ExpectedError

    page = ExpectedError("-->  1  a < b", "ValueError: <script>")._repr_mimebundle_()["text/html"]
    assert "a &lt; b" in page and "ValueError: &lt;script&gt;" in page


# ---------- in a kernel that runs one cell after another, as in the build of the book ----------

SETUP = """\
%load_ext book_kit
from book_kit import check, predict, require
def double(x): return 2 * x
tests = dict(cases=[(3,)], against=double)"""

PASSING = [
    "predict('q', {'`6`': 'yes', '`7`': 'no'}, answer=str(double(3)))",
    "def mine(x): ...\ncheck(mine, **tests)",
    "def solution(x): return x + x\nrequire(solution, **tests)",
    "%%expect_error ZeroDivisionError division\n1 / 0",
]
FAILING = [
    "predict('q', {'`5`': 'no', '`7`': 'no'}, answer=str(double(3)))",
    "require(lambda x: x * x, **tests)",
    "%%expect_error ZeroDivisionError\n1 / 1",
    "%%expect_error ZeroDivisionErrr\n1 / 0",
]


def execute(*cells: str):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (SETUP, *cells)])
    resources = {"metadata": {"path": str(ROOT)}}
    return nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()


def test_in_a_kernel_correct_cells_run_and_show_their_output():
    shown = [cell.outputs[0].data["text/plain"] for cell in execute(*PASSING).cells[1:]]
    assert shown[0].startswith("Predict: q")
    assert shown[1].startswith("Not yet. `mine`: it returns nothing yet.")
    assert shown[2] == "Right. `solution` passes its case."
    assert shown[3].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("cell", FAILING)
def test_in_a_kernel_each_wrong_cell_stops_the_notebook(cell):
    with pytest.raises(CellExecutionError):
        execute(cell)
