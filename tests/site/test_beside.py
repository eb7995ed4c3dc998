"""Test a stage beside the paragraphs that name its steps, on a small page."""

from __future__ import annotations

import json

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.support.site.small_book import built, cell, write
from tests.support.waiting import box_of, drawn, soon

LONG = " ".join(["Every paragraph is long enough to be scrolled, with some more words about nothing."] * 4)
PROGRAM = "x = mt.zeros([2])\ny = x.add(1.0)\ny.add_(1.0)"
START = "import minitensor as mt\nx = mt.zeros([2])\n"
PAIR = {"normal": START + "y = x.add(1.0)", "in place": START + "y = x.add_(1.0)"}
TEXT = "\n\n".join(
    [
        cell('%load_ext book_kit\nimport minitensor as mt\nfrom book_kit import stage'),
        "## One program",
        cell(f'%%stage --title "Three lines"\n{PROGRAM}'),
        "First, some words without a mark.",
        *(f"{{step}}`{line}` {LONG}" for line in (1, 2, 3)),
        LONG,
        "## Two programs",
        f"* {{step}}`3 in normal` {LONG}\n* {{step}}`3 in in place` {LONG}",
        cell(f"stage.compare({PAIR!r}, title='A pair')"),
        *[LONG] * 20,
    ]
)  # fmt: skip
MARKS = 5
#: Maps the title of a stage to the (variant, step) of each of its marks, counted from 0.
STEPS = {"Three lines": [(0, 0), (0, 1), (0, 2)], "A pair": [(0, 1), (1, 1)]}
TO = "([number, part]) => scrollTo(0, scrollY + document.querySelectorAll('.names-step')[number]"
TO += ".getBoundingClientRect().top - part * innerHeight)"
AT = "stage => [stage.at.variant, stage.at.step]"
IS_CURRENT = "number => document.querySelectorAll('.names-step')[number].matches('.current')"
# Resolves when the page has not scrolled for longer than `REST` in beside.js.
RESTED = """new Promise(done => {
    let place = scrollY, since = performance.now();
    const look = () => {
        if (scrollY !== place) [place, since] = [scrollY, performance.now()];
        if (performance.now() - since > 300) done();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})"""
# Records each text of the stage that a screen reader announces after a change.
LISTEN = """stage => {
    globalThis.heard ??= [];
    for (const text of stage.shadowRoot.querySelectorAll('[aria-live]')) {
        new MutationObserver(() => {
            if (text.ariaLive === 'polite' && text.textContent.trim()) heard.push(text.textContent.trim());
        }).observe(text, {childList: true, subtree: true});
    }
}"""


@pytest.fixture(scope="module")
def small(tmp_path_factory, serve_folder):
    """Build a small book; return the folder of its pages, and the address of its page."""
    book = write(tmp_path_factory.mktemp("beside"), TEXT)
    status, log = built(book)
    assert status == 0, log
    pages = book / "_build" / "html"
    return pages, f"{serve_folder(pages)}index.html"


class Reader:
    """Scroll a page, click in it and step its stages as a reader does."""

    def __init__(self, seen) -> None:
        self.seen, self.page = seen, seen.page
        self.stage = seen.page.locator("memory-stage").first

    def at(self) -> list[int]:
        return self.stage.evaluate(AT)

    def at_rest(self) -> list[int]:
        """Return the step that the stage shows when the page has stopped scrolling."""
        self.page.evaluate(RESTED)
        return self.at()

    def go(self, number: int, part: float = 0.3) -> None:
        """Scroll until the paragraph of a mark begins at this part of the window's height."""
        self.page.evaluate(TO, [number, part])

    def is_current(self, number: int) -> bool:
        return self.page.evaluate(IS_CURRENT, number)

    def press(self, button: str) -> None:
        self.stage.locator(f"button.{button}").click()


@pytest.fixture
def reader(small, visit):
    """Open the page in a wide window."""
    seen = visit(small[1], width=1440)
    yield Reader(seen)
    assert seen.undisturbed


