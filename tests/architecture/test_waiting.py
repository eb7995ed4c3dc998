"""Test that tests wait for conditions: they do not read a page only once after an action, or pause for a fixed time.

A page changes some time after an action. An assertion that reads the page only once may therefore read the old state.
"""

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
WINDOW = {"set_viewport_size", "emulate_media", "reload", "go_back", "go_forward"}
MOVES = "moves"  # represents a script that scrolls or opens another address: its events occur later
ACTIONS = KEYS_AND_MOUSE | FORMS | WINDOW | {"dispatch_event", MOVES}
AWAITS = "awaits"  # represents a script that ends when its condition holds
WAITS = {"wait_for", "wait_for_function", "wait_for_selector", "wait_for_url", "wait_for_load_state"}
WAITS |= {"expect", "soon", "until", "drawn", "resize", "wait_for_script", AWAITS}
STATES = {"is_visible", "is_hidden", "is_enabled", "is_disabled", "is_checked", "is_editable", "bounding_box"}
TEXTS = {"inner_text", "text_content", "all_inner_texts", "all_text_contents", "inner_html", "input_value"}
READS = STATES | TEXTS | {"get_attribute", "count", "evaluate", "evaluate_all", "eval_on_selector", "url"}
MOVING_SCRIPT = re.compile(r"\b(scroll(To|By|IntoView\w*)?\(|scroll(Top|Left) [-+]?=|location(\.\w+)? = |history\.)")
AWAITING_SCRIPT = re.compile(r"\bnew Promise\b|\bawait\b")
PAUSE = re.compile(r"(time\.)?sleep|.*\bwait_for_timeout")
#: Files that may pause, and why.
PAUSING = {
    "tests/support/waiting.py": "the loop that waits",
    "tests/support/distributed/programs.py": "a barrier of MPI that sleeps between two checks",
    "tests/site/test_live_without_a_policy.py": "waits for a request that must not be sent",
}


class Reader:
    """Finds the assertions of one file that read a page while it may still change."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.scripts = {
            target.id: ast.unparse(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.actions, self.waits, self.reads = set(ACTIONS), set(WAITS), set(READS)
        helpers = [each for each in self.functions if not each.name.startswith(("test_", "__")) and not fixture(each)]
        for _ in range(2):  # a helper may call another one
            for helper in helpers:
                self.note(helper)

    def note(self, helper: ast.FunctionDef) -> None:
        """Classify a helper: it is an action if the page may still change at its end, otherwise a wait if it waits.

        A helper that is no wait is also a read if it returns a value that it has read.
        """
        self.actions.discard(helper.name)  # the first pass did not know yet which helpers wait
        _, is_moving, has_waited = self.run(helper)
        if is_moving:
            self.actions.add(helper.name)
        elif has_waited:
            self.waits.add(helper.name)
        returned = [node.value for node in helper.body if isinstance(node, ast.Return) and node.value]
        if any(self.names_in(value) & self.reads for value in returned) and helper.name not in self.waits:
            self.reads.add(helper.name)

    def names_in(self, node: ast.AST) -> set[str]:
        """Return the names of attributes and called functions in a syntax tree, and the kinds of its scripts.

        Lambdas and the arguments of `soon`, `until` and `expect` are left out.
        """
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
                    continue  # these functions read their arguments again and again
            if isinstance(at, ast.Call) and ast.unparse(at.func).endswith(".evaluate") and at.args:
                found |= self.kinds(at.args[0])
            left += ast.iter_child_nodes(at)
        return found - {"evaluate"} if AWAITS in found else found

    def kinds(self, script: ast.expr) -> set[str]:
        """Return {AWAITS} for a script that waits, {MOVES} for one that moves the page, or an empty set."""
        text = ast.unparse(script)
        text += "".join(self.scripts.get(node.id, "") for node in ast.walk(script) if isinstance(node, ast.Name))
        if AWAITING_SCRIPT.search(text):
            return {AWAITS}
        return {MOVES} if MOVING_SCRIPT.search(text) else set()

    def statements(self, body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, set[str]]]:
        """Yield the statements in order, each with its names. A compound statement has only the names of its head."""
        for statement in body:
            inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
            if not any(inner) or isinstance(statement, ast.FunctionDef):
                yield statement, self.names_in(statement)
                continue
            heads = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
            yield statement, set().union(*map(self.names_in, heads))
            for part in inner:
                yield from self.statements(part)

    def run(self, function: ast.FunctionDef) -> tuple[list[int], bool, bool]:
        """Return the lines of early reads, if the page may still change at the end, and if the function has waited."""
        found: list[int] = []
        is_moving = has_waited = False
        early: set[str] = set()  # variables with values that were read while the page may have moved
        for statement, names in self.statements(function.body):
            acts, reads = names & self.actions, names & (self.reads - self.actions)
            if isinstance(statement, ast.Assert):
                used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
                if (is_moving and reads) or used & early:
                    found.append(statement.lineno)
            elif names & self.waits:
                is_moving, has_waited = False, True
            elif isinstance(statement, ast.Assign | ast.For):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                named = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
                early = early | named if is_moving and reads else early - named
            is_moving = is_moving or bool(acts)
        return found, is_moving, has_waited


def fixture(function: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)


def early_reads(text: str) -> list[int]:
    """Return the lines of assertions about a page that was read once after an action, without a wait in between."""
    reader = Reader(text)
    return [line for function in reader.functions for line in reader.run(function)[0]]


def boxes(text: str) -> list[int]:
    """Return the lines that read a bounding box only once. Playwright returns None while the element is replaced."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    return [call.lineno for call in calls if call.attr == "bounding_box"]


