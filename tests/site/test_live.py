"""Programs of the pages, edited and run in the reader's browser: `make test LIVE=1`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.site.conftest import visits
from tests.site.visit import Visit
from tools import live

pytestmark = pytest.mark.skipif(not live.wanted(), reason="needs what a page's Python is made of: make test LIVE=1")

THREE = "chapters/02_three_kinds_of_operation"
ALIASES = "chapters/04_aliases"
CONFUSIONS = "chapters/fifteen_confusions"
POLICIES = "chapters/09_automatic_detection"
PYTHON = "pyodide"  # part of the names of the files that a click loads


@dataclass
class Stage:
    """A stage of a page, as its reader uses it."""

    page: Page
    element: Locator

    def edit(self, text: str | None = None) -> None:
        self.element.locator(".live-edit").click()
        self.editor.wait_for()
        if text is not None:
            self.write(text)

    def write(self, text: str) -> None:
        self.editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def choose(self, what: str, which: str) -> None:
        self.element.get_by_role("combobox", name=what, exact=True).select_option(which)

    def press(self, name: str) -> None:
        self.element.get_by_role("button", name=name, exact=True).click()

    def run(self, text: str | None = None) -> None:
        """Run, and wait for what comes of it: a stage that can be stepped again, or a reason in words."""
        self.element.evaluate("stage => stage.removeAttribute('edited')")
        if text is not None:
            self.edit(text)
        self.press("Run")
        self.page.wait_for_function(
            "stage => stage.hasAttribute('edited') || !stage.querySelector('.live-actions button').disabled",
            arg=self.element.element_handle(),
        )

    @property
    def editor(self) -> Locator:
        return self.element.locator(".cm-content")

    @property
    def told(self) -> str:
        return self.element.locator(".live-told").text_content() or ""

    @property
    def data(self) -> dict:
        return self.element.evaluate("stage => stage.data")

    @property
    def said(self) -> list[list[str]]:
        return [[step["say"] for step in variant["steps"]] for variant in self.data["variants"]]

    @property
    def errors(self) -> list[str]:
        events = [e for variant in self.data["variants"] for step in variant["steps"] for e in step["events"]]
        return [event["text"] for event in events if event["do"] == "raise"]

    @property
    def printed(self) -> str:
        return "".join(step.get("out", "") for variant in self.data["variants"] for step in variant["steps"])


@pytest.fixture(scope="module")
def on_page(browser: Browser, site: str) -> Iterator[Callable[..., tuple[Visit, list[Stage]]]]:
    """A page of the book and its stages; each page is opened once, so that its Python is loaded once."""
    kept: dict[str, Visit] = {}
    with visits(browser, {True: [], False: []}) as open_address:

        def opened(name: str) -> tuple[Visit, list[Stage]]:
            if name not in kept:
                kept[name] = open_address(f"{site}{name}.html", width=1440)
            visit = kept[name]
            return visit, [Stage(visit.page, each) for each in visit.page.locator("memory-stage").all()]

        yield opened
        for visit in kept.values():
            assert visit.foreign == visit.complaints == visit.refused == []


def asked_for_python(visit: Visit) -> list[str]:
    return [request.url for request in visit.finished if PYTHON in request.url]


def test_before_a_click_nothing_of_python_is_asked_for(site, visit):
    seen = visit(f"{site}{THREE}.html")
    seen.read_through()
    assert asked_for_python(seen) == [] and seen.foreign == []
    names = {
        request.url.rsplit("/", 1)[-1].partition("?")[0] for request in seen.finished if "/_static/live" in request.url
    }
    assert names <= {"live.js", "live.css"}


@pytest.mark.parametrize("name", [THREE, ALIASES, CONFUSIONS])
def test_what_the_book_recorded_is_what_the_page_records(on_page, name):
    _, stages = on_page(name)
    for stage in stages[:6]:
        book = stage.said
        stage.edit()
        stage.run()
        assert stage.said == book, stage.data["title"]
        assert stage.element.get_attribute("editing") is None


@pytest.mark.parametrize("name", [THREE, ALIASES, CONFUSIONS])
def test_an_edited_program_is_shown_and_reset_brings_the_books_back(on_page, name):
    _, stages = on_page(name)
    stage = stages[0]
    stage.edit()
    stage.press("Reset")
    book = stage.data
    stage.run("a = mt.ones([5])\na.add_(1.0)\nprint(a)")
    assert shown(stage)["code"] == ["a = mt.ones([5])", "a.add_(1.0)", "print(a)"]
    assert "Tensor(shape=[5]" in stage.printed
    stage.edit()
    stage.press("Reset")
    assert stage.data == book
    stage.press("Close")


def shown(stage: Stage) -> dict:
    """The variant that the stage opens with."""
    return next(each for each in stage.data["variants"] if each["id"] == stage.data["opens"])


def test_an_error_stands_at_its_line(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    stage.run("x = mt.ones([2])\nx.add_(mt.ones([3]))")
    assert len(stage.errors) == 1 and "add_" in stage.errors[0]
    stage.run("x = mt.ones([2])\ny = (x")
    assert stage.errors[0].startswith("SyntaxError")
    assert any("no line has run" in said for variant in stage.said for said in variant)
    stage.run("\0")
    assert len(stage.errors) == 1
    stage.run("")
    assert stage.errors == [] or stage.errors[0]


def test_a_loop_is_ended_by_the_button_and_the_page_goes_on(on_page):
    visit, stages = on_page(ALIASES)
    stage = stages[0]
    stage.edit("while True:\n    pass")
    stage.press("Run")
    stage.element.get_by_role("button", name="Stop", exact=True).wait_for()
    visit.page.wait_for_timeout(300)
    assert visit.page.evaluate("1 + 1") == 2
    stage.press("Stop")
    assert stage.told == "Stopped."
    stage.press("Close")
    stage.run("x = mt.ones([2])")
    assert stage.errors == []


def test_a_loop_is_ended_after_a_limit(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("while True:\n    pass")
    assert "it ran for 20 seconds" in stages[0].told
    stages[0].press("Close")


@pytest.mark.parametrize(
    "program, told",
    [
        ("import os\nos._exit(3)", "exit(3)"),
        ("class A:\n    def __add__(self, other):\n        return self + other\nA() + 1", "too deep"),
    ],
)
def test_a_program_that_ends_python_is_told_of_and_the_next_one_runs(site, visit, program, told):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.run(program)
    assert stage.told.startswith("The program has ended Python: ") and told in stage.told
    stage.run("x = mt.ones([2])")
    assert stage.errors == [] and seen.foreign == []


SAID = {
    "def f(n):\n    return f(n + 1)\nf(0)": "RecursionError: maximum recursion depth exceeded",
    "x = mt.zeros([100_000, 100_000, 100])": "more than can be addressed",
    "name = input('who? ')": "input asks a reader, who cannot answer here: write the value into the program",
    "import asyncio\nasyncio.run(asyncio.sleep(1))": "RuntimeError: asyncio.run cannot wait here",
    "import threading\nthreading.Thread(target=print).start()": "RuntimeError: can't start new thread",
    "await f()": "SyntaxError: 'await' outside function",
    "import torchvision": "ModuleNotFoundError: No module named 'torchvision'",
}


@pytest.mark.parametrize("program", SAID)
def test_what_a_page_cannot_do_is_an_error_in_words(on_page, program):
    _, stages = on_page(ALIASES)
    stages[0].run(program)
    assert [SAID[program] in error for error in stages[0].errors] == [True], stages[0].told


def test_long_and_unusual_programs_run(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("\n".join(f"x{i} = mt.ones([2])" for i in range(300)))
    assert stages[0].errors == [] and len(stages[0].data["variants"][0]["steps"]) == 300
    stages[0].run("for i in range(100_000):\n    print(i)")
    assert stages[0].errors == [] and stages[0].printed.startswith("0\n1\n")
    stages[0].run("gr\u00f6\u00dfe = mt.ones([2])\n\u5f20\u91cf = gr\u00f6\u00dfe.add_(1.0)\nprint(\u5f20\u91cf)")
    assert stages[0].errors == [] and "2., 2." in stages[0].printed


def test_integers_are_of_64_bits_but_for_those_that_numpy_makes(on_page):
    """As the playground tells. The second half is numpy's own choice where addresses have 32 bits."""
    _, stages = on_page(ALIASES)
    ours = "mt.to_tensor([1]), mt.arange(3), mt.ones([2]).argmax(), mt.randint(0, 5, [2]), mt.ones([2]).argsort()"
    ours += ", torch.tensor([1]), torch.arange(2), torch.randint(5, (2,)), torch.ones(2).nonzero(), torch.full((1,), 2)"
    stages[0].run(f"print({{str(each.dtype).split('.')[-1] for each in ({ours})}})\nprint(np.array([1]).dtype)")
    assert stages[0].errors == [] and stages[0].printed == "{'int64'}\nint32\n"


