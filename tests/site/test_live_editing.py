"""A program of a page becomes an editor, what it records stands on the same stage, and Reset brings the book's back."""

from __future__ import annotations

import pytest

from tests.site.editing import ALIASES, CONFUSIONS, THREE, Stage, asked_for_python, needs_python

pytestmark = needs_python


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