def pauses(text: str) -> list[int]:
    """Return the lines that pause for a fixed time."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if PAUSE.fullmatch(ast.unparse(call.func))]


def files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_no_assertion_reads_a_page_that_may_still_change():
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in files() for line in early_reads(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "wait for the condition: assert soon(...), or expect(...)"


def test_no_test_reads_a_box_only_once():
    found = [f"{path.relative_to(ROOT)}:{line}" for path in files() for line in boxes(path.read_text(encoding="utf-8"))]
    assert found == [], "wait for the box: box_of(...)"


def test_no_test_pauses_for_a_fixed_time():
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        if path.relative_to(ROOT).as_posix() not in PAUSING
        for line in pauses(path.read_text(encoding="utf-8"))
    }
    assert found == set(), "wait for the condition: until(...)"


def test_no_test_of_the_site_lets_the_page_evaluate_a_condition():
    """Playwright's `wait_for_function` evaluates a text in the page, which the policy of the served pages forbids.

    The first evaluation is allowed, so such a call fails only if its condition does not hold at once.
    """
    found = [
        path.relative_to(ROOT).as_posix()
        for path in files()
        if path.is_relative_to(ROOT / "tests/site") or path.is_relative_to(ROOT / "tests/support/site")
        if "wait_for_function" in path.read_text(encoding="utf-8")
    ]
    assert found == [], "read the condition again: wait_for_script(page, ...)"


PLANTED = {
    "def test_it(page):\n    page.locator('b').click()\n    assert page.locator('i').is_visible()": [3],
    "def test_it(page):\n    page.keyboard.press('x')\n    for n in range(2):\n        assert page.url == n": [4],
    "def look(page):\n    return page.evaluate('1')\ndef test_it(page):\n    page.reload()\n    assert look(page)": [5],
    "def test_it(page):\n    page.locator('b').click()\n    assert soon(page.locator('i').is_visible)": [],
    "def test_it(page):\n    page.click('b')\n    page.wait_for_url('x')\n    assert page.url == 'x'": [],
    "def test_it(page):\n    assert page.evaluate('1') == 1\n    page.click('b')": [],
    "def test_it(page):\n    page.click('b')\n    n = page.count()\n    assert n == 1": [4],
    "def test_it(page):\n    n = page.count()\n    page.click('b')\n    assert n == 1": [],
    "def test_it(page):\n    page.evaluate('scrollTo(0, 9)')\n    assert page.locator('i').count() == 1": [3],
    "GO = 'y => scrollTo(0, y)'\ndef test_it(page):\n    page.evaluate(GO, 9)\n    assert page.count() == 1": [4],
    "def go(page):\n    page.click('b')\ndef test_it(page):\n    go(page)\n    assert page.count() == 1": [5],
    "def test_it(page):\n    page.emulate_media(media='print')\n    assert page.count() == 1": [3],
    "def test_it(page):\n    page.emulate_media(media='print')\n    drawn(page)\n    assert page.count() == 1": [],
    "def test_it(page):\n    page.click('b')\n    page.evaluate('new Promise(f)')\n    assert page.count() == 1": [],
}


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_early_read_is_found(text):
    assert early_reads(text) == PLANTED[text]


def test_a_box_that_is_read_only_once_is_found():
    assert boxes("box = page.locator('i').bounding_box()\nprint('bounding_box()')") == [1]


def test_a_planted_pause_is_found():
    assert pauses("import time\ntime.sleep(1)\npage.wait_for_timeout(300)\nprint('time.sleep(1)')") == [2, 3]


# ---- the helper `soon` -----------------------------------------------------------------------------------------------


def test_the_helper_soon_reads_a_value_until_it_is_as_expected():
    values = iter([1, 2, 3, 4])
    assert soon(values.__next__) == 3
    assert soon(lambda: next(values) > 3)
    seen: list[int] = []
    assert 2 in soon(lambda: seen.append(len(seen)) or seen)


def test_the_helper_soon_raises_an_error_of_the_read_if_the_error_persists(monkeypatch):
    values = iter([[], [5]])
    assert soon(lambda: next(values)[0]) == 5  # an IndexError at first
    monkeypatch.setattr("tests.support.waiting.PATIENCE", 0.0)
    monkeypatch.setattr(until, "__defaults__", (0.0,))
    with pytest.raises(ZeroDivisionError):
        bool(soon(lambda: 1 / 0))
    late = soon(lambda: 1)
    assert (late == 2) is False
    assert repr(late) == "soon(1)"
