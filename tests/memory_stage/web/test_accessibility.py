"""Test `accessibility.violations`: it lets axe check one text of each style, which is faster, and must find the same
faults as a check of all texts.
"""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support import accessibility
from tests.support.waiting import soon

ONLY_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "preload": False}
STYLE = """p, li, button { color: #222; background: #fff } .far { position: absolute; left: 0 } .sun { color: #222 }
.box { position: absolute; width: 60px; height: 60px; background: #333 } .faded { opacity: .4 }"""
TWENTY = '<p class="note">words</p>' * 20
#: For each fault, the HTML of a page. The element with the id ``bad`` has the fault, and similar elements do not.
FAULTS = {
    "a text with another colour": f'{TWENTY}<p class="note" style="color: #ccc" id="bad">words</p>{TWENTY}',
    "a text with the colour of its parent": (
        f'{TWENTY}<div style="color: #bbb"><p class="note" style="color: inherit" id="bad">words</p></div>'
    ),
    "a text on another background": (
        f'{TWENTY}<div style="background: #444"><p class="note" style="background: none" id="bad">words</p></div>'
    ),
    "the style of a single character, which axe cannot judge": (
        '<b class="x" style="color: #ccc">x</b><b class="x" style="color: #ccc" id="bad">words</b>'
    ),
    "a text over a box that is not its parent": (
        '<div style="position: relative; height: 80px"><div class="box" style="top: 0; left: 200px"></div>'
        '<b class="far" style="top: 9px">words</b><b class="far" style="top: 9px; left: 210px" id="bad">up</b></div>'
    ),
    "a half-transparent parent": f'{TWENTY}<div class="faded"><p class="note" id="bad">words</p></div>',
    "the style of a hidden text": (
        '<div style="color: #ccc"><b class="x" hidden>words</b><b class="x" style="visibility: hidden">words</b>'
        '<b class="x" id="bad">words</b></div>'
    ),
    "the style of a disabled button": (
        '<button style="color: #bbb" disabled>one</button><button style="color: #bbb" id="bad">two</button>'
    ),
    "the colour of a larger text": (
        '<p style="color: #888; font-size: 40px">words</p><p style="color: #888; font-size: 12px" id="bad">words</p>'
    ),
    "a link marked only by its colour": (
        '<p>Some text with a <a href="#a" style="color: #000; text-decoration: underline">first</a> and a '
        '<a href="#b" style="color: #333; text-decoration: none" id="bad">second</a> link in it.</p>'
    ),
    "a button without a name": '<button>one</button><button id="bad"></button>',
}


def plain(page) -> list[str]:
    """Return the faults that axe finds if it checks every element."""
    options = {"rules": {"label-content-name-mismatch": {"enabled": True}}, "preload": False}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]


def place(html: str) -> str:
    """Return the tag and the classes of an element in axe's report."""
    tag = re.match(r"<([\w-]+)", html)[1]
    classes = re.search(r' class="([^"]*)"', html.partition(">")[0])
    return f"{tag}.{classes[1] if classes else ''}"


@pytest.mark.parametrize("fault", FAULTS)
def test_an_unreadable_text_among_many_similar_texts_is_found(show, fault):
    page = show(body=FAULTS[fault], css=STYLE, script=False)
    bad = [line for line in plain(page) if 'id="bad"' in line]
    found = [line for line in accessibility.violations(page) if 'id="bad"' in line]
    assert len(found) == len(bad) > 0
    assert page.locator(f"[{accessibility.LOOK}]").count() == 0


def test_without_contrast_exactly_the_faults_of_colours_are_left_out(show):
    page = show(body="".join(FAULTS.values()), css=STYLE, script=False)
    everything = accessibility.violations(page)
    others = [line for line in everything if line.partition(": ")[0] not in accessibility.OF_COLOURS]
    assert accessibility.violations(page, contrast=False) == others != []
    assert {line.partition(": ")[0] for line in everything} > set(accessibility.OF_COLOURS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["--ink", "--paper"])
def test_a_wrong_colour_inside_a_stage_is_found_where_axe_finds_it(show, name, scheme):
    page = show("stale", scheme=scheme)
    page.evaluate("host().go(3)")
    page.evaluate(
        """name => host().shadowRoot.append(Object.assign(
            document.createElement('style'), { textContent: `* { ${name}: #808080 !important }` }))""",
        name,
    )
    asked = Axe().run(page, options=ONLY_COLOURS).response["violations"]
    places = {place(node["html"]) for rule in asked for node in rule["nodes"]}
    found = {place(line.partition(": ")[2]) for line in accessibility.violations(page, all_else=False)}
    assert found >= places != set()


def test_a_step_is_announced_once_and_its_picture_has_the_sentence_as_its_label(show):
    """An element ``<output>`` would announce the number of the step as well, even while the reader only scrolls."""
    page = show("stale")
    stage = page.locator("memory-stage")
    stage.evaluate(accessibility.LISTEN)
    for step in range(4):
        stage.evaluate("(stage, step) => { heard.length = 0; stage.go(step); }", step)
        sentence = stage.locator(".sentence").inner_text()
        assert soon(page.evaluate, "heard") == [sentence]
        assert f'img "{sentence}"' in stage.aria_snapshot()
