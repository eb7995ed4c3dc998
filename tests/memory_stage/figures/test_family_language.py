"""Test each kind of figure in English and in Chinese: its sentence, tables, picture and controls."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from bs4 import BeautifulSoup

import minitensor as mt
from memory_stage import set_language
from memory_stage.figures import allocator_map, meter, stride_explorer, timeline, what_fits
from memory_stage.web.element import Figure, ask_script, picture
from minitensor import memory

SCHEMAS = Path(timeline.__file__).parent
#: Words that remain English in a Chinese figure: names of operations and devices, and the programs' labels.
UNTRANSLATED = {"ones", "add", "add_", "relu", "relu_", "gpu", "sim", "batch", "normal", "in", "place", "zeros"}


def figures() -> dict[str, Figure]:
    """Return a figure of each kind."""
    mt.set_device("gpu:sim", capacity="64 MiB")
    try:
        with memory.record() as recording:
            x = mt.ones([1024, 1024])
            y = x + 1
            x.add_(1)
            mt.relu(y)
            mapped = allocator_map.show(recording)
        shown = meter.Meter()
        kept = mt.ones([1024])
        shown.note("[1]")
        metered = shown.figure()
        del x, y, kept
    finally:
        mt.set_device("cpu")
    q = mt.arange(12).reshape([3, 4])
    programs = {
        "normal": lambda batch, size: mt.relu(mt.zeros([batch, size, size])),
        "in place": lambda batch, size: mt.relu_(mt.zeros([batch, size, size])),
    }
    return {
        "timeline": timeline.show({"a": recording, "b": recording}),
        "allocator": mapped,
        "meter": metered,
        "strides": stride_explorer.show(q, views={"q": q, "q.t()": q.t()}, index=[1, 2]),
        "fits": what_fits.show(programs, batches=[1, 2], sizes=[64, 1024], capacities=["1 MiB"]),
    }


@pytest.fixture(scope="module")
def both() -> dict[str, dict[str, Figure]]:
    """Map each language to a figure of each kind."""
    made = {}
    try:
        for language in ("en", "zh"):
            set_language(language)
            made[language] = figures()
    finally:
        set_language(None)
    return made


KINDS = ("timeline", "allocator", "meter", "strides", "fits")


@pytest.mark.parametrize("kind", KINDS)
def test_the_script_and_python_write_the_same_sentence_in_each_language(both, kind):
    for language, tag in (("en", None), ("zh", "zh-CN")):
        figure = both[language][kind]
        assert figure.data.get("language") == tag
        data = json.loads(json.dumps(figure.data))
        jsonschema.validate(data, json.loads((SCHEMAS / f"{kind}.schema.json").read_text("utf-8")))
        assert ask_script("sentence", data) == figure.sentence
        if kind == "allocator":
            made = [ask_script("sentence", data, {"step": step}) for step in range(len(figure.steps))]
            assert made == list(figure.steps)


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_the_same_in_both_languages(both, kind):
    english, chinese = both["en"][kind], both["zh"][kind]
    assert re.findall(r"\d[\d.,]*\d|\d", english.sentence) == re.findall(r"\d[\d.,]*\d|\d", chinese.sentence)
    assert len(english.steps) == len(chinese.steps)
    for one, other in zip(english.tables, chinese.tables, strict=True):
        numbers = [[re.findall(r"\d[\d.,]*", cell) for cell in row] for row in one.rows]
        assert [[re.findall(r"\d[\d.,]*", cell) for cell in row] for row in other.rows] == numbers


@pytest.mark.parametrize("kind", KINDS)
def test_no_english_word_is_left_in_a_chinese_figure(both, kind):
    figure = both["zh"][kind]
    drawn = BeautifulSoup(picture(figure.data), "html.parser")
    texts = [figure.as_text(), *(text.get_text() for text in drawn.select("text"))]
    texts += [text for table in ask_script("tables", figure.data) for text in (table["caption"], *table["head"])]
    words = {word for text in texts for word in re.findall(r"[a-z_]{2,}", text)}
    assert words - UNTRANSLATED == set()


def test_the_controls_and_the_legend_are_in_the_language_of_the_data(both, open_page, tmp_path):
    for language, words in (("en", ("Next", "How to read the picture")), ("zh", ("下一步", "图例"))):
        both[language]["timeline"].save(tmp_path / f"{language}.html")
        page = open_page()
        page.goto((tmp_path / f"{language}.html").as_uri())
        figure = page.locator("memory-figure")
        figure.get_by_role("button", name=words[0], exact=True).wait_for()
        figure.get_by_text(words[1], exact=True).wait_for()
        assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-CN"}[language]
