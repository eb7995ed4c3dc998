"""Test that each stage of a page that has just opened is mostly picture, with large cells and few controls."""

from __future__ import annotations

import pytest

from tests.support.chapters.chapter import in_order
from tests.support.site.measures import SHARES
from tests.support.waiting import wait_for_script

LEAST_SHARE = 0.5  # the smallest share that a picture may have of its stage's area
LEAST_CELL = 44  # the smallest height of a cell, in px
MOST_CONTROLS = 4
#: Chapters whose first stages are small programs.
CHAPTERS = [name for name in in_order() if name[:2] <= "10"]


@pytest.mark.parametrize(
    ("name", "window"),
    [
        pytest.param(name, window, id=f"{name}-{where}")
        for name in CHAPTERS
        for where, window in (("window", (1440, 900)), ("phone", (390, 844)))
    ],
)
def test_the_picture_is_the_greater_part_of_a_stage(site, visit, name, window):
    page = visit(f"{site}chapters/{name}.html").page
    page.set_viewport_size({"width": window[0], "height": window[1]})
    wait_for_script(page, "width => document.documentElement.clientWidth === width", window[0])
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = page.locator("memory-stage").evaluate_all(SHARES)
    assert found
    # rounded, because a browser rounds the edges of boxes to its pixels
    assert [one for one in found if round(one["share"], 2) < LEAST_SHARE] == []
    assert [one for one in found if one["cell"] < LEAST_CELL - 0.5] == []
    assert [one for one in found if len(one["controls"]) > MOST_CONTROLS] == []


def test_a_small_picture_small_cells_and_more_controls_are_found(site, visit):
    page = visit(f"{site}chapters/{CHAPTERS[1]}.html").page
    stages = page.locator("memory-stage")
    stages.first.evaluate("stage => { stage.$('.pic svg').style.height = '90px'; stage.showDetails(true); }")
    spoiled = stages.evaluate_all(SHARES)[0]
    assert spoiled["share"] < LEAST_SHARE and spoiled["cell"] < LEAST_CELL and len(spoiled["controls"]) > MOST_CONTROLS
