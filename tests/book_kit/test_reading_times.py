"""Test the reading times and the addresses on the page of learning paths."""

from __future__ import annotations

import pytest

from book_kit.tables.reading_times import address, minutes, rule
from memory_stage.messages import set_language

HEAD = "---\nquestion: Why?\n---\n\n"
STAGE = "```{code-cell} ipython3\n%%stage\nx = mt.ones([3])\n```\n"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a function that writes a page and returns its minutes."""
    monkeypatch.chdir(tmp_path)

    def written(text):
        (tmp_path / "03_views.md").write_text(HEAD + text, encoding="utf-8")
        return minutes("03_views")

    return written


def test_english_is_counted_in_words_and_chinese_in_characters(page):
    assert page("A view reads cells. " * 375) == 10  # 1,500 words
    assert page("视图读取同样的单元，" * 333) == 10  # 3,000 characters, and commas
    assert page("视图读取同样的单元，" * 333 + "A view reads cells. " * 375) == 20
    assert page("视图 `x` 读取存储。" * 500) == 15  # 3,500 characters, and 500 names


def test_a_stage_adds_a_fixed_time_and_its_code_adds_none(page):
    assert page(STAGE * 20) == 30
    assert page("```python\n" + "x = mt.ones([3])\n" * 2_000 + "```\n") == 5


def test_code_that_the_page_shows_takes_a_minute_for_40_lines(page):
    lines = "x = mt.ones([3])\n" * 800
    assert page(f"```{{code-cell}} ipython3\n{lines}```\n") == 20
    assert page(f"```{{code-cell}} ipython3\n:tags: [remove-input]\n\n{lines}```\n") == 5
    assert page(f"```{{code-cell}} ipython3\n---\ntags: [hide-cell]\n---\n{lines}```\n") == 5
    assert page(f"```{{code-cell}} ipython3\n%%stage\n{lines}```\n") == 5


def test_a_page_that_does_not_exist_is_refused(page):
    with pytest.raises(FileNotFoundError):
        minutes("99_nothing")


def test_a_page_that_is_not_translated_has_the_english_address(page):
    page("")
    assert address("03_views.md") == "03_views.html"
    assert address("03_views.md#a-part") == "03_views.html#a-part"
    assert address("A_names.md#a-part") == "../../chapters/A_names.html#a-part"


def test_the_rule_mentions_the_reading_speed_of_the_language():
    assert rule() == "150 words or 40 lines of code a minute, and 1.5 minutes for each stage, question and exercise."
    set_language("zh")
    try:
        assert rule() == "每分钟 300 字或 40 行代码，每个舞台、问题和练习另加 1.5 分钟。"
    finally:
        set_language(None)