def test_the_text_and_its_stage_are_two_columns_and_the_stage_stays_in_view(reader):
    for number in range(3):
        reader.go(number)
        assert soon(reader.is_current, number)
        reader.at_rest()
        text = box_of(reader.page.locator(".names-step").nth(number))
        stage = box_of(reader.stage)
        picture = box_of(reader.stage.locator(".pic svg"))
        assert text["x"] + text["width"] < stage["x"]
        assert stage["width"] > text["width"]
        assert picture["y"] >= 0 and picture["y"] + picture["height"] <= 900
    assert reader.seen.overflow() == 0


def test_the_empty_space_below_the_text_is_not_as_high_as_the_stage(reader):
    """The page measures a stage after each of its changes, wherever the reader has scrolled to."""
    for number in range(MARKS):
        reader.go(number)
        assert soon(reader.is_current, number)
    # Now the page measures both stages again, while their tops are scrolled out of view.
    reader.page.set_viewport_size({"width": 1440, "height": 880})
    reader.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    empty = """block => {
        const bottom = element => element.getBoundingClientRect().bottom;
        return bottom(block) - bottom([...block.querySelectorAll('.names-step')].at(-1));
    }"""
    for block in reader.page.locator(".beside").all():
        height = box_of(block.locator("memory-stage"))["height"]
        assert soon(lambda block=block, height=height: block.evaluate(empty) < height)


def test_scrolling_to_a_paragraph_shows_its_step(reader):
    for title, moments in STEPS.items():
        reader.stage = reader.page.locator("memory-stage").nth(list(STEPS).index(title))
        first = 0 if title == "Three lines" else 3
        for number, moment in [*enumerate(moments), *reversed([*enumerate(moments)])]:
            reader.go(first + number)
            assert soon(reader.at) == list(moment)
            assert soon(reader.is_current, first + number)
            mark = reader.page.locator("button.step-mark").nth(first + number)
            assert soon(mark.get_attribute, "aria-current") == "step"
            assert soon(reader.page.locator("button.step-mark[aria-current=step]").count) <= 2  # one for each stage


def test_a_click_on_a_paragraph_or_its_mark_shows_its_step(reader):
    paragraphs = reader.page.locator(".names-step")
    reader.go(0)
    assert soon(reader.at) == [0, 0]
    paragraphs.nth(2).click(position={"x": 150, "y": 40})
    assert reader.at_rest() == [0, 2]
    paragraphs.nth(1).get_by_role("button", name="line 2").click()
    assert reader.at_rest() == [0, 1]


def test_a_mark_that_gets_the_focus_by_tab_shows_its_step(reader):
    marks = reader.page.locator("button.step-mark")
    reader.go(0)
    assert soon(reader.at) == [0, 0]
    marks.nth(0).focus()
    for number in (1, 2):
        reader.page.keyboard.press("Tab")
        assert soon(marks.nth(number).evaluate, "mark => mark === document.activeElement")
        assert reader.at_rest() == [0, number]


def test_the_step_of_a_focused_mark_stays_while_the_page_scrolls_to_the_mark(reader):
    """The browser scrolls to a mark that gets the focus. Paragraphs that pass on the way must not show their steps."""
    marks = reader.page.locator("button.step-mark")
    marks.nth(1).focus()
    for key, number in (("Tab", 2), ("Shift+Tab", 1), ("Tab", 2)):
        reader.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        reader.at_rest()
        assert box_of(marks.nth(2))["y"] < 0
        reader.page.keyboard.press(key)
        assert reader.at_rest() == [0, number]


def test_the_step_of_a_clicked_paragraph_stays_until_the_reader_scrolls_to_another_one(reader):
    reader.go(0, 0.2)
    assert soon(reader.at) == [0, 0]
    reader.page.locator(".names-step").nth(2).click(position={"x": 150, "y": 5})
    for pixels in (20, -20):
        reader.page.evaluate("pixels => scrollBy(0, pixels)", pixels)
        assert reader.at_rest() == [0, 2]
    reader.go(1)
    assert soon(reader.at) == [0, 1]


