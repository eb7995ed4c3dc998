"""Test the layout of every example at every width: no text is clipped, covered or crossed by a line."""

from __future__ import annotations

import os
import random

import pytest

import memory_stage as stage
from tests.support.stage import fuzz
from tests.support.stage.programs import PROGRAMS
from tests.support.web import pages

# The widths of the picture: phones of 320 and 360 px, a narrow column, a book's column, and a part of a wide page.
WIDTHS = (288, 320, 360, 592, 700, 760, 792, 1000)


# The widths and the options of the drawn pictures: each depth with the smallest cells, and two depths with large cells.
LOOKS = {
    "everything": (WIDTHS, {"depth": "history"}),
    "tensors": ((320, 592, 760, 1000), {"depth": "tensors"}),
    "memory": ((288, 320, 360, 592, 760, 1000), {"depth": "memory"}),
    "large cells": ((360, 792), {"depth": "memory", "least": 900}),
    "large cells beside tensors": ((360, 792), {"depth": "tensors", "least": 900}),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", pages.NAMES)
def test_texts_and_lines_do_not_overlap(show, name, look):
    widths, options = LOOKS[look]
    found = show("three", width=1300).evaluate("faultsOfPictures", [pages.trace(name), list(widths), options])
    assert found == [], f"{len(found)} faults, the first: " + "; ".join(found[:12])


def test_the_check_of_the_layout_finds_planted_faults(show):
    page = show("three", width=1300)
    page.evaluate("spoilPictures()")
    found = " ".join(page.evaluate("faultsOfPictures", [pages.trace("three"), [760]]))
    for fault in ("overlap", '"far" is cut off', 'runs through "names"', 'a rect covers "names"'):
        assert fault in found


@pytest.mark.parametrize("name", pages.NAMES)
def test_no_element_is_wider_than_the_element_around_it(show, name):
    page = show(name)
    for width in (320, 360, 700, 792, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("document.querySelector('memory-stage').width === innerWidth")
        assert page.evaluate("tooWide()") == [], f"at {width}px"


# The seed of the random programs, of the steps that are drawn, and of the width of each picture.
SEED = int(os.environ.get("MINITENSOR_SEED", "7"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # random programs compute inf and nan
@pytest.mark.parametrize("half", [0, 1])
def test_programs_of_every_kind_are_drawn_without_a_fault(show, half):
    draw = random.Random(SEED)
    programs = {**PROGRAMS, **{f"random {seed}": fuzz.program(draw.randrange(1000)) for seed in range(12)}}
    page = show("three", width=1300)
    for name in list(programs)[half::2]:
        trace = stage.record(programs[name], title=name).data
        count = len(trace["variants"][0]["steps"])
        looks = [[step, draw.randint(272, 1280)] for step in {count - 1, count // 2, draw.randrange(count)}]
        assert page.evaluate("faultsOfSteps", [trace, looks]) == [], name
