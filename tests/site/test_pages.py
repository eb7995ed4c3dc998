"""Every page of the book, as a reader's browser sees it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.chapters.chapter import pages
from tests.site.stage import step_to_the_end
from tools.build import ROOT

READ = pages()
PAGES = [*READ, "search"]
SCHEMES = ("light", "dark")
OWN_ELEMENTS = ("memory-stage", "predict-first")
KILOBYTE = 1000
HEAVIEST = {False: 500 * KILOBYTE, True: 800 * KILOBYTE}  # without and with mathematics
SCREENSHOTS = ROOT / "_build" / "screenshots"


def picture(page: str, *what: str) -> Path:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return SCREENSHOTS / f"{'-'.join((Path(page).name, *what))}.png"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_no_other_host_and_reports_no_error(site, visit, name):
    seen = visit(f"{site}{name}.html")
    seen.read_through()
    assert (seen.foreign, seen.failed, seen.complaints) == ([], [], [])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_from_the_disk(book, visit, name):
    seen = visit((book / f"{name}.html").as_uri())
    seen.read_through()
    assert (seen.foreign, seen.complaints) == ([], [])
    for element in OWN_ELEMENTS:
        assert seen.page.locator(f"{element}:not(:defined)").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(site, book, visit, name):
    seen = visit(f"{site}{name}.html")
    has_mathematics = seen.page.locator("mjx-container").count() > 0
    weight = seen.weight()
    own = len(gzip.compress((book / f"{name}.html").read_bytes()))
    assert weight > own + 50 * KILOBYTE  # the theme alone is more: the scale works
    assert weight <= HEAVIEST[has_mathematics], f"{weight / KILOBYTE:.0f} KB compressed"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_when_every_stage_was_stepped_to_its_end_by_keyboard(site, visit, name, scheme):
    seen = visit(f"{site}{name}.html", scheme=scheme)
    assert seen.page.evaluate("document.documentElement.dataset.theme") == scheme
    seen.page.screenshot(path=picture(name, scheme), full_page=True)
    assert seen.overflow() == 0
    for stage in seen.page.locator("memory-stage").all():
        step_to_the_end(seen.page, stage)
    assert seen.complaints == []
    assert seen.violations() == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(site, visit, name):
    seen = visit(f"{site}{name}.html", width=360)
    seen.page.screenshot(path=picture(name, "phone"), full_page=True)
    assert seen.overflow() == 0
    assert seen.violations(contrast=False) == []
    seen.page.set_viewport_size({"width": 320, "height": 900})
    assert seen.overflow() == 0


@pytest.mark.parametrize("name", READ)
def test_a_stage_without_javascript_is_a_picture_and_every_sentence(site, visit, name):
    scripted = visit(f"{site}{name}.html")
    count = scripted.page.locator("memory-stage").count()
    seen = visit(f"{site}{name}.html", scripts=False)
    stages = seen.page.locator("memory-stage")
    assert stages.count() == count
    for stage in stages.all():
        trace = json.loads(stage.locator("script[type='application/json']").text_content())
        shown = " ".join(stage.inner_text().split())
        for variant in trace["variants"]:
            for step in variant["steps"]:
                assert " ".join(step["say"].replace("`", "").split()) in shown
        drawing = stage.locator("svg").first.bounding_box()
        assert drawing and drawing["width"] > 100 and drawing["height"] > 50


@pytest.mark.parametrize("name", READ)
def test_a_page_prints(site, visit, name):
    seen = visit(f"{site}{name}.html")
    seen.page.emulate_media(media="print")
    seen.page.screenshot(path=picture(name, "print"), full_page=True)
    titles = [title for title in seen.page.locator("h1").all() if title.is_visible()]
    assert len(titles) == 1
    assert not seen.page.locator(".bd-sidebar-primary").is_visible()
    assert seen.page.pdf().startswith(b"%PDF")