def test_a_step_chosen_in_the_stage_stays_until_the_reader_scrolls_to_another_paragraph(reader):
    reader.go(0)
    assert soon(reader.is_current, 0)
    reader.press("next")
    reader.press("next")
    assert soon(reader.at) == [0, 2]
    reader.go(0, 0.25)  # still the same paragraph
    assert reader.at_rest() == [0, 2]
    assert soon(reader.is_current, 0)
    reader.go(1)
    assert soon(reader.at) == [0, 1]
    reader.press("back")
    assert soon(reader.at) == [0, 0]
    reader.go(2)
    assert soon(reader.at) == [0, 2]


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_step_chosen_in_the_stage_by_keyboard_stays_while_the_page_scrolls_to_the_stage(reader, motion):
    reader.page.emulate_media(reduced_motion=motion)
    reader.go(0)
    assert soon(reader.at) == [0, 0]
    reader.page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    reader.page.evaluate(RESTED)
    start = reader.page.evaluate("scrollY")
    reader.stage.evaluate("stage => stage.shadowRoot.querySelector('.next').focus()")
    reader.page.keyboard.press("End")
    reader.page.keyboard.press("Home")
    reader.page.keyboard.press("ArrowRight")
    assert reader.at_rest() == [0, 1]
    assert soon(reader.page.evaluate, "scrollY") < start - 400


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_chosen_variant_stays_while_tab_leads_to_a_control_out_of_view(reader, motion):
    pair = reader.page.locator("memory-stage").nth(1)
    reader.go(3)
    assert soon(pair.evaluate, AT) == [0, 1]
    reader.page.emulate_media(reduced_motion=motion)
    pair.evaluate("stage => stage.shadowRoot.querySelector('.chooser select').focus({preventScroll: true})")
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Home")
    assert soon(pair.evaluate, AT) == [1, 0]
    reader.page.evaluate(RESTED)
    button = pair.locator(".next")
    assert soon(button.evaluate, "button => button.getBoundingClientRect().bottom - innerHeight") > 0
    for _ in range(20):
        reader.page.keyboard.press("Tab")
        if button.evaluate("button => button.matches(':focus')"):
            break
    reader.page.evaluate(RESTED)
    assert soon(button.evaluate, "button => innerHeight - button.getBoundingClientRect().bottom") > 120
    assert pair.evaluate(AT) == [1, 0]
    reader.go(4)
    assert soon(pair.evaluate, AT) == [1, 1]


def test_a_link_to_a_step_is_not_overruled_by_the_scrolling_that_it_causes(reader):
    def read_on() -> list[int]:
        for number in (1, 2):
            reader.go(number)
            drawn(reader.page)
        return reader.at()

    reader.go(0)
    assert soon(reader.is_current, 0)
    reader.page.evaluate("scrollTo(0, 0)")
    name, variant = reader.stage.evaluate("stage => [stage.id, stage.data.variants[0].id]")
    reader.page.evaluate("hash => { location.hash = hash }", f"{name}/{variant}/2")
    assert soon(reader.page.evaluate, "scrollY") > 50
    assert reader.at_rest() == [0, 1]
    assert soon(read_on) == [0, 2]


def test_the_step_of_each_paragraph_is_announced_once(reader):
    first, second = reader.page.locator("memory-stage").all()
    says = "stage => stage.data.variants.map(variant => variant.steps.map(step => step.say.replaceAll('`', '')))"
    (said,), (pair, _) = first.evaluate(says), second.evaluate(says)
    for stage in (first, second):
        stage.evaluate(LISTEN)
    for number, sentences in ((0, said[:1]), (1, said[:2]), (2, said)):
        reader.go(number)
        assert soon(reader.page.evaluate, "heard") == sentences
    for number in (1, 0, 1, 2):
        reader.go(number)
        assert soon(reader.at) == [0, number]
        drawn(reader.page)
    reader.go(3)  # this step is announced after all earlier ones
    assert soon(reader.page.evaluate, "heard") == [*said, pair[1]]
    reader.go(0)
    assert soon(reader.at) == [0, 0]
    reader.press("next")  # a step that the reader chooses is always announced
    assert soon(reader.page.evaluate, "heard") == [*said, pair[1], said[1]]


