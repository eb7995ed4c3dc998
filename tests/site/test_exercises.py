"""Test exercises on a page: the box for the answer, and the instructions to run it."""

from __future__ import annotations

import pytest

from tests.support.chapters.chapter import in_order
from tests.support.waiting import soon
from tools import live

# The beginning of the text in the box of an exercise, which depends on whether pages have Python.
WHERE = "Check runs your answer" if live.is_requested() else "This page runs no Python."


@pytest.mark.parametrize("name", in_order())
def test_each_unfinished_exercise_explains_how_to_run_an_answer(name, site, visit):
    seen = visit(f"{site}chapters/{name}.html", scripts=False)
    boxes = seen.page.locator("exercise-box")
    assert boxes.count() == seen.page.locator(".mt-check:not(.mt-right)").count() >= 1
    for box in boxes.all():
        assert box.inner_text().startswith(WHERE)
        notebook, running = (link.get_attribute("href") for link in box.get_by_role("link").all())
        assert seen.page.request.get(seen.page.evaluate("a => new URL(a, location).href", notebook)).json()["cells"]
        assert running.endswith("index.html#how-to-run-it")
    seen.page.locator("exercise-box").first.get_by_role("link").last.click()
    assert soon(seen.page.locator("#how-to-run-it").is_visible)


@pytest.fixture
def box(site, visit):
    return visit(f"{site}chapters/08_leaves.html", width=390).page.locator("exercise-box").first


def test_an_answer_begins_with_the_code_of_its_cell_and_is_stored(box):
    text = box.get_by_role("textbox", name="Write your answer to exercise 1 here.")
    assert text.input_value().startswith("def descend(w, steps, rate):")
    text.fill("def descend(w, steps, rate):")
    text.press("End")
    text.press("Enter")
    text.type("for _ in range(steps):")
    text.press("Enter")
    text.type("pass")
    written = "def descend(w, steps, rate):\n    for _ in range(steps):\n        pass"
    assert soon(text.input_value) == written
    box.page.reload()
    assert soon(text.input_value) == written
    box.get_by_role("button", name="Start again").click()
    assert soon(lambda: text.input_value().endswith("check(descend, **descend_tests)"))
    assert soon(box.page.evaluate, "localStorage.length") == 0


def test_tab_leads_out_of_the_box_and_the_page_fits_a_phone(box):
    text = box.get_by_role("textbox")
    text.focus()
    text.press("Tab")
    assert soon(box.page.evaluate, "document.activeElement.textContent") == ("Check" if live.is_requested() else "Copy")
    assert soon(box.page.evaluate, "document.documentElement.scrollWidth <= document.documentElement.clientWidth")
