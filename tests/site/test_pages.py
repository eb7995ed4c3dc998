"""Test every page of the book in a browser: its requests, its layout, its stages and questions.

A page is opened once from the server on a wide screen, and once from the disk on a phone. The tests that do not change
the page run first.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from statistics import median

import pytest

from _ext.book_pages.markup import PICTURE
from tests.support.chapters.chapter import pages
from tests.support.site.looks import Look, faults, settle
from tests.support.site.measures import (
    FOLLOWING,
    HEIGHTS,
    LINES,
    NEXT_IN_VIEW,
    NOW,
    OVERFLOWS,
    TITLED,
    VOIDS,
    WHOLE,
    WIDTHS,
)
from tests.support.site.stage import step_to_the_end
from tests.support.site.visit import Visit
from tests.support.site.words import edition_of
from tests.support.waiting import box_of, drawn, soon
from tools.build import ROOT

# Chinese pages with stages, comparisons, questions and exercises. `test_translations.py` opens all Chinese pages.
CHINESE = ["zh/index", "zh/chapters/11_clone_and_detach"]
READ = [*pages(), *CHINESE]
PAGES = [*READ, "search", "zh/search"]
OWN_ELEMENTS = ("memory-stage", "predict-first")
KILOBYTE = 1000
HEAVIEST = {False: 500 * KILOBYTE, True: 800 * KILOBYTE}  # limits for a page without and with mathematics
MEASURES = {"": range(66, 76), "zh": range(36, 49)}  # characters a line; some in a Chinese line are half as wide
STAGE_WIDTH = 1180  # pixels, if there is space
STILLS = re.compile('<noscript class="step-still">.*?</noscript>', re.DOTALL)
FIGURES = re.compile("<memory-figure.*?</memory-figure>", re.DOTALL)
MOST_FIGURES = 0.08  # the share of a page's compressed bytes that its figures may have
MOST_STILLS = 0.15  # the bytes of the pictures beside paragraphs, as a share of all other bytes of the page
ALONE = "memory-stage:not(.beside memory-stage)"  # stages in one column: no paragraph names their steps
UNACCOMPANIED = "memory-stage:not(.beside:not(.tall) memory-stage)"  # all stages that have no text beside them
STAGE_HEIGHT = 840  # the largest height of a stage with all folds closed, in a window of 900 pixels
MOST_EMPTY = 0.1  # the share of a picture's height that may be empty before a reader steps the stage
TO_LINE = "Step the stage to line {line}"
INKS = "pictures => pictures.map(picture => getComputedStyle(picture).getPropertyValue('--ink').trim())"
SCREENSHOTS = ROOT / "_build" / "screenshots"
each_page = pytest.mark.parametrize("opened", PAGES, indirect=True)
each_page_to_read = pytest.mark.parametrize("opened", READ, indirect=True)


def picture(seen: Visit, *what: str) -> None:
    """Save a picture of the page for inspection, with SCREENSHOTS=1. No test reads it."""
    if os.environ.get("SCREENSHOTS") == "1":
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        seen.page.screenshot(path=SCREENSHOTS / f"{'-'.join((seen.name, *what))}.png", full_page=True)


def theme(seen: Visit) -> str:
    return seen.page.evaluate("document.documentElement.dataset.theme")


@pytest.mark.parametrize("opened", [*PAGES, "404"], indirect=True)
def test_a_page_requests_no_other_host_and_violates_no_policy_and_reports_no_error(opened):
    opened.read_through()
    assert opened.refused == []
    assert (opened.foreign, opened.failed, opened.complaints) == ([], [], [])


@each_page
def test_a_page_has_few_bytes(opened, site, book):
    has_mathematics = opened.page.locator("mjx-container").count() > 0
    weight = opened.weight()
    text = (book / opened.address.removeprefix(site)).read_text(encoding="utf-8")
    own = len(gzip.compress(text.encode()))
    stills = own - len(gzip.compress(STILLS.sub("", text).encode()))
    assert stills <= MOST_STILLS * (weight - stills)
    figures = own - len(gzip.compress(FIGURES.sub("", text).encode()))
    assert figures <= MOST_FIGURES * weight
    assert weight > own + 40 * KILOBYTE  # the weight includes the fonts and styles, which have more than 40 KB
    assert weight <= HEAVIEST[has_mathematics], f"{weight / KILOBYTE:.0f} KB compressed"


@each_page_to_read
def test_without_javascript_a_stage_shows_a_picture_and_the_sentence_of_every_step(opened, visit):
    seen = visit(opened.address, scripts=False)
    stages = seen.page.locator("memory-stage")
    assert stages.count() == opened.page.locator("memory-stage").count()
    for stage in stages.all():
        trace = json.loads(stage.locator("script[type='application/json']").text_content())
        shown = " ".join(stage.inner_text().split())
        for variant in trace["variants"]:
            for step in variant["steps"]:
                assert " ".join(step["say"].replace("`", "").split()) in shown
        drawing = box_of(stage.locator("svg").first)
        assert drawing["width"] > 100 and drawing["height"] > 50
    colours = seen.page.locator("svg.memory-picture").evaluate_all(INKS)
    assert set(colours) <= {"#1a1d21"}, "every picture should have its style"


@each_page
def test_a_page_has_the_style_of_its_pictures_once(opened, site, book):
    text = (book / opened.address.removeprefix(site)).read_text(encoding="utf-8")
    found = PICTURE.findall(text)
    for kind in ("memory-picture", "memory-figure-picture"):
        pictures = "".join(picture for picture in found if f'class="{kind}"' in picture)
        assert text.count(f"<style>.{kind}") == bool(pictures)
        style, _, _ = text.partition(f"<style>.{kind}")[2].partition("</style>")
        assert set(re.findall(r"var\(([^)]*)\)", pictures)) <= set(re.findall(r"(--\w+):", style))


@each_page_to_read
def test_a_page_prints(opened):
    opened.page.emulate_media(media="print")
    try:
        drawn(opened.page)
        picture(opened, "print")
        titles = [title for title in opened.page.locator("h1").all() if title.is_visible()]
        assert len(titles) == 1
        assert not opened.page.locator(".bd-sidebar-primary").is_visible()
        assert opened.page.pdf(page_ranges="1").startswith(b"%PDF")  # lays out the whole page, and paints one sheet
    finally:
        opened.page.emulate_media(media="null")


# ---- in wider windows, while no stage has been stepped


@pytest.mark.parametrize("width", [1440, 3840])
@each_page_to_read
def test_lines_of_text_have_a_readable_length_and_every_lone_stage_has_the_full_width(opened, width):
    opened.resize(width, 900)
    lines = opened.page.evaluate(LINES)
    if len(lines) > 10:  # an appendix has hardly any text
        measure = MEASURES[edition_of(opened.address)]
        assert measure[0] <= median(lines) <= measure[-1]
    widths = opened.page.locator(ALONE).evaluate_all(WIDTHS)
    assert set(widths) <= {STAGE_WIDTH}
    assert opened.overflow() == 0


@each_page_to_read
def test_before_a_reader_steps_a_stage_it_shows_its_key_step_without_large_empty_areas(opened):
    opened.resize(1440, 900)
    stages = opened.page.locator("memory-stage")
    assert [(title, empty) for title, empty in stages.evaluate_all(VOIDS) if empty > MOST_EMPTY] == []
    for stage in stages.all():
        trace = json.loads(stage.locator("script[type='application/json']").text_content())
        opens = next(variant for variant in trace["variants"] if variant["id"] == trace["opens"])
        shown = " ".join(stage.locator("[aria-live=polite] .sentence").text_content().split())
        assert shown == " ".join(opens["steps"][opens["key"]]["say"].replace("`", "").split())


# ---- tests that step the stages or make the page dark, and therefore run last ----------------------------------------


@pytest.mark.parametrize("opened", pages(), indirect=True)
def test_no_two_texts_of_a_page_overlap_or_touch_and_none_is_cut_off(opened):
    """`test_layout.py` checks other looks. Scrolling to a paragraph shows its step, so this test changes the stages."""
    look = Look()
    opened.page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = false })")
    opened.resize(*look.window)
    settle(opened.page, look)
    found = faults(opened.page, look)
    opened.page.evaluate("scrollTo(0, 0)")
    assert found == [], f"{opened.name}: {len(found)} faults, the first: {found[:8]}"


@each_page_to_read
def test_a_question_leads_to_the_line_that_shows_its_answer(opened):
    for question in opened.page.locator("predict-first:has(.mt-proof)").element_handles():
        proof = question.eval_on_selector(".mt-proof", "proof => ({...proof.dataset})")
        question.eval_on_selector("summary", "summary => { summary.parentElement.open = false; summary.click() }")
        button = question.wait_for_selector(".mt-look:not([hidden])")
        words = json.loads(question.get_attribute("data-words") or "{}")
        assert button.inner_text() == words.get(TO_LINE, TO_LINE).format(line=proof["line"])
        button.click()
        if "stage" in proof:
            stage = opened.page.evaluate_handle(TITLED, proof["stage"]).as_element()
        else:
            stage = question.evaluate_handle(FOLLOWING).as_element()
        wanted = [proof["line"], "BUTTON", *([proof["variant"]] if "variant" in proof else [])]
        assert soon(lambda stage=stage, wanted=wanted: stage.evaluate(NOW)[: len(wanted)]) == wanted, proof
    assert opened.complaints == []


@each_page_to_read
def test_every_step_of_every_stage_fits_one_screen(opened):
    found = {}
    for width, height in ((1280, 720), (1440, 900), (1920, 1080)):
        opened.resize(width, height)
        stages = opened.page.locator("memory-stage")
        # A stage is as wide at 1920 pixels as at 1440, so the same step is the tallest one. The slow search for the
        # tallest step is therefore left out at 1920.
        moments = [at for _, _, at in found[1440]] if width == 1920 else None
        found[width] = stages.evaluate_all(HEIGHTS, moments)
        assert [(title, most) for title, most, _ in found[width] if most > height] == []
        assert set(opened.page.locator(ALONE).evaluate_all(WIDTHS)) <= {STAGE_WIDTH}
        if width == 1440:
            below = opened.page.locator(UNACCOMPANIED).evaluate_all(WHOLE)
            assert [(title, high) for title, high in below if high > STAGE_HEIGHT] == []


@each_page
def test_a_page_is_accessible_after_every_stage_was_stepped_to_its_end_by_keyboard(opened):
    opened.resize(1280, 900)
    assert theme(opened) == "light"
    picture(opened, "light")
    assert opened.overflow() == 0
    kinds = set()  # all keys are tried on one program and on one comparison, because other stages have the same keys
    for stage in opened.page.locator("memory-stage").all():
        kind = stage.locator(".chooser select").count() > 0
        step_to_the_end(opened.page, stage, every_key=kind not in kinds)
        kinds.add(kind)
    assert opened.complaints == []
    assert opened.violations() == []


@each_page
def test_a_page_turns_dark_with_the_readers_system_and_stays_readable(opened):
    opened.page.emulate_media(color_scheme="dark")
    opened.page.locator("html[data-theme=dark]").wait_for(state="attached")
    picture(opened, "dark")
    assert opened.overflow() == 0
    assert opened.complaints == []
    assert opened.violations(all_else=False) == []  # everything else was tested with light colours


def test_a_page_opened_in_dark_mode_is_dark(site, visit):
    seen = visit(f"{site}{READ[0]}.html", scheme="dark")
    assert theme(seen) == "dark"
    assert seen.violations(all_else=False) == []


# ---- on a phone, from the disk


@pytest.mark.parametrize("on_a_phone", PAGES, indirect=True)
def test_a_page_fits_a_phone(on_a_phone):
    picture(on_a_phone, "phone")
    assert on_a_phone.overflow() == 0
    assert on_a_phone.violations(contrast=False) == []


@pytest.mark.parametrize("on_a_phone", PAGES, indirect=True)
def test_a_page_fits_the_narrowest_phone(on_a_phone):
    on_a_phone.resize(320, 900)
    assert on_a_phone.overflow() == 0


@pytest.mark.parametrize("on_a_phone", READ, indirect=True)
def test_on_a_phone_the_link_to_the_next_page_stays_in_view(on_a_phone):
    on_a_phone.resize(390, 900)
    outputs = on_a_phone.page.locator("div.output:has(> memory-stage)")
    assert outputs.count() == on_a_phone.page.locator("memory-stage").count()
    # An output that clips would hide the buttons that a stage keeps in view.
    assert set(outputs.evaluate_all(OVERFLOWS)) <= {"visible"}
    for stage in on_a_phone.page.locator("memory-stage").all():
        assert stage.evaluate(NEXT_IN_VIEW) == []


@pytest.mark.parametrize("on_a_phone", PAGES, indirect=True)
def test_a_page_opens_from_the_disk(on_a_phone):
    on_a_phone.read_through()
    assert on_a_phone.page.evaluate("location.protocol") == "file:"
    assert (on_a_phone.foreign, on_a_phone.complaints) == ([], [])
    for element in OWN_ELEMENTS:
        assert on_a_phone.page.locator(f"{element}:not(:defined)").count() == 0
