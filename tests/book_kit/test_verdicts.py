"""Test the bars of verdicts: their lengths, their numbers, and the errors for invalid rows."""

from __future__ import annotations

import re

import pytest

from book_kit.questions import verdicts
from memory_stage import set_language

ROWS = {"PyTorch": {"right": 300, "refused": 100, "wrong": 0}, "<Paddle>": {"right": 200, "refused": 150, "wrong": 50}}


def page() -> str:
    return verdicts.show(ROWS, of="programs & more")._repr_mimebundle_()["text/html"]


def test_a_bar_is_as_long_as_its_part_of_the_programs():
    assert re.findall(r"width:([\d.]+)%;min-width", page()) == ["75.00", "25.00", "0.00", "50.00", "37.50", "12.50"]


def test_the_numbers_are_in_a_table_with_headings():
    assert [text for text in re.findall(r"<td style[^>]*>(\d+)</td>", page())] == [
        "300",
        "100",
        "0",
        "200",
        "150",
        "50",
    ]
    assert page().count('scope="row"') == 2 and page().count('scope="col"') == 3
    assert "of 400 programs &amp; more" in page() and "&lt;Paddle&gt;" in page()


def test_the_three_verdicts_differ_without_colour():
    looks = list(verdicts.LOOKS.values())
    assert len({"gradient" in look for look in looks[:2]}) == 2 and "gradient" not in looks[2] and looks[0] != looks[2]


def test_the_text_has_one_line_for_each_engine():
    first, second = str(verdicts.show(ROWS)).splitlines()
    assert first.split() == ["PyTorch", "right", "300", "refused", "100", "wrong", "0"]
    assert second.split() == ["<Paddle>", "right", "200", "refused", "150", "wrong", "50"]


@pytest.mark.parametrize("rows", [{}, {"a": {"right": 1}}, {"a": {"right": 0, "refused": 0, "wrong": 0}}])
def test_rows_with_only_zeros_or_other_verdicts_are_refused(rows):
    with pytest.raises(ValueError, match=r"takes|must be counted as"):
        verdicts.show(rows)


def test_the_words_are_in_the_language_that_is_set():
    try:
        set_language("zh")
        shown = verdicts.show(ROWS)._repr_mimebundle_()
    finally:
        set_language(None)
    assert "共 400 个程序" in shown["text/html"] and "拒绝    100" in shown["text/plain"]
