"""Test that pointing at a name in the text highlights it in the nearest stage."""

from __future__ import annotations

import pytest

from tests.support.waiting import soon, wait_for_script

# Records which names the page asks its stages to highlight.
LISTEN = """() => {
    window.asked = [];
    for (const stage of document.querySelectorAll("memory-stage")) {
        const [light, unlight] = [stage.light, stage.unlight];
        stage.light = name => { window.asked.push([stage.data.title, name]); return light?.call(stage, name); };
        stage.unlight = () => { window.asked.push([stage.data.title, null]); return unlight?.call(stage); };
    }
}"""
KEEPING = "Four ways to keep the old numbers"


@pytest.fixture
def chapter(site, visit):
    """Open chapter 4 and listen to its stages."""
    seen = visit(f"{site}chapters/04_aliases.html", width=1280)
    seen.page.evaluate(LISTEN)
    return seen


def names_in(seen, heading: str):
    return seen.page.locator("section", has=seen.page.get_by_role("heading", name=heading)).last.locator("code.points")


def test_a_name_under_the_mouse_is_highlighted_in_the_stage_of_its_section(chapter):
    name = names_in(chapter, "Keeping the old numbers").get_by_text("y", exact=True).first
    name.hover()
    assert soon(chapter.page.evaluate, "asked") == [[KEEPING, "y"]]
    chapter.page.get_by_role("heading", level=1).hover()
    assert soon(lambda: chapter.page.evaluate("asked").pop()) == [KEEPING, None]


def test_a_focused_name_is_highlighted_and_the_arrows_lead_to_the_next(chapter):
    names = names_in(chapter, "Keeping the old numbers")
    assert names.evaluate_all("names => names.map(name => name.tabIndex)").count(0) == 1
    first_two = names.all_inner_texts()[:2]
    names.first.focus()
    chapter.page.keyboard.press("ArrowRight")
    assert soon(names.nth(1).evaluate, "name => name === document.activeElement")
    assert soon(lambda: [name for _, name in chapter.page.evaluate("asked") if name]) == first_two


def test_a_tapped_name_is_highlighted_until_another_place_is_tapped(browser, site):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{site}chapters/04_aliases.html")
    page.locator("memory-stage").first.scroll_into_view_if_needed()
    wait_for_script(page, "document.querySelector('memory-stage').shadowRoot")
    page.evaluate(LISTEN)
    name = page.locator("code.points").get_by_text("y", exact=True).first
    name.tap()
    assert soon(lambda: [asked for _, asked in page.evaluate("asked")][-1]) == "y"
    assert soon(name.evaluate, "name => name.classList.contains('lit')")
    page.get_by_role("heading", level=1).tap()
    assert soon(lambda: [asked for _, asked in page.evaluate("asked")][-1] is None)
    context.close()


def test_a_word_that_no_nearby_program_binds_is_not_marked_as_a_name(chapter):
    texts = {text for text in chapter.page.locator("code.points").all_inner_texts()}
    assert "y" in texts and texts.isdisjoint({"id", "clone", "gather", "index_select", "expand"})


def test_a_name_in_the_text_has_no_role_and_axe_finds_nothing(chapter):
    assert chapter.page.locator("code.points[role]").count() == 0
    chapter.page.locator("code.points").first.focus()
    assert chapter.violations() == [] and chapter.complaints == []
