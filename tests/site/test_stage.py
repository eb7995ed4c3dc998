"""Test links to a step of a stage, the scrolling of its program, and its legend."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.waiting import box_of, drawn, scrolled, soon

# Returns whether a program is scrolled, whether it begins with a whole line, and whether its current line is in view. A
# program that is scrolled to its end may begin with a part of a line.
TOP_LINE = """stage => {
    const box = stage.shadowRoot.querySelector('.code');
    const now = box.querySelector('.now');
    const top = box.scrollTop;
    const rest = box.scrollHeight - box.clientHeight - top;
    const tops = [...box.children].map(line => line.offsetTop);
    return {
        scrolls: Number(top > 1),
        isWhole: top < 1 || rest < 1 || tops.some(each => Math.abs(each - top) <= 1),
        isInView: !now || (now.offsetTop >= top - 1 && now.offsetTop + 20 <= top + box.clientHeight),
        top, tops,
    };
}"""
MOMENT = "stage => [stage.variant.id, stage.at.step]"


@pytest.fixture
def second_moment(site, visit):
    """Open chapter 4, and show its first stage at the last step but one of the second variant."""
    seen = visit(f"{site}chapters/04_aliases.html")
    drawn(seen.page)  # all stages of the page, so that nothing moves under a click
    scrolled(seen.page)
    stage = seen.page.locator("memory-stage").first
    stage.evaluate("stage => stage.choose(1)")
    stage.evaluate("stage => stage.go(stage.frames.length - 2)")
    return seen.page, stage


def test_a_copied_link_leads_to_the_same_moment(site, visit, second_moment):
    page, stage = second_moment
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    details = stage.get_by_role("button", name="Details")
    details.click()
    expect(details).to_have_attribute("aria-expanded", "true")
    stage.get_by_role("button", name="Copy link").click()
    stage.get_by_text("Link copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{site}chapters/04_aliases.html#stage-")
    there = visit(link, whole=False).page.locator("memory-stage").first
    moment = stage.evaluate(MOMENT)
    assert soon(there.evaluate, MOMENT) == moment
    assert moment[1] > 0
    assert soon(lambda: 0 <= box_of(there)["y"] < 100)


@pytest.mark.parametrize("served", [True, False])
def test_if_nothing_can_be_copied_the_link_is_in_the_address_bar(site, book, visit, served):
    address = f"{site}chapters/04_aliases.html" if served else (book / "chapters/04_aliases.html").as_uri()
    page = visit(address).page
    page.context.clear_permissions()
    page.evaluate("() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); }")
    drawn(page)  # all stages of the page, so that nothing moves under the click
    scrolled(page)
    stage = page.locator("memory-stage").first
    stage.evaluate("stage => stage.choose(1)")
    details = stage.get_by_role("button", name="Details")
    details.click()
    expect(details).to_have_attribute("aria-expanded", "true")
    stage.get_by_role("button", name="Copy link").click()
    stage.get_by_text("In the address bar").wait_for()
    assert page.url.startswith(f"{address}#stage-")
    moment = stage.evaluate(MOMENT)
    there = visit(page.url, whole=False).page.locator("memory-stage").first
    assert soon(there.evaluate, MOMENT) == moment and moment[0] != "0"


@pytest.mark.parametrize("name", ["chapters/08_leaves", "chapters/14_many_ranks", "chapters/your_own_program"])
def test_a_program_that_scrolls_begins_with_a_whole_line(site, visit, name):
    """A long program scrolls on a phone. At each step its current line is in view, and no line is cut at the top."""
    page = visit(f"{site}{name}.html", width=390).page
    drawn(page)
    scrolling = 0
    for stage in page.locator("memory-stage").all():
        for step in range(stage.evaluate("stage => stage.frames.length")):
            stage.evaluate("(stage, step) => stage.go(step)", step)
            found = stage.evaluate(TOP_LINE)
            scrolling += found["scrolls"]
            assert found["isWhole"], (name, step, found)
            assert found["isInView"], (name, step, found)
    assert scrolling


def test_the_legend_is_drawn_when_it_is_opened(site, visit):
    seen = visit(f"{site}chapters/04_aliases.html")
    stage = seen.page.locator("memory-stage").first
    assert not any("stage-legend" in request.url for request in seen.finished)
    drawn(seen.page)  # all stages of the page, so that nothing moves under the click
    scrolled(seen.page)
    details = stage.get_by_role("button", name="Details")
    details.scroll_into_view_if_needed()
    box_of(details)  # waits until the page no longer moves after the scrolling
    details.click()
    expect(details).to_have_attribute("aria-expanded", "true")
    stage.get_by_text("How to read the picture").click()
    stage.get_by_text("a name and its tensor").wait_for()
    assert stage.locator(".legend svg").count() == stage.locator(".legend li").count() > 5
    assert seen.refused == [] and seen.complaints == []
