"""The layout of stages and pages: no two texts overlap or touch, and none is cut off.

Each run checks a sample of looks: three fonts, text at 200 %, four windows, light and dark, the page and the HTML that
nbconvert makes of a chapter. `test_pages.py` checks every page in the book's own fonts. Each run has the same sample,
because some other looks (narrow windows with wide fonts) still have faults. MINITENSOR_SEED=N draws another sample, and
MINITENSOR_LAYOUT=all checks every page in every look, which takes an hour.
"""

from __future__ import annotations

import random

import pytest

from tests.support.chapters.chapter import in_order, pages
from tests.support.site.looks import EVERYTHING, FONTS, SEED, Look, faults, has_font, open_page

SAMPLE = 12  # looks
PLACES_OF_SAMPLE = ("page", "page", "JupyterLab", "Notebook 7")
CHAPTER = "chapters/04_aliases"


def expect_no_fault(browser, site: str, name: str, look: Look) -> None:
    """Expect no fault in the layout of a page. Skip the test if this machine lacks a font of the look."""
    with open_page(browser, f"{site}{name}.html", look) as page:
        for family in FONTS[look.font] or ():
            if not has_font(page, family):
                pytest.skip(f"this machine has no font {family}")
        found = faults(page, look)
    assert found == [], f"{name}, {look}, MINITENSOR_SEED={SEED}: {len(found)} faults, the first: {found[:8]}"


@pytest.mark.parametrize("number", range(SAMPLE))
def test_a_sample_of_other_layouts_has_no_fault(browser, site, number):
    """The test chooses a random look when it runs, because all processes of a run have to collect the same tests."""
    draw = random.Random(f"{SEED} {number}")
    look = Look.choose(draw, place=PLACES_OF_SAMPLE[number % len(PLACES_OF_SAMPLE)])
    chapters = [f"chapters/{name}" for name in in_order()]
    expect_no_fault(browser, site, draw.choice(pages() if look.place == "page" else chapters), look)


@pytest.mark.skipif(not EVERYTHING, reason="takes an hour: MINITENSOR_LAYOUT=all")
@pytest.mark.parametrize("look", list(Look.combinations()) if EVERYTHING else [], ids=str)
def test_no_layout_of_any_page_has_a_fault(browser, site, look):
    for name in pages() if look.place == "page" else [f"chapters/{name}" for name in in_order()]:
        expect_no_fault(browser, site, name, look)


# ---- earlier faults, planted again -----------------------------------------------------------------------------------

STAGES = "for (const stage of document.querySelectorAll('memory-stage'))"
PLANTED = {
    "a picture that is moved over the words above it": (
        Look(),
        STAGES + " stage.$('.pic').style.marginTop = '-90px';",
        "overlaps",
    ),
    "letters whose widths are assumed": (
        Look(font="DejaVu"),
        STAGES
        + """{
            stage.meter = { key: 'assumed', widthOf: (text, font) => text.length * font.size * (font.mono ? .6 : .5) };
            stage.draw();
        }""",
        "touches",
    ),
    "letters whose widths are assumed, in a notebook": (
        Look("JupyterLab"),
        STAGES
        + """{
            stage.meter = { key: 'assumed', widthOf: (text, font) => text.length * font.size * (font.mono ? .6 : .5) };
            stage.draw();
        }""",
        "touches",
    ),
    "a transparent bar of controls on a phone": (
        Look(window=(390, 844)),
        STAGES + " stage.$('.time').style.background = 'transparent';",
        "overlaps",
    ),
    "a sentence in a box that is too low": (
        Look(),
        STAGES + " Object.assign(stage.$('.say').style, { height: '30px', minHeight: 0, overflow: 'hidden' });",
        "is cut off",
    ),
    "a label that reaches beyond its box": (
        Look(),
        STAGES + " for (const text of stage.$('.pic').querySelectorAll('text')) text.style.fontSize = '26px';",
        "is wider than its box",
    ),
    "a picture that is wider than the page": (
        Look(),
        STAGES + " stage.$('.pic').style.marginLeft = '900px';",
        "reaches beyond the page",
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_fault_of_the_layout_is_found(browser, site, what):
    look, plant, kind = PLANTED[what]
    with open_page(browser, f"{site}{CHAPTER}.html", look) as page:
        if FONTS[look.font] and not has_font(page, FONTS[look.font][0]):
            pytest.skip(f"this machine has no font {look.font}")
        assert faults(page, look) == []
        page.evaluate(f"() => {{ {plant} }}")
        assert [fault for fault in faults(page, look) if kind in fault] != []
