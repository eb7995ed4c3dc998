"""Test that every text has enough contrast to its background and that lines are visible, in light and dark colours."""

from __future__ import annotations

import json

import pytest

from memory_stage.web import picture
from memory_stage.web.embed import source_module
from tests.support.web import drawing, pages

TEXT, GRAPHIC = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11


def tokens(mode: str) -> dict[str, str]:
    """Map the names of a mode's colours to the colours, as the script reads them."""
    return json.loads(source_module("shared/colors.json"))[mode]


MODES = {mode: tokens(mode) for mode in ("light", "dark")}


def contrast(one: str, other: str) -> float:
    """Return WCAG's ratio of two colours, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_pairs(svg: str) -> set[tuple[str, str, str]]:
    """Return the colour of every text, the colour of the last box drawn under it, and the text."""
    found, behind = set(), []
    for mark in drawing.marks(svg):
        if mark.kind == "rect":
            if mark.fill != "none":
                behind.append(mark)
            continue
        at = [r for r in behind if r.x <= mark.x <= r.x + r.w and r.y <= mark.y <= r.y + r.h]
        found.add((mark.fill, at[-1].fill if at else "paper", mark.said))
    return found


def test_contrast_is_computed_as_in_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_every_text_of_every_picture_has_enough_contrast_and_is_not_on_a_pattern():
    pairs: dict[tuple[str, str], str] = {}
    for name in pages.NAMES:
        trace = pages.trace(name)
        for number, variant in enumerate(trace["variants"]):
            count = len(variant["steps"])
            for step in range(count - 1, -1, -(1 + count // 5)):
                for width in (288, 760):
                    for text, ground, said in text_pairs(picture.svg(trace, number, step, width)):
                        pairs.setdefault((text, ground), said)
    # among them red on light red, the colour of the paper on red, and digits on the tints of aliases
    assert {("red", "redwash"), ("paper", "red"), ("muted", "wash"), ("ink", "t1"), ("ink", "t4")} <= set(pairs)
    for (text, ground), said in pairs.items():
        assert ground in MODES["light"], f'"{said}" is drawn on {ground}'
        for mode, colours in MODES.items():
            assert contrast(colours[text], colours[ground]) >= TEXT, f'"{said}": {text} on {ground}, {mode}'


@pytest.mark.parametrize("mode", MODES)
def test_lines_and_alias_colours_have_enough_contrast_to_the_background(mode):
    colours = MODES[mode]
    for ground in ("paper", "wash"):
        for token in ("ink", "line", "node", "red", "focus", "a1", "a2", "a3", "a4"):
            assert contrast(colours[token], colours[ground]) >= GRAPHIC, f"{token} on {ground}"
    for alias in "1234":  # a pattern has lines in the colour of an alias, on the tint of the same alias
        assert contrast(colours[f"a{alias}"], colours[f"t{alias}"]) >= 2, f"pattern {alias}"
