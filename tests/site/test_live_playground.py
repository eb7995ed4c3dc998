"""Test the playground: a reader's program, run, shown and explained in the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.site.editing import needs_python
from tests.support.site.playground import Playground
from tests.support.waiting import soon, wait_for_script
from tools import live

PLAYGROUND = "chapters/playground.html"
MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"
EMPTY = "There is no program yet: write one, or choose one to begin with."


@pytest.fixture
def playground(site, visit):
    playground = Playground(visit(f"{site}{PLAYGROUND}"))
    yield playground
    assert playground.seen.undisturbed


@pytest.mark.skipif(live.is_requested(), reason="this book has Python in its pages")
def test_without_python_the_page_explains_how_to_get_it(site, visit):
    seen = visit(f"{site}{PLAYGROUND}")
    place = seen.page.locator("play-ground")
    expect(place).to_contain_text("make book LIVE=1")
    assert place.get_by_role("button").count() == 0
    place.get_by_role("link").click()
    expect(seen.page.locator("#how-to-run-it")).to_be_visible()


@needs_python
def test_without_scripts_the_page_explains_its_requirements(site, visit):
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
    assert playground.status.text_content() == ""


@needs_python
def test_the_playground_works_by_keyboard_alone(playground):
    page = playground.page
    playground.button("Write a program").focus()
    page.keyboard.press("Enter")
    playground.text.wait_for()
    wait_for_script(page, "() => document.activeElement.classList.contains('cm-content')")
    page.keyboard.type("x = mt.ones([3])")
    page.keyboard.press("Enter")
    page.keyboard.type("x.add_(1.0)")
    page.keyboard.press("Shift+Enter")
    stage = playground.place.locator("memory-stage")
    stage.wait_for()
    assert [step["line"] for step in playground.shown["variants"][0]["steps"]] == [1, 2]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert soon(page.evaluate, "document.activeElement.textContent") == "Explain"
    page.keyboard.press("Enter")
    playground.place.locator(".mt-report").wait_for()
    assert stage.count() == 0


@needs_python
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (360, "light")])
def test_axe_finds_no_fault_in_the_playground_and_the_page_is_not_too_wide(width, scheme, site, visit):
    playground = Playground(visit(f"{site}{PLAYGROUND}", width=width, scheme=scheme))
    assert playground.seen.violations() == []
    playground.open()
    playground.run("x = mt.to_tensor([1.0, 2.0], stop_gradient=False)\nh = x * 2.0\nh.pow_(2.0)")
    assert playground.seen.violations() == [] and playground.seen.overflow() <= 0
    playground.press("Explain")
    assert soon(playground.place.locator(".mt-report tbody tr").count) == 1
    assert playground.seen.violations() == [] and playground.seen.overflow() <= 0


@needs_python
def test_a_program_runs_with_the_chosen_policy_and_device(playground):
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
def test_the_report_of_explain_shows_the_code_of_a_program_as_text(playground):
    playground.open()
    playground.write(f"x = mt.ones([2])\nx.add_(1.0)  # {MARKUP}\nraise ValueError('{MARKUP}')")
    playground.press("Explain")
    report = playground.place.locator(".mt-report")
    expect(report).to_contain_text("x.add_(1.0)")
    assert report.locator("img, b").count() == 0
    playground.write("x = (")
    playground.press("Explain")
    expect(playground.status).to_contain_text("SyntaxError")


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
    assert playground.kept is None  # no program was typed, so none is stored


@needs_python
def test_a_program_is_stored_until_the_reader_deletes_it(playground):
    playground.open().write("x = mt.ones([7])")
    wait_for_script(playground.page, "() => localStorage.getItem('in-place.playground')")
    playground.page.reload()
    playground.open()
    assert playground.program == "x = mt.ones([7])"
    playground.button("Start again").click()
    assert playground.program == "" and playground.kept is None
    playground.press("Run")
    expect(playground.status).to_have_text(EMPTY)


@needs_python
def test_a_link_shows_its_program_and_does_not_run_it(playground, visit):
    playground.open().write("x = mt.ones([5])\nx.add_(2.0)")
    playground.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    playground.button("Copy link").click()
    expect(playground.status).to_contain_text("address bar")
    other = Playground(visit(playground.page.url))
    other.text.wait_for()
    assert other.program == "x = mt.ones([5])\nx.add_(2.0)"
    expect(other.status).to_have_text("This program came with the link. It has not run.")
    assert not [request.url for request in other.seen.finished if "pyodide" in request.url]
    other.press("Run")
    assert other.shown["variants"][0]["steps"][-1]["line"] == 2


@needs_python
def test_a_program_that_does_not_end_is_stopped_by_the_button(playground):
    playground.open().write("while True:\n    pass")
    playground.button("Run").click()
    expect(playground.status).to_have_text("Running.")
    playground.button("Stop").click()
    expect(playground.status).to_have_text("Stopped.")
    assert playground.run("x = mt.ones([2])")["variants"][0]["steps"][0]["line"] == 1
