"""Test answers to exercises, which the page checks with the same `check` as a notebook."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.support.chapters.chapter import Chapter
from tests.support.site.editing import needs_python
from tests.support.site.words import said
from tests.support.waiting import soon

LEAVES, BYTES, ENGINE = "08_leaves", "05_counting_bytes", "16_an_engine_in_an_afternoon"
DATA = "13_data_in_place"  # the tests of its exercises also count bytes
MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"


def boxes(site, visit, name, **how) -> tuple:
    seen = visit(f"{site}chapters/{name}.html", **how)
    return seen, seen.page.locator("exercise-box")


def answer(box: Locator, text: str) -> Locator:
    """Write an answer, check it, and wait for the report."""
    box.get_by_role("textbox").fill(text)
    box.get_by_role("button", name="Check").click()
    return reported(box)


def reported(box: Locator, edition: str = "") -> Locator:
    expect(box.get_by_role("button", name=said("Check", edition))).to_be_enabled()
    expect(box.locator(".mt-check")).to_be_visible()
    return box.locator(".mt-check")


def solutions(name: str) -> list[str]:
    return [cell.source.replace("require(", "check(") for cell in Chapter.read(name).cells_with("require(")]


@needs_python
@pytest.mark.parametrize("name", [LEAVES, BYTES, DATA, ENGINE])
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
    assert seen.undisturbed


@needs_python
@pytest.mark.parametrize("edition", ["", "zh"], ids=["en", "zh"])
def test_an_exercise_is_written_and_passed_by_keyboard_alone(site, visit, edition):
    seen = visit(f"{site}{edition and edition + '/'}chapters/{LEAVES}.html", width=360)
    found = seen.page.locator("exercise-box")
    box = found.first
    box.get_by_role("textbox").focus()
    seen.page.keyboard.press("ControlOrMeta+a")
    seen.page.keyboard.insert_text(solutions(LEAVES)[0])
    seen.page.keyboard.press("Tab")
    assert soon(seen.page.evaluate, "document.activeElement.textContent") == said("Check", edition)
    seen.page.keyboard.press("Enter")
    expect(reported(box, edition)).to_contain_text(said("Right.", edition))
    assert seen.overflow() <= 0
    assert seen.violations() == []
    seen.page.emulate_media(color_scheme="dark")
    assert seen.violations(all_else=False) == []
    assert seen.undisturbed


@needs_python
def test_errors_and_printed_text_are_shown_as_text(site, visit):
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
    assert seen.undisturbed
