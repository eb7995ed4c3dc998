"""Test "Save picture": the files contain the program, the sentence and the picture, and load no other file."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.web import pages

SVG = "{http://www.w3.org/2000/svg}"
PNG_START = b"\x89PNG\r\n\x1a\n"
NAMES = ("slice", "error", "hostile", "loop")


def saved(page, kind: str) -> tuple[str, Path]:
    """Press the button for a kind of file. Return the file's name and its path."""
    page.evaluate(
        "stage => stage.shadowRoot.querySelectorAll('details').forEach(box => { box.open = true })", stage(page)
    )
    with page.expect_download() as download:
        page.evaluate(
            "([stage, kind]) => stage.shadowRoot.querySelector(`[data-save=${kind}]`).click()", [stage(page), kind]
        )
    return download.value.suggested_filename, download.value.path()


def stage(page):
    return page.locator("memory-stage").element_handle()


def visible_text(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_svg_contains_the_program_and_the_sentence_and_loads_no_other_file(show, name, scheme):
    page = show(name, scheme=scheme)
    trace = pages.trace(name)
    at = page.evaluate("stage => stage.at.step", stage(page))
    file, path = saved(page, "svg")
    assert re.fullmatch(rf"stage-\S+-step-{at + 1}\.svg", file)
    root = ElementTree.parse(path).getroot()
    words = visible_text("".join(text for element in root.iter(f"{SVG}text") for text in element.itertext()))
    for line in trace["variants"][0]["code"]:
        assert visible_text(line) in words
    assert visible_text(pages.spoken(trace["variants"][0]["steps"][at]["say"])) in words
    inside = set(re.findall(r'id="([^"]+)"', text := path.read_text(encoding="utf-8")))
    assert set(re.findall(r"url\(#?([^)]*)\)", text)) <= inside
    without_namespace = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    code = "\n".join(line for variant in trace["variants"] for line in variant["code"])
    if "//" not in code:
        assert "//" not in without_namespace
    assert not [e for e in root.iter() if e.tag not in {SVG + tag for tag in SHAPES}]
    assert not [name for element in root.iter() for name in element.attrib if "href" in name or name.startswith("on")]


SHAPES = ("svg", "style", "defs", "pattern", "g", "rect", "circle", "path", "text", "tspan", "title")


def test_no_text_of_a_saved_svg_extends_beyond_the_picture(show, open_page):
    for name in ("slice", "error", "three"):
        _, path = saved(show(name), "svg")
        page = open_page(width=1200)
        page.set_content(path.read_text(encoding="utf-8"))
        outside = page.evaluate(
            """() => {
                const whole = document.querySelector('svg').getBoundingClientRect();
                return [...document.querySelectorAll('text')].filter(text => {
                    const box = text.getBoundingClientRect();
                    return box.left < whole.left || box.right > whole.right || box.bottom > whole.bottom;
                }).map(text => text.textContent);
            }"""
        )
        assert outside == []


def test_a_saved_png_has_twice_the_width_and_height_of_the_saved_svg(show):
    page = show("slice", scheme="dark")
    _, drawn = saved(page, "svg")
    root = ElementTree.parse(drawn).getroot()
    file, path = saved(page, "png")
    data = path.read_bytes()
    assert file.endswith(".png") and data.startswith(PNG_START)
    assert struct.unpack(">II", data[16:24]) == tuple(2 * int(root.get(side)) for side in ("width", "height"))
    darkest = page.evaluate(
        """async bytes => {
            const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
            const canvas = new OffscreenCanvas(image.width, image.height);
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            return [...context.getImageData(2, 2, 1, 1).data];
        }""",
        list(data),
    )
    assert max(darkest[:3]) < 64 and darkest[3] == 255  # the dark background
