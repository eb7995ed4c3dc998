"""The layout of chapters in JupyterLab and Notebook 7 while they run: no two texts overlap or touch, none is cut off.

Each test opens a chapter as a notebook, runs all its cells with a kernel, and checks it in several looks: fonts, text
sizes, windows, themes. Each run has the same sample. MINITENSOR_SEED=N draws another sample, and MINITENSOR_LAYOUT=all
checks every chapter, which takes hours. The project's environment contains JupyterLab. Notebook 7 is in the environment
`class` that tools/peers.py creates.
"""

from __future__ import annotations

import random

import pytest

from tests.support.chapters.chapter import in_order
from tests.support.site.looks import EVERYTHING, FONTS, SEED, Look, faults, has_font
from tests.support.site.notebook_programs import PROGRAMS, SCROLLER, run_notebook, serving, set_look

CHAPTERS = [f"chapters/{name}" for name in in_order()]
TRANSLATED = [f"zh/{name}" for name in CHAPTERS]
SAMPLE = {"JupyterLab": 1, "Notebook 7": 2}  # numbers of chapters; `make test` runs only JupyterLab, to be quick
SAMPLE_OF_ALL = 4  # the number of Chinese chapters, in addition to all English chapters
LOOKS = 3  # the number of looks of each chapter, one for each font


def chosen(program: str) -> list[tuple[str, str]]:
    """Return the chapters to open in a program: a sample, or all English chapters and a sample of the Chinese ones."""
    draw = random.Random(f"{SEED} chapters in {program}")
    names = draw.sample(CHAPTERS + TRANSLATED, SAMPLE[program])
    if EVERYTHING:
        names = CHAPTERS + draw.sample(TRANSLATED, SAMPLE_OF_ALL)
    return [(program, name) for name in names]


def looks(program: str, name: str) -> list[Look]:
    """Return the looks of a chapter: a sample that contains light, dark and all fonts, or all looks."""
    if EVERYTHING:
        return [look for look in Look.combinations() if look.place == program]
    draw = random.Random(f"{SEED} {program} {name}")
    fonts = draw.sample(list(FONTS), len(FONTS))
    return [
        Look.choose(draw, place=program, font=fonts[number % len(fonts)], scheme=("light", "dark")[number % 2])
        for number in range(LOOKS)
    ]


@pytest.fixture(scope="module")
def server(request, tmp_path_factory):
    """Start a program, or skip the test if it is missing."""
    program = PROGRAMS[request.param]
    if program.lacking:
        pytest.skip(program.lacking)
    with serving(program, tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.parametrize(
    ("server", "name"), [case for program in PROGRAMS for case in chosen(program)], indirect=["server"]
)
def test_no_text_of_a_running_notebook_overlaps_or_is_cut_off(browser, server, name):
    with run_notebook(browser, server, name) as page:
        for look in looks(server.program.name, name):
            if not all(has_font(page, family) for family in FONTS[look.font] or ()):
                continue
            set_look(page, look)
            found = faults(page, look, SCROLLER)
            assert found == [], f"{name}, {look}, MINITENSOR_SEED={SEED}: {len(found)} faults, the first: {found[:8]}"


# ---- earlier faults, planted again -----------------------------------------------------------------------------------

NOTES = "for (const note of document.querySelectorAll('.mt-note'))"
STAGES = "for (const stage of document.querySelectorAll('memory-stage'))"
PLANTED = {
    "touches": STAGES
    + """{
        stage.meter = { key: 'assumed', widthOf: (text, font) => text.length * font.size * (font.mono ? .6 : .5) };
        stage.draw();
    }""",
    "overlaps": STAGES + " stage.$('.pic').style.marginTop = '-90px';",
    "is cut off": STAGES
    + " Object.assign(stage.$('.say').style, { height: '30px', minHeight: 0, overflow: 'hidden' });",
    "is wider than its box": STAGES
    + " for (const text of stage.$('.pic').querySelectorAll('text')) text.style.fontSize = '26px';",
    "px wide in": STAGES + " stage.$('.pic').style.marginLeft = '900px';",
    "end inside of words": NOTES + " note.style.wordBreak = 'break-all';",
}


@pytest.mark.parametrize("server", PROGRAMS, indirect=True)
def test_planted_faults_of_a_notebook_are_found(browser, server):
    look = Look(server.program.name)
    with run_notebook(browser, server, "chapters/03_views") as page:
        set_look(page, look)
        found = faults(page, look, SCROLLER)
        assert found == []
        for kind, plant in PLANTED.items():
            earlier = set(found)
            page.evaluate(f"() => {{ {plant} }}")
            found = faults(page, look, SCROLLER)
            assert [fault for fault in found if kind in fault and fault not in earlier] != [], kind