def test_scrolling_does_not_step_a_program_that_the_reader_has_changed(reader):
    reader.go(0)
    assert soon(reader.is_current, 0)
    reader.stage.evaluate("stage => { stage.trace = structuredClone(stage.data) }")
    shown = reader.at_rest()
    reader.go(2)
    assert reader.at_rest() == shown


def test_showing_the_step_of_a_paragraph_takes_at_most_50_milliseconds(reader):
    fastest = """stage => Math.min(...[0, 1, 2, 0, 1, 2].map(step => {
        const start = performance.now();
        stage.follow(0, step, false);
        stage.offsetHeight;
        return performance.now() - start;
    }))"""
    assert reader.stage.evaluate(fastest) <= 50


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_on_a_page_with_marks(small, visit, width):
    seen = visit(small[1], width=width)
    Reader(seen).go(1)
    assert seen.violations() == []


def test_on_a_phone_each_paragraph_has_its_picture_as_wide_as_the_column(small, visit):
    seen = visit(small[1], width=390)
    stills = seen.page.locator("figure.step-still")
    assert stills.count() == MARKS
    for number, still in enumerate(stills.all()):
        Reader(seen).go(number)
        still.locator("svg").wait_for()
        box = box_of(still)
        assert 300 < box["width"] <= 390
        assert box_of(still.locator("svg"))["width"] <= box["width"]
    assert seen.overflow() == 0
    said = seen.page.locator("memory-stage").first.evaluate("stage => stage.data.variants[0].steps[2].say")
    assert stills.nth(2).locator("svg").get_attribute("aria-label") == said.replace("`", "")
    seen.resize(1440, 900)
    assert not stills.first.is_visible()
    assert seen.undisturbed


def test_without_scripts_each_paragraph_has_the_still_picture_of_its_step(small, visit):
    for width in (1440, 390):
        seen = visit(small[1], width=width, scripts=False)
        stills = seen.page.locator("figure.step-still > svg")
        assert stills.count() == MARKS
        for still in stills.all():
            assert still.is_visible()
            assert box_of(still)["width"] > 300
        assert seen.page.get_by_text("line 2", exact=True).is_visible()
        assert seen.overflow() == 0


# For each reference to a pattern: true if the same picture defines the pattern. Browsers do not draw a pattern that a
# hidden picture defines.
PATTERNS = """stills => stills.flatMap(still => [...still.outerHTML.matchAll(/url\\(#([^)]+)\\)/g)].map(
    ([, id]) => document.getElementById(id).closest('figure') === still))"""


def test_on_paper_each_paragraph_has_the_still_picture_of_its_step(reader):
    stills = reader.page.locator("figure.step-still:visible")
    assert stills.count() == 0
    reader.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    reader.page.emulate_media(media="print")
    assert soon(stills.count) == MARKS
    assert soon(lambda: set(stills.evaluate_all(PATTERNS))) == {True}
    text, still = box_of(reader.page.locator(".names-step").nth(1)), box_of(stills.nth(1))
    assert still["y"] >= text["y"] + text["height"] - 1
    reader.page.emulate_media(media="screen")
    reader.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert soon(stills.count) == 0


def test_a_downloaded_notebook_has_the_still_pictures(small):
    source = small[0] / "_sources" / "index.ipynb"
    notebook = nbformat.read(source, as_version=4)
    texts = [each.source for each in notebook.cells if each.cell_type == "markdown"]
    assert sum(text.count("](attachment:") for text in texts) == MARKS
    assert not any("{step}" in text for text in texts)
    html, _ = HTMLExporter().from_notebook_node(notebook)
    assert html.count('src="data:image/svg+xml;base64,') == MARKS
    assert json.loads(source.read_text(encoding="utf-8"))["nbformat"] == 4


def test_the_marks_add_at_most_15_percent_to_the_bytes_of_a_page(small, visit, tmp_path, serve_folder):
    plain = write(tmp_path, TEXT.replace("{step}", ""))
    status, log = built(plain)
    assert status == 0, log
    before = visit(f"{serve_folder(plain / '_build' / 'html')}index.html").weight()
    after = visit(small[1]).weight()
    assert before < after <= 1.15 * before
