"""Test that a program in the page cannot reach the network, become markup or forge a stage."""

from __future__ import annotations

import json

import pytest

from tests.support.site.editing import ALIASES, Stage, needs_python

pytestmark = needs_python


REACHES = [
    "import js",
    "import pyodide_js",
    "from pyodide.code import run_js\nrun_js('1 + 1')",
    "from pyodide.http import open_url\nopen_url('https://example.org/')",
    "import urllib.request\nurllib.request.urlopen('https://example.org/')",
    "import socket\nsocket.create_connection(('example.org', 80), timeout=2)",
    "from pyodide.ffi import JsProxy\nimport pyodide\npyodide.code.run_js('postMessage(1)')",
    "import _pyodide_core\n_pyodide_core.run_js('postMessage(1)')",
    "import webbrowser\nif not webbrowser.open('https://example.org/'):\n    raise OSError('none')",
    "import subprocess\nsubprocess.run(['ls'])",
    "import micropip",
]


@pytest.mark.parametrize("program", REACHES, ids=[each.split("\n")[0] for each in REACHES])
def test_a_program_reaches_neither_the_page_nor_another_host(on_page, program):
    visit, stages = on_page(ALIASES)
    stages[0].run("x = mt.ones([2])")  # loads Python
    before = len(visit.finished)
    kept = visit.page.evaluate("JSON.stringify(localStorage)")
    stages[0].run(program)
    assert len(stages[0].errors) == 1, stages[0].status
    assert visit.foreign == [] and len(visit.finished) == before
    assert visit.page.evaluate("JSON.stringify(localStorage)") == kept


MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def test_a_programs_output_names_and_errors_are_shown_as_text(on_page):
    visit, stages = on_page(ALIASES)
    title = visit.page.title()
    text = json.dumps(MARKUP)
    stages[0].run(f"x = mt.ones([2])\nprint({text})\nglobals()[{text}] = x + 1\nraise ValueError({text})")
    assert MARKUP in stages[0].printed and stages[0].errors == [f"ValueError: {MARKUP}"]
    step_through(stages[0])
    assert visit.page.title() == title


def step_through(stage: Stage) -> None:
    """Show every step, and check that no text became an element."""
    for _ in range(len(stage.data["variants"][0]["steps"]) + 1):
        stage.element.evaluate("stage => stage.go(stage.at.step + 1)")
        assert (
            stage.element.evaluate("stage => stage.shadowRoot.querySelectorAll('img, script, iframe, a').length") == 0
        )


FORGED = """


import json, book_kit.in_page.page_kernel as page


trace = {"schema": "stage/1", "title": "t", "ask": None, "device": "cpu", "compare": None, "opens": "v1"}


trace["variants"] = []


page.json = type("J", (), {"dumps": staticmethod(lambda *a, **k: %s), "loads": staticmethod(json.loads)})
"""


ANSWERS = [
    "'{\"trace\": 1}'",
    "'not json'",
    "''",
    "'x' * 9_000_000",
    "json.dumps({'trace': {**trace, 'title': 5}})",
    "json.dumps({'trace': {**trace, 'variants': [{'id': '<img src=x>', 'label': '', 'code': ['a'], 'steps': []}]}})",
    "json.dumps({'trace': {**trace, 'onload': 'alert(1)'}})",
    "json.dumps({'failed': '<img src=x>'})",
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_forged_recording_is_not_shown(site, visit, answer):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.run(FORGED % answer)
    before = stage.data
    stage.run("x = mt.ones([2])")  # the forged `dumps` produces this run's answer
    assert stage.data == before and stage.status not in ("", "Running.")
    assert stage.element.locator("img").count() == 0
    stage.press("Close")
