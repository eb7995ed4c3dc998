"""Test that the first page begins with a question and its picture, and that four links into the book follow."""

from __future__ import annotations

import pytest

from tests.support.site.looks import CHINESE, has_font
from tests.support.site.measures import SHIFT
from tests.support.waiting import box_of, drawn

WINDOWS = [(1440, 900), (1280, 720), (390, 844)]
# Maps the name of each part that a reader has to see before scrolling to the rectangle of the part.
OPENING = """() => {
    const { shadowRoot } = document.querySelector('memory-stage');
    const parts = {
        title: document.querySelector('h1'),
        question: document.querySelector('.opening'),
        program: shadowRoot.querySelector('.code'),
        sentence: shadowRoot.querySelector('.sentence'),
        picture: shadowRoot.querySelector('.pic svg'),
        next: shadowRoot.querySelector('.next'),
    };
    return Object.fromEntries(Object.entries(parts).map(([name, part]) => {
        const { left, top, right, bottom } = part.getBoundingClientRect();
        return [name, [left, top, right, bottom]];
    }));
}"""


@pytest.mark.parametrize("size", WINDOWS, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_question_and_the_whole_picture_are_in_view_before_the_reader_scrolls(site, visit, size):
    seen = visit(f"{site}index.html", width=size[0], whole=False)
    seen.resize(*size)
    seen.page.locator("memory-stage .pic svg").wait_for()
    boxes = seen.page.evaluate(OPENING)
    cut = {name for name, (left, top, right, bottom) in boxes.items() if min(left, top) < 0}
    cut |= {name for name, (_, _, right, bottom) in boxes.items() if right > size[0] or bottom > size[1]}
    assert cut == set(), boxes
    picture, following = boxes["picture"], box_of(seen.page.locator(".ways.container"))["y"]
    assert (picture[2] - picture[0]) * (picture[3] - picture[1]) > 0 and following > picture[3]


@pytest.mark.parametrize("edition", ["", "zh/"], ids=["en", "zh"])
@pytest.mark.parametrize("size", WINDOWS, ids=lambda size: f"{size[0]}x{size[1]}")
def test_nothing_moves_while_the_page_opens(site, visit, size, edition):
    """The page reserves the height of the stage before the stage is drawn.

    On a busy machine, a font sometimes arrives after the stage, and then a sentence breaks at another word. A wrong
    height moves the page at every opening, so the test opens the page three times and checks the smallest shift.
    """
    page = visit(f"{site}{edition}index.html", width=size[0], whole=False).page
    if edition and not any(has_font(page, family) for family in CHINESE):
        pytest.skip("this machine has no Chinese font")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    shifts = []
    for _ in range(3):
        page.reload()
        page.locator("memory-stage .pic svg").wait_for()
        drawn(page)
        shifts.append(page.evaluate(SHIFT))
    assert min(shifts) < 0.02, shifts


def test_the_picture_opens_at_the_step_that_answers_the_question(site, visit):
    seen = visit(f"{site}index.html")
    sentence = seen.page.locator("memory-stage .sentence").inner_text()
    assert "y sees the new numbers" in sentence
    drawn = seen.page.locator("memory-stage .pic svg").text_content()
    for number in ("1", "10", "2", "20", "3"):
        assert number in drawn
    assert seen.page.locator(".opening").inner_text() == "Line 3 names only v. Why did y change?"


def test_four_links_into_the_book_follow_the_picture(site, visit):
    seen = visit(f"{site}index.html")
    ways = seen.page.locator(".ways a")
    assert ways.count() == 4
    for way in ways.all():
        assert seen.page.locator(way.get_attribute("href")).count() == 1
