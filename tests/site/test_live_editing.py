"""Test that a reader can edit and run the program of a stage, and that Reset restores the program of the book."""

from __future__ import annotations

import pytest

from tests.support.site.editing import ALIASES, CONFUSIONS, OWN, THREE, Stage, needs_python, python_requests
from tests.support.waiting import soon, wait_for_script

pytestmark = needs_python


def test_no_file_of_python_is_requested_before_a_click(site, visit):
    seen = visit(f"{site}{THREE}.html")
    seen.read_through()
    assert python_requests(seen) == [] and seen.foreign == []
    names = {
        request.url.rsplit("/", 1)[-1].partition("?")[0] for request in seen.finished if "/_static/live" in request.url
    }
    assert names == {"live.js", "live.css"}
    asked = [request for request in seen.finished if request.url.partition("?")[0].endswith(tuple(names))]
    assert sum(request.sizes()["responseBodySize"] for request in asked) < 4_000  # bytes, compressed
    assert seen.page.workers == []


@pytest.mark.parametrize("name", [THREE, CONFUSIONS, OWN])
def test_every_stage_of_a_page_can_be_edited(name, site, visit):
    seen = visit(f"{site}{name}.html")
    stages = seen.page.locator("memory-stage").all()
    assert stages
    for stage in stages:
        assert stage.get_by_role("button", name="Edit this program").count() == 1


@pytest.mark.parametrize("lacks", ["Worker", "WebAssembly", "DecompressionStream"])
def test_a_browser_that_lacks_a_needed_feature_shows_no_button(lacks, site, browser):
    with browser.new_context() as context:
        context.add_init_script(f"delete globalThis.{lacks}")
        page = context.new_page()
        page.goto(f"{site}{THREE}.html")
        assert page.locator("memory-stage").first.is_visible()
        assert page.locator(".live-edit, .live-why").count() == 0


def test_a_page_opened_from_the_disk_explains_once_why_there_is_no_button(book, visit):
    seen = visit((book / f"{THREE}.html").as_uri())
    assert seen.page.locator(".live-edit").count() == 0
    (why,) = seen.page.locator(".live-why").all_text_contents()
    assert why.startswith("Opened from the disk, a page cannot load Python. Served by make book LIVE=1, it lets you")
    stage = seen.page.locator("memory-stage").first
    stage.evaluate("stage => stage.go(1)")
    assert stage.evaluate("stage => stage.at.step") == 1  # everything else works


@pytest.mark.parametrize("name", [THREE, ALIASES, CONFUSIONS, f"zh/{THREE}"])
def test_a_program_run_in_the_page_is_recorded_as_in_the_book(on_page, name):
    _, stages = on_page(name)
    for stage in stages[:6]:
        book = stage.said
        stage.edit()
        stage.run()
        assert stage.said == book, stage.data["title"]
        assert stage.element.get_attribute("editing") is None


@pytest.mark.parametrize("name", [THREE, ALIASES, CONFUSIONS])
def test_an_edited_program_is_shown_and_reset_restores_the_program_of_the_book(on_page, name):
    _, stages = on_page(name)
    stage = stages[0]
    stage.edit()
    stage.press("Reset")
    book = stage.data
    stage.run("a = mt.ones([5])\na.add_(1.0)\nprint(a)")
    assert stage.shown["code"] == ["a = mt.ones([5])", "a.add_(1.0)", "print(a)"]
    assert "Tensor(shape=[5]" in stage.printed
    stage.edit()
    stage.press("Reset")
    assert stage.data == book
    stage.press("Close")


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
    wait_for_script(stage.page, "stage => !stage.hasAttribute('editing')", stage.element.element_handle())
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
    stage.choose("Policy", "2.5: refuse")  # changes only the last variant
    stage.choose("Device", "GPU, simulated, as PyTorch")
    stage.run()
    assert [variant.get("policy", "2.6") for variant in stage.data["variants"]] == ["2.6"] * (len(labels) - 1) + ["2.5"]
    assert stage.data["device"].endswith(":sim")
    assert [variant["code"] for variant in stage.data["variants"]] == [
        [f"x = mt.ones([{number + 2}])"] for number in range(len(labels))
    ]
    assert [variant["label"] for variant in stage.data["variants"]] == labels
    stage.edit()
    stage.press("Reset")
    stage.press("Close")


def test_on_a_touch_screen_targets_are_large_and_text_does_not_zoom_and_long_lines_scroll(browser, site):
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
        stage.element.locator(".live-editor").evaluate("editor => editor.scrollIntoView({ block: 'end' })")
        page.mouse.wheel(0, 150)
        seen = """button => {
            const { left, bottom } = button.getBoundingClientRect();
            return document.elementFromPoint(left + 9, bottom - 4) === button;
        }"""
        run = stage.element.get_by_role("button", name="Run", exact=True).element_handle()
        wait_for_script(page, seen, run)  # the spinner turns for a moment, and then nothing covers the stage
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_program_is_edited_and_run_by_keyboard_alone(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.element.locator(".live-edit").focus()
    seen.page.keyboard.press("Enter")
    stage.editor.wait_for()
    seen.page.keyboard.press("ControlOrMeta+a")
    seen.page.keyboard.insert_text("x = mt.ones([2])\nx.add_(1.0)")
    stage.element.evaluate("stage => stage.go(1)")
    seen.page.keyboard.press("ArrowLeft")
    assert soon(stage.element.evaluate, "stage => stage.at.step") == 1, "a key in the editor should not step the stage"
    seen.page.keyboard.press("Tab")
    assert soon(seen.page.evaluate, "document.activeElement.textContent") == "Run"
    seen.page.keyboard.press("Shift+Tab")
    seen.page.keyboard.press("Shift+Enter")
    wait_for_script(seen.page, "stage => stage.hasAttribute('edited')", stage.element.element_handle())
    assert seen.page.evaluate("document.activeElement.shadowRoot.activeElement.className") == "next"
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("ArrowRight")
    assert soon(stage.element.evaluate, "stage => stage.at.step") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_editor_is_accessible_and_fits_a_phone(site, visit, scheme):
    seen = visit(f"{site}{THREE}.html", width=360, scheme=scheme)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit()
    assert seen.overflow() == 0
    assert seen.violations() == []
    stage.run("x = mt.ones([2])\nx.add_(mt.ones([3]))")
    assert len(stage.errors) == 1 and seen.overflow() == 0
    assert seen.violations() == []


def test_a_number_in_a_program_is_changed_by_arrow_keys_or_typing_and_the_page_records_it(on_page):
    """All variants have this line, so the number changes in each of them. The step and the focus do not change."""
    visit, stages = on_page(THREE)
    element = stages[1].element
    element.evaluate("stage => { stage.wake?.(); stage.choose(1); }")
    step = element.evaluate("stage => stage.at.step")
    number = element.locator(".number").nth(1)
    first = "stage => stage.data.variants.map(({code}) => code[0])"
    before = element.evaluate(first)
    assert len(set(before)) == 1 and "2.0" in before[0]
    number.focus()
    visit.page.keyboard.press("ArrowUp")
    assert soon(element.evaluate, first) == [line.replace("2.0", "3.0", 1) for line in before]
    assert soon(element.evaluate, "stage => stage.shadowRoot.activeElement?.textContent") == "3.0"
    for key in ("Enter", "4", "1", "Enter"):
        visit.page.keyboard.press(key)
    assert soon(element.evaluate, first) == [line.replace("2.0", "41", 1) for line in before]
    assert soon(element.evaluate, "stage => stage.at.step") == step
