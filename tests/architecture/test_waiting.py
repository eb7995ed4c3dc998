"""Tests wait for a condition: no assertion reads a page once after an action, and none pauses for a fixed time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import soon, until
from tools.build import ROOT

#: Folders of tests that drive a browser, or several processes.
FOLDERS = ("tests/site", "tests/memory_stage", "tests/book_kit", "tests/minitensor/distributed")
FOLDERS += ("tests/support/site", "tests/support/web", "tests/support/distributed")
KEYS_AND_MOUSE = {"click", "dblclick", "tap", "hover", "press", "type", "insert_text", "wheel", "drag_to", "focus"}
FORMS = {"fill", "clear", "check", "uncheck", "select_option", "set_input_files"}
ACTIONS = KEYS_AND_MOUSE | FORMS | {"dispatch_event", "reload", "go_back", "go_forward"}
WAITS = {"wait_for", "wait_for_function", "wait_for_selector", "wait_for_url", "wait_for_load_state"}
STATES = {"is_visible", "is_hidden", "is_enabled", "is_disabled", "is_checked", "is_editable", "bounding_box"}
TEXTS = {"inner_text", "text_content", "all_inner_texts", "all_text_contents", "inner_html", "input_value"}
READS = STATES | TEXTS | {"get_attribute", "count", "evaluate", "evaluate_all", "eval_on_selector", "url"}
PAUSE = re.compile(r"(time\.)?sleep|.*\bwait_for_timeout")
#: Files that may pause, and why.
PAUSING = {
    "tests/support/waiting.py": "the loop that waits",
    "tests/support/distributed/programs.py": "a barrier of MPI that sleeps between two looks",
    "tests/site/test_live_without_a_policy.py": "gives time to a request that must not come",
}


def names_in(node: ast.AST) -> set[str]:
    """Return the names of attributes and of called functions in a piece of a program, lambdas left out."""
    found: set[str] = set()
    left = [node]
    while left:
        at = left.pop()
        if isinstance(at, ast.Lambda):
            continue
        if isinstance(at, ast.Attribute):
            found.add(at.attr)
        elif isinstance(at, ast.Call) and isinstance(at.func, ast.Name):
            found.add(at.func.id)
            if at.func.id in ("soon", "until", "expect"):
                continue  # what it is given is read again
        left += ast.iter_child_nodes(at)
    return found


def statements(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, set[str]]]:
    """Yield statements in the order of a file, with the names in them; of a compound one, those in its head."""
    for statement in body:
        inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        if not any(inner) or isinstance(statement, ast.FunctionDef):
            yield statement, names_in(statement)
            continue
        heads = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
        yield statement, set().union(*map(names_in, heads))
        for part in inner:
            yield from statements(part)


def early_reads(text: str) -> list[int]:
    """Return the lines of assertions that read a page once, after an action and with no wait between."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    readers = {
        function.name
        for function in functions
        if not function.name.startswith("test_")
        and any(isinstance(node, ast.Return) and node.value and names_in(node.value) & READS for node in function.body)
    }
    found = []
    for function in functions:
        is_moving = False
        for statement, names in statements(function.body):
            if isinstance(statement, ast.Assert):
                if is_moving and names & (READS | readers) - ACTIONS:
                    found.append(statement.lineno)
            elif names & (WAITS | {"expect", "soon", "until"}):
                is_moving = False
            is_moving = is_moving or bool(names & ACTIONS)
    return found


def pauses(text: str) -> list[int]:
    """Return the lines that pause for a fixed time."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if PAUSE.fullmatch(ast.unparse(call.func))]


def files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_no_assertion_reads_a_page_that_may_still_move():
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in files() for line in early_reads(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "wait for the condition: assert soon(...), or expect(...)"


def test_no_test_pauses_for_a_fixed_time():
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        if path.relative_to(ROOT).as_posix() not in PAUSING
        for line in pauses(path.read_text(encoding="utf-8"))
    }
    assert found == set(), "wait for the condition: until(...)"


PLANTED = {
    "def test_it(page):\n    page.locator('b').click()\n    assert page.locator('i').is_visible()": [3],
    "def test_it(page):\n    page.keyboard.press('x')\n    for n in range(2):\n        assert page.url == n": [4],
    "def look(page):\n    return page.evaluate('1')\ndef test_it(page):\n    page.reload()\n    assert look(page)": [5],
    "def test_it(page):\n    page.locator('b').click()\n    assert soon(page.locator('i').is_visible)": [],
    "def test_it(page):\n    page.click('b')\n    page.wait_for_url('x')\n    assert page.url == 'x'": [],
    "def test_it(page):\n    assert page.evaluate('1') == 1\n    page.click('b')": [],
}


@pytest.mark.parametrize("text", PLANTED)
def test_an_early_read_that_is_planted_is_found(text):
    assert early_reads(text) == PLANTED[text]


def test_a_pause_that_is_planted_is_found():
    assert pauses("import time\ntime.sleep(1)\npage.wait_for_timeout(300)\nprint('time.sleep(1)')") == [2, 3]


# ---- the helper ------------------------------------------------------------------------------------------------------


def test_a_value_is_read_until_it_is_as_expected():
    values = iter([1, 2, 3, 4])
    assert soon(values.__next__) == 3
    assert soon(lambda: next(values) > 3)
    seen: list[int] = []
    assert 2 in soon(lambda: seen.append(len(seen)) or seen)


def test_an_error_while_reading_is_raised_if_it_stays(monkeypatch):
    values = iter([[], [5]])
    assert soon(lambda: next(values)[0]) == 5  # an IndexError at first
    monkeypatch.setattr("tests.support.waiting.PATIENCE", 0.0)
    monkeypatch.setattr(until, "__defaults__", (0.0,))
    with pytest.raises(ZeroDivisionError):
        bool(soon(lambda: 1 / 0))
    late = soon(lambda: 1)
    assert (late == 2) is False
    assert repr(late) == "soon(1)"
