"""What a reader writes in a page where Python stands: answers to exercises, and the playground. `make test LIVE=1`."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.chapters.chapter import Chapter
from tests.conftest import PATIENCE
from tools import live

expect.set_options(timeout=PATIENCE)

needs_python = pytest.mark.skipif(not live.wanted(), reason="needs what a page's Python is made of: make test LIVE=1")
LEAVES, BYTES, ENGINE = "08_leaves", "05_counting_bytes", "16_an_engine_in_an_afternoon"
PLAYGROUND = "chapters/playground.html"
MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"
EMPTY = "There is no program yet: write one, or choose one to begin with."


def boxes(site, visit, name, **how) -> tuple:
    seen = visit(f"{site}chapters/{name}.html", **how)
    return seen, seen.page.locator("exercise-box")


def answer(box: Locator, text: str) -> Locator:
    """Write, check, and wait for the report."""
    box.get_by_role("textbox").fill(text)
    box.get_by_role("button", name="Check").click()
    return reported(box)


def reported(box: Locator) -> Locator:
    expect(box.get_by_role("button", name="Check")).to_be_enabled()
    expect(box.locator(".mt-check")).to_be_visible()
    return box.locator(".mt-check")


def solutions(name: str) -> list[str]:
    return [cell.source.replace("require(", "check(") for cell in Chapter.read(name).cells_with("require(")]


def undisturbed(seen) -> bool:
    return seen.foreign == seen.complaints == seen.refused == seen.failed == []


# ---------- exercises ----------


@needs_python
@pytest.mark.parametrize("name", [LEAVES, BYTES, ENGINE])
def test_the_start_of_an_exercise_fails_in_the_page_and_its_solution_passes(name, site, visit):
    seen, found = boxes(site, visit, name)
    assert not [request.url for request in seen.finished if "/_static/live/" in request.url]
    for box, solution in zip(found.all(), solutions(name), strict=True):
        start = box.get_by_role("textbox").input_value()
        first = answer(box, start)
        expect(first).to_contain_text("Not yet.")
        assert "mt-right" not in first.get_attribute("class")
        right = answer(box, solution)
        expect(right).to_contain_text("Right.")
        assert "mt-right" in right.get_attribute("class")
        assert box.locator(".live-told").text_content() == ""
    assert undisturbed(seen)


@needs_python
def test_an_exercise_is_written_and_passed_by_keyboard_alone(site, visit):
    seen, found = boxes(site, visit, LEAVES, width=360)
    box = found.first
    box.get_by_role("textbox").focus()
    seen.page.keyboard.press("ControlOrMeta+a")
    seen.page.keyboard.insert_text(solutions(LEAVES)[0])
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.textContent") == "Check"
    seen.page.keyboard.press("Enter")
    expect(reported(box)).to_contain_text("Right.")
    assert seen.overflow() <= 0
    assert seen.violations() == []
    seen.page.emulate_media(color_scheme="dark")
    assert seen.violations(all_else=False) == []
    assert undisturbed(seen)


@needs_python
def test_errors_and_what_is_printed_are_texts(site, visit):
    seen, found = boxes(site, visit, LEAVES)
    box = found.first
    report = answer(box, f"print('{MARKUP}')\nraise ValueError('{MARKUP}')")
    values = report.locator("dd").all_text_contents()
    assert values == [f"ValueError: {MARKUP} (line 2)", f"{MARKUP}\n"]
    assert report.locator("img, b").count() == 0
    expect(answer(box, "def descend(")).to_contain_text("SyntaxError")
    expect(answer(box, "x = 1")).to_contain_text("Nothing was checked")
    box.get_by_role("textbox").fill("while True:\n    pass")
    box.get_by_role("button", name="Check").click()
    expect(box.locator(".live-told")).to_have_text("Running.")
    box.get_by_role("button", name="Stop").click()
    expect(box.locator(".live-told")).to_have_text("Stopped.")
    expect(answer(box, solutions(LEAVES)[0])).to_contain_text("Right.")
    assert undisturbed(seen)


@needs_python
@pytest.mark.parametrize("name, lacks", [("13_data_in_place", "PIL")])
def test_an_exercise_that_a_page_cannot_check_says_why(name, lacks, site, visit):
    _, found = boxes(site, visit, name)
    for box in found.all():
        expect(box).to_contain_text(f"The tests of this exercise need {lacks}, which Python in a page lacks.")
        assert box.get_by_role("button").all_text_contents() == ["Copy", "Start again"]


# ---------- the playground ----------


class Playground:
    """The playground as its reader uses it."""

    def __init__(self, seen) -> None:
        self.seen, self.page, self.place = seen, seen.page, seen.page.locator("play-ground")
        self.text, self.told = self.place.locator(".cm-content"), self.place.locator(".live-told")

    def open(self) -> Playground:
        self.button("Write a program").click()
        self.text.wait_for()
        return self

    def button(self, name: str) -> Locator:
        return self.place.get_by_role("button", name=name, exact=True)

    def write(self, text: str) -> None:
        self.text.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def press(self, name: str) -> None:
        """Press, and wait for what comes of it."""
        self.button(name).click()
        expect(self.button("Run")).to_be_enabled()

    def run(self, text: str) -> dict:
        self.write(text)
        self.press("Run")
        return self.shown

    @property
    def shown(self) -> dict:
        """The recording on its stage."""
        return self.place.locator("memory-stage").evaluate("stage => stage.data")

    @property
    def program(self) -> str:
        return "\n".join(self.text.locator(".cm-line").all_text_contents()).rstrip("\n")

    @property
    def kept(self) -> str | None:
        return self.page.evaluate("localStorage.getItem('in-place.playground')")


@pytest.fixture
def playground(site, visit):
    playground = Playground(visit(f"{site}{PLAYGROUND}"))
    yield playground
    assert undisturbed(playground.seen)


@pytest.mark.skipif(live.wanted(), reason="this book has Python in its pages")
def test_without_python_the_page_says_how_to_get_it(site, visit):
    seen = visit(f"{site}{PLAYGROUND}")
    place = seen.page.locator("play-ground")
    expect(place).to_contain_text("make book LIVE=1")
    assert place.get_by_role("button").count() == 0
    place.get_by_role("link").click()
    expect(seen.page.locator("#how-to-run-it")).to_be_visible()


@needs_python
def test_without_scripts_the_page_says_what_it_needs(site, visit):
    place = visit(f"{site}{PLAYGROUND}", scripts=False).page.locator("play-ground")
    expect(place).to_contain_text("JavaScript")
    assert place.get_by_role("button").count() == 0


@needs_python
def test_a_program_runs_in_both_vocabularies(playground):
    assert not [request.url for request in playground.seen.finished if "/_static/live/" in request.url]
    playground.open()
    torch = playground.run("import torch\nx = torch.ones(3)\nv = x[:2]\nv += 1.0\nprint(x)")
    assert "tensor([2., 2., 1.])" in torch["variants"][0]["steps"][-1]["out"]
    paddle = playground.run("import paddle\nx = paddle.ones([3])\nv = x[:2]\nv += 1.0\nprint(x)")
    assert "[1., 1., 1.]" in paddle["variants"][0]["steps"][-1]["out"]
    assert playground.told.text_content() == ""


@needs_python
def test_all_of_it_by_keyboard_alone(playground):
    page = playground.page
    playground.button("Write a program").focus()
    page.keyboard.press("Enter")
    playground.text.wait_for()
    page.wait_for_function("() => document.activeElement.classList.contains('cm-content')")
    page.keyboard.type("x = mt.ones([3])")
    page.keyboard.press("Enter")
    page.keyboard.type("x.add_(1.0)")
    page.keyboard.press("Shift+Enter")
    stage = playground.place.locator("memory-stage")
    stage.wait_for()
    assert [step["line"] for step in playground.shown["variants"][0]["steps"]] == [1, 2]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Explain"
    page.keyboard.press("Enter")
    playground.place.locator(".mt-report").wait_for()
    assert stage.count() == 0


@needs_python
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (360, "light")])
def test_axe_finds_nothing_and_nothing_is_too_wide(width, scheme, site, visit):
    playground = Playground(visit(f"{site}{PLAYGROUND}", width=width, scheme=scheme))
    assert playground.seen.violations() == []
    playground.open()
    playground.run("x = mt.to_tensor([1.0, 2.0], stop_gradient=False)\nh = x * 2.0\nh.pow_(2.0)")
    assert playground.seen.violations() == [] and playground.seen.overflow() <= 0
    playground.press("Explain")
    assert playground.place.locator(".mt-report tbody tr").count() == 1
    assert playground.seen.violations() == [] and playground.seen.overflow() <= 0


@needs_python
def test_the_policy_and_the_device_are_those_that_are_chosen(playground):
    playground.open()
    text = "x = mt.to_tensor([1.0, 2.0], stop_gradient=False)\nh = x * 2.0\nh.pow_(2.0)"
    playground.place.get_by_label("Policy", exact=True).select_option(index=1)
    playground.place.get_by_label("Device", exact=True).select_option(index=1)
    trace = playground.run(text)
    assert trace["variants"][0]["policy"] == "2.5" and trace["device"].endswith(":sim")
    assert trace["variants"][0]["steps"][-1]["events"][-1]["do"] == "raise"
    playground.place.get_by_label("Policy", exact=True).select_option(index=0)
    assert playground.run(text)["variants"][0]["steps"][-1]["events"][-1]["do"] != "raise"


@needs_python
def test_explain_is_made_of_texts(playground):
    playground.open()
    playground.write(f"x = mt.ones([2])\nx.add_(1.0)  # {MARKUP}\nraise ValueError('{MARKUP}')")
    playground.press("Explain")
    report = playground.place.locator(".mt-report")
    expect(report).to_contain_text("x.add_(1.0)")
    assert report.locator("img, b").count() == 0
    playground.write("x = (")
    playground.press("Explain")
    expect(playground.told).to_contain_text("SyntaxError")


@needs_python
def test_the_programs_of_the_book_are_offered_and_run_as_in_the_book(playground, site, visit):
    confusions = visit(f"{site}chapters/fifteen_confusions.html").page
    book = confusions.locator("memory-stage").evaluate_all("stages => stages.map(stage => stage.data)")
    playground.open()
    select = playground.place.get_by_label("Begin with")
    titles = select.locator("optgroup").evaluate_all("groups => groups.map(group => group.label)")
    assert titles == ["One line in two vocabularies", *(trace["title"] for trace in book)]
    for trace in book[:12:5]:
        for number, variant in enumerate(trace["variants"]):
            group = select.locator(f"optgroup >> nth={titles.index(trace['title'])}")
            select.select_option(value=group.locator("option").nth(number).get_attribute("value"))
            assert playground.program.split("\n") == variant["code"]
            playground.press("Run")
            says = [step["say"] for step in playground.shown["variants"][0]["steps"]]
            assert len(says) == len(variant["steps"])
    assert playground.kept is None  # nothing was written


@needs_python
def test_what_is_written_is_kept_until_it_is_forgotten(playground):
    playground.open().write("x = mt.ones([7])")
    playground.page.wait_for_function("() => localStorage.getItem('in-place.playground')")
    playground.page.reload()
    playground.open()
    assert playground.program == "x = mt.ones([7])"
    playground.button("Start again").click()
    assert playground.program == "" and playground.kept is None
    playground.press("Run")
    expect(playground.told).to_have_text(EMPTY)


@needs_python
def test_a_link_shows_its_program_and_does_not_run_it(playground, visit):
    playground.open().write("x = mt.ones([5])\nx.add_(2.0)")
    playground.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    playground.button("Copy link").click()
    expect(playground.told).to_contain_text("address bar")
    other = Playground(visit(playground.page.url))
    other.text.wait_for()
    assert other.program == "x = mt.ones([5])\nx.add_(2.0)"
    expect(other.told).to_have_text("This program came with the link. It has not run.")
    assert not [request.url for request in other.seen.finished if "pyodide" in request.url]
    other.press("Run")
    assert other.shown["variants"][0]["steps"][-1]["line"] == 2


@needs_python
def test_a_program_that_does_not_end_is_stopped_by_the_button(playground):
    playground.open().write("while True:\n    pass")
    playground.button("Run").click()
    expect(playground.told).to_have_text("Running.")
    playground.button("Stop").click()
    expect(playground.told).to_have_text("Stopped.")
    assert playground.run("x = mt.ones([2])")["variants"][0]["steps"][0]["line"] == 1
