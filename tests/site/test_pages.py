"""Every page of the book, as a reader's browser sees it."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from tests.chapters.chapter import pages
from tests.site.stage import step_to_the_end
from tests.site.visit import Visit
from tools.build import ROOT

READ = pages()
PAGES = [*READ, "search"]
OWN_ELEMENTS = ("memory-stage", "predict-first")
KILOBYTE = 1000
HEAVIEST = {False: 500 * KILOBYTE, True: 800 * KILOBYTE}  # without and with mathematics
SCREENSHOTS = ROOT / "_build" / "screenshots"
each_page = pytest.mark.parametrize("opened", PAGES, indirect=True)
each_page_to_read = pytest.mark.parametrize("opened", READ, indirect=True)


def picture(seen: Visit, *what: str) -> None:
    """Keep a picture of the page for eyes, with SCREENSHOTS=1; no test looks at it."""
    if os.environ.get("SCREENSHOTS") == "1":
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        seen.page.screenshot(path=SCREENSHOTS / f"{'-'.join((seen.name, *what))}.png", full_page=True)


def theme(seen: Visit) -> str:
    return seen.page.evaluate("document.documentElement.dataset.theme")


@pytest.mark.parametrize("opened", [*PAGES, "404"], indirect=True)
def test_a_page_asks_no_other_host_does_nothing_forbidden_and_reports_no_error(opened):
    opened.read_through()
    assert opened.refused == []
    assert (opened.foreign, opened.failed, opened.complaints) == ([], [], [])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_from_the_disk(book, visit, name):
    seen = visit((book / f"{name}.html").as_uri())
    seen.read_through()
    assert (seen.foreign, seen.complaints) == ([], [])
    for element in OWN_ELEMENTS:
        assert seen.page.locator(f"{element}:not(:defined)").count() == 0


@each_page
def test_a_page_is_light(opened, site, book):
    has_mathematics = opened.page.locator("mjx-container").count() > 0
    weight = opened.weight()
    own = len(gzip.compress((book / opened.address.removeprefix(site)).read_bytes()))
    assert weight > own + 40 * KILOBYTE  # type and style alone are more: the scale works
    assert weight <= HEAVIEST[has_mathematics], f"{weight / KILOBYTE:.0f} KB compressed"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(site, visit, name):
    seen = visit(f"{site}{name}.html", width=360)
    picture(seen, "phone")
    assert seen.overflow() == 0
    assert seen.violations(contrast=False) == []
    seen.page.set_viewport_size({"width": 320, "height": 900})
    assert seen.overflow() == 0


@each_page_to_read
def test_a_stage_without_javascript_is_a_picture_and_every_sentence(opened, visit):
    seen = visit(opened.address, scripts=False)
    stages = seen.page.locator("memory-stage")
    assert stages.count() == opened.page.locator("memory-stage").count()
    for stage in stages.all():
        trace = json.loads(stage.locator("script[type='application/json']").text_content())
        shown = " ".join(stage.inner_text().split())
        for variant in trace["variants"]:
            for step in variant["steps"]:
                assert " ".join(step["say"].replace("`", "").split()) in shown
        drawing = stage.locator("svg").first.bounding_box()
        assert drawing and drawing["width"] > 100 and drawing["height"] > 50


@each_page_to_read
def test_a_page_prints(opened):
    opened.page.emulate_media(media="print")
    try:
        picture(opened, "print")
        titles = [title for title in opened.page.locator("h1").all() if title.is_visible()]
        assert len(titles) == 1
        assert not opened.page.locator(".bd-sidebar-primary").is_visible()
        assert opened.page.pdf().startswith(b"%PDF")
    finally:
        opened.page.emulate_media(media="null")


# What follows leaves the page at the end of every stage, and in the dark: it comes last.


@each_page
def test_a_page_is_accessible_when_every_stage_was_stepped_to_its_end_by_keyboard(opened):
    assert theme(opened) == "light"
    picture(opened, "light")
    assert opened.overflow() == 0
    for number, stage in enumerate(opened.page.locator("memory-stage").all()):
        step_to_the_end(opened.page, stage, every_step=number == 0)  # the keys of one are those of all
    assert opened.complaints == []
    assert opened.violations() == []


@each_page
def test_a_page_turns_dark_with_the_readers_system_and_can_be_read_then(opened):
    opened.page.emulate_media(color_scheme="dark")
    opened.page.locator("html[data-theme=dark]").wait_for(state="attached")
    picture(opened, "dark")
    assert opened.overflow() == 0
    assert opened.complaints == []
    assert opened.violations(all_else=False) == []  # all else was asked in the light


def test_a_page_that_is_opened_in_the_dark_is_dark(site, visit):
    seen = visit(f"{site}{READ[0]}.html", scheme="dark")
    assert theme(seen) == "dark"
    assert seen.violations(all_else=False) == []
