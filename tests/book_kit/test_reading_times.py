"""Test the reading times and the addresses on the page of learning paths."""

from __future__ import annotations

import pytest

from book_kit.tables.reading_times import address, exercise_minutes, minutes, rule
from memory_stage.messages import set_language

HEAD = "---\nquestion: Why?\n---\n\n"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a function that writes a page and returns its reading time in minutes."""
    monkeypatch.chdir(tmp_path)

    def written(text):
        (tmp_path / "03_views.md").write_text(HEAD + text, encoding="utf-8")
        return minutes("03_views")

    return written


def test_prose_is_read_at_half_the_published_rate(page):
    assert page("A view reads cells. " * 300) == 10  # 1,200 words
    assert page("```python\n" + "x = mt.ones([3])\n" * 2_000 + "```\n") == 5


def test_a_step_of_a_stage_takes_ten_seconds(page):
    steps = "x = mt.ones([3])\n" * 120
    assert page(f"```{{code-cell}} ipython3\n%%stage\n{steps}```\n") == 20
    program = f"stage.record(\n    {chr(34) * 3}\n{steps}{chr(34) * 3},\n    title='Ones',\n)\n"
    assert page(f"```{{code-cell}} ipython3\n:tags: [remove-input]\n\n{program}```\n") == 20
    named = f"programs = {{'a': {chr(34) * 3}\n{steps}{chr(34) * 3}}}\npredict('What?', options={{}})\n"
    compared = "stage.compare(programs, title='Ones')\n"
    assert page(f"```{{code-cell}} ipython3\n{named}```\n\n```{{code-cell}} ipython3\n{compared}```\n") == 20


def test_a_question_takes_a_minute_and_its_words_are_read(page):
    words = "A view reads cells. " * 297  # 1,188 words, five minutes
    question = f"predict(\n    {words!r},\n    options={{'a': {words!r}}},\n    answer='a',\n)\n"
    assert page(f"```{{code-cell}} ipython3\n{question}```\n") == 10
    assert page(f"```{{code-cell}} ipython3\n{question}```\n" * 2) == 20


def test_shown_code_takes_a_minute_for_20_lines_and_another_minute_for_its_output(page):
    lines = "x = mt.ones([3])\n" * 380
    assert page(f"```{{code-cell}} ipython3\n{lines}```\n") == 20
    assert page(f"```{{code-cell}} ipython3\n:tags: [remove-input]\n\n{lines}```\n" * 10) == 10
    assert page(f"```{{code-cell}} ipython3\n---\ntags: [hide-cell]\n---\n{lines}```\n") == 5


def test_exercises_are_counted_separately_and_a_project_is_not_counted(page):
    exercise = "```{code-cell} ipython3\ncheck(f, **tests)\n```\n"
    page(exercise * 5)
    assert (minutes("03_views"), exercise_minutes("03_views")) == (5, 40)
    page(f"**1. Do it.** Now.\n\n{exercise}\n**2. Project: more.** Now.\n\n{exercise}")
    assert exercise_minutes("03_views") == 10


def test_folded_boxes_and_sections_that_a_reader_may_skip_are_not_counted(page):
    text = "A view reads cells. " * 600
    assert page(text) == 20
    assert page(f":::{{dropdown}} More\n{text}\n:::\n") == 5
    assert page(f"## Costs\n\n:::{{container}} optional\nSkip this.\n:::\n\n{text}\n\n## Next\n\n{text}") == 20


def test_a_translation_has_the_times_of_the_english_page(page, tmp_path, monkeypatch):
    page("A view reads cells. " * 300)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "03_views.md").rename(tmp_path / "chapters" / "03_views.md")
    (tmp_path / "zh" / "chapters").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "zh" / "chapters")
    set_language("zh")
    try:
        assert minutes("03_views") == 10
    finally:
        set_language(None)


def test_a_page_that_does_not_exist_is_refused(page):
    with pytest.raises(FileNotFoundError):
        minutes("99_nothing")


def test_a_page_that_is_not_translated_has_the_english_address(page):
    page("")
    assert address("03_views.md") == "03_views.html"
    assert address("03_views.md#a-part") == "03_views.html#a-part"
    assert address("A_names.md#a-part") == "../../chapters/A_names.html#a-part"


def test_the_rule_mentions_the_published_rate_in_each_language():
    assert rule().startswith("119 words a minute, which is half of 238, or 20 lines of code; 1 minute for each table,")
    set_language("zh")
    try:
        assert rule().startswith("英文每分钟 119 个词（238 的一半）")
    finally:
        set_language(None)


def test_the_magic_of_a_stage_is_not_one_of_its_steps(page):
    steps = "x = mt.ones([3])\n" * 75  # 12.5 minutes, which are rounded to 10
    assert page(f"```{{code-cell}} ipython3\n%%stage\n{steps}```\n") == 10
    assert page(f"```{{code-cell}} ipython3\n%%stage\n{steps}y = x\n```\n") == 15