def test_memory_is_bounded_and_the_program_is_told(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    stage.run("x = mt.ones([2])\nkept = [bytearray(2**28) for _ in range(5)]")
    assert stage.errors and "MemoryError" in stage.errors[0]
    stage.run("x = mt.ones([2])")
    assert stage.errors == []


def test_policy_and_device_can_be_chosen(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    program = "x = mt.to_tensor([1.0], stop_gradient=False)\nh = x * 1.0\nh.sin_()"
    stage.edit(program)
    stage.choose("Device", "CPU")
    stage.run()
    assert stage.errors == [] and stage.data["device"] == "cpu"
    stage.edit()
    stage.choose("Policy", "2.5: refuse")
    stage.choose("Device", "GPU, simulated, as PyTorch")
    stage.press("Run")
    stage.page.wait_for_function("stage => !stage.hasAttribute('editing')", arg=stage.element.element_handle())
    assert len(stage.errors) == 1 and stage.data["device"].endswith(":sim")
    assert any("reserved" in step for step in stage.data["variants"][0]["steps"])
    stage.edit()
    stage.press("Reset")
    stage.press("Close")


def test_each_variant_of_a_comparison_can_be_edited(on_page):
    _, stages = on_page(THREE)
    stage = next(each for each in stages if len(each.data["variants"]) > 1)
    stage.edit()
    labels = [variant["label"] for variant in stage.data["variants"]]
    for number, label in enumerate(labels):
        stage.choose("Variant", label)
        stage.write(f"x = mt.ones([{number + 2}])")
    stage.run()
    assert [variant["code"] for variant in stage.data["variants"]] == [
        [f"x = mt.ones([{number + 2}])"] for number in range(len(labels))
    ]
    assert [variant["label"] for variant in stage.data["variants"]] == labels
    stage.edit()
    stage.press("Reset")
    stage.press("Close")


def test_a_link_carries_a_program_and_runs_nothing(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit("x = mt.ones([7])\n# \u4f60\u597d <b>")
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    seen.page.wait_for_function("location.hash.includes('/edit/')")
    address = seen.page.url
    other = visit(address, width=1440)
    found = Stage(other.page, other.page.locator("memory-stage").first)
    found.editor.wait_for()
    assert "".join(found.editor.locator(".cm-line").all_text_contents()) == "x = mt.ones([7])# \u4f60\u597d <b>"
    assert found.told == "This program came with the link. It has not run."
    assert asked_for_python(other) == []
    found.run()
    assert found.data["variants"][0]["code"][0] == "x = mt.ones([7])"
    assert other.foreign == [] and other.refused == []


@pytest.mark.parametrize("tail", ["%00", "AAAA", "eJw", "a/b/c", "x" * 200_000])
def test_a_link_that_cannot_be_read_says_so_and_does_nothing(site, visit, tail):
    seen = visit(f"{site}{ALIASES}.html")
    name = seen.page.locator("memory-stage").first.get_attribute("id")
    seen.page.evaluate("hash => { location.hash = hash }", f"{name}/edit/{tail}")
    seen.page.locator("p.live-why").wait_for()
    assert "cannot be read: a part of the link is missing" in seen.page.locator("p.live-why").text_content()
    assert seen.page.locator(".cm-content").count() == 0 and seen.complaints == []
    seen.page.evaluate("hash => { location.hash = hash }", f"{name}/edit/")
    seen.page.locator("p.live-why").wait_for(state="detached")


def test_a_link_to_a_stage_that_is_not_there_leads_to_the_playground(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    program = "x = mt.ones([7])\nx.add_(1.0)"
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit(program)
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    seen.page.wait_for_function("() => location.hash.includes('/edit/')")
    fragment = seen.page.url.partition("#")[2]
    for name in (f"{CONFUSIONS}.html#{fragment}", f"{ALIASES}.html#gone/edit/{fragment.rpartition('/')[2]}"):
        other = visit(site + name, width=1440)
        note = other.page.locator("p.live-why")
        note.wait_for()
        assert note.text_content().startswith("The stage that this link is for is not on this page.")
        assert other.page.locator(".cm-content").count() == 0 and other.complaints == []
    note.get_by_role("link", name="the playground").click()
    text = other.page.locator("play-ground .cm-content")
    text.wait_for()
    assert "\n".join(text.locator(".cm-line").all_text_contents()) == program
    assert asked_for_python(other) == [] and other.foreign == []


def test_a_link_holds_a_long_program_and_one_that_is_too_long_is_told(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    long = "x = mt.ones([2])\n" + "\n".join(
        f"# {number * 7919 % 99991:05} and {number * 104729:09}" for number in range(2_000)
    )
    assert len(long) > 40_000
    stage.edit(long)
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    seen.page.wait_for_function("() => location.hash.includes('/edit/')")
    other = visit(seen.page.url, width=1440)
    found = Stage(other.page, other.page.locator("memory-stage").first)
    found.editor.wait_for()
    found.press("Close")
    assert found.element.evaluate("stage => stage.editing.programs[0].code") == long
    stage.write("# " + "long " * 30_000)
    stage.press("Copy link to this")
    seen.page.wait_for_function("() => document.querySelector('.live-told').textContent.startsWith('This is too long')")


def test_under_a_finger_targets_are_large_letters_do_not_zoom_and_long_lines_scroll(browser, site):
    with browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as context:
        page = context.new_page()
        page.goto(f"{site}{ALIASES}.html")
        stage = Stage(page, page.locator("memory-stage").first)
        stage.edit("x = mt.ones([2])  # " + "and so on " * 30)
        sizes = "els => els.map(el => [parseFloat(getComputedStyle(el).fontSize), el.getBoundingClientRect().height])"
        for fonts, height in stage.element.locator(".live-program :is(button, select):visible").evaluate_all(sizes):
            assert height >= 44 and fonts > 0
        ((font, _),) = stage.element.locator(".cm-scroller").evaluate_all(sizes)
        assert font >= 16
        assert stage.element.locator(".cm-scroller").evaluate("one => one.scrollWidth > one.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_by_keyboard_alone(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.element.locator(".live-edit").focus()
    seen.page.keyboard.press("Enter")
    stage.editor.wait_for()
    seen.page.keyboard.press("ControlOrMeta+a")
    seen.page.keyboard.insert_text("x = mt.ones([2])\nx.add_(1.0)")
    seen.page.keyboard.press("ArrowLeft")
    assert stage.element.evaluate("stage => stage.at.rest"), "keys of the editor step the stage"
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.textContent") == "Run"
    seen.page.keyboard.press("Shift+Tab")
    seen.page.keyboard.press("Shift+Enter")
    seen.page.wait_for_function("stage => stage.hasAttribute('edited')", arg=stage.element.element_handle())
    assert seen.page.evaluate("document.activeElement.shadowRoot.activeElement.className") == "next"
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("ArrowRight")
    assert stage.element.evaluate("stage => stage.at.step") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_editor_is_accessible_and_fits_a_phone(site, visit, scheme):
    seen = visit(f"{site}{THREE}.html", width=360, scheme=scheme)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit()
    assert seen.overflow() == 0
    assert seen.violations() == []


# ---- what a program must not do --------------------------------------------------------------------------------------

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
    before = len(visit.finished)
    kept = visit.page.evaluate("JSON.stringify(localStorage)")
    stages[0].run(program)
    assert len(stages[0].errors) == 1, stages[0].told
    assert visit.foreign == [] and len(visit.finished) == before
    assert visit.page.evaluate("JSON.stringify(localStorage)") == kept


MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def test_what_a_program_prints_names_and_raises_is_text(on_page):
    visit, stages = on_page(ALIASES)
    title = visit.page.title()
    text = json.dumps(MARKUP)
    stages[0].run(f"x = mt.ones([2])\nprint({text})\nglobals()[{text}] = x + 1\nraise ValueError({text})")
    assert MARKUP in stages[0].printed and stages[0].errors == [f"ValueError: {MARKUP}"]
    step_through(stages[0])
    assert visit.page.title() == title


def step_through(stage: Stage) -> None:
    """Show every step, and see that no text became an element."""
    for _ in range(len(stage.data["variants"][0]["steps"]) + 1):
        stage.element.evaluate("stage => stage.go(stage.at.step + 1)")
        assert (
            stage.element.evaluate("stage => stage.shadowRoot.querySelectorAll('img, script, iframe, a').length") == 0
        )


FORGED = """
import json, minitensor.notebook.in_page as page
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
    stage.run("x = mt.ones([2])")  # what answers is the program's now
    assert stage.data == before and stage.told not in ("", "Running.")
    assert stage.element.locator("img").count() == 0
    stage.press("Close")
