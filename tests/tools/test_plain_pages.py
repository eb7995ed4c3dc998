"""Check the language of the pages, and the check itself with planted sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import plain_pages

GOOD = "If you write into the view, the base changes too, because both names use one block of memory. " * 8
PAGE = """---
title: what
---

# What a heading says is not counted

{prose}

```{{code-cell}} ipython3
:tags: [hide-input]

%load_ext book_kit
predict(
    "`x`: which number does it hold?",
    options={{
        "1": "{feedback}",
        "2": "The write changed it.",
    }},
    answer="1",
)
```
"""


@pytest.fixture
def book(monkeypatch, tmp_path: Path):
    """Return a function that writes a chapter into an empty book, checks the book and returns the exit status."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "index.md").write_text(GOOD)
    monkeypatch.setattr(plain_pages, "ROOT", tmp_path)
    monkeypatch.setattr(plain_pages.plain_language, "ROOT", tmp_path)
    monkeypatch.setattr(plain_pages, "LIMITS_FILE", tmp_path / "limits.json")
    plain_pages.LIMITS_FILE.write_text("{}")

    def write(prose: str, feedback: str = "Both names use one storage.") -> int:
        (tmp_path / "chapters" / "01_a.md").write_text(PAGE.format(prose=prose, feedback=feedback))
        return plain_pages.check()

    return write


def test_every_page_keeps_its_limits(capsys):
    status = plain_pages.check()
    assert status == 0, capsys.readouterr().out[-3000:]


def test_limits_are_listed_only_for_pages_that_miss_the_target():
    listed = json.loads(plain_pages.LIMITS_FILE.read_text())
    assert set(listed) <= set(plain_pages.limits())
    for limits in listed.values():
        for kind, limit in limits.items():
            target = plain_pages.TARGET[kind]
            assert limit < target if kind in plain_pages.LOWER else limit > target


def test_a_plain_page_passes(book):
    assert book(GOOD) == 0


@pytest.mark.parametrize(
    ("prose", "kind"),
    [
        (GOOD + "Nobody writes. " * 3, "openings"),
        (GOOD + "What is written stays. " * 8, "what"),
        (GOOD + "It stands there. " * 3, "phrases"),
        ("It is short. It runs now. It ends. " * 20, "shortest"),
        ("It goes " + "and then " * 30 + "to the end. ", "longest"),
    ],
)
def test_a_planted_sentence_fails(book, capsys, prose: str, kind: str):
    assert book(prose) == 1
    assert f"chapters/01_a.md: {kind} " in capsys.readouterr().out


def test_the_feedback_of_a_question_is_checked_and_its_line_is_reported(book, capsys):
    assert book(GOOD, "It stands. It lies. It is told so.") == 1
    out = capsys.readouterr().out
    assert "chapters/01_a.md:16: 'stands'" in out and "chapters/01_a.md: phrases" in out


def test_code_and_links_in_a_sentence_count_as_one_word_each(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# Four words of heading\n\nThe name `x + y * 2` has {ref}`a link`. It ends with one.\n")
    assert [len(sentence.split()) for sentence in plain_pages.sentences(page)] == [5, 4]


def test_limits_are_tightened_and_never_raised(book):
    plain_pages.LIMITS_FILE.write_text('{"chapters/01_a.md": {"what": 90, "phrases": 2.0}}')
    book(GOOD + "What is written stays. " * 8 + "It stands there. " * 3)
    plain_pages.tighten()
    assert json.loads(plain_pages.LIMITS_FILE.read_text()) == {"chapters/01_a.md": {"what": 8.0, "phrases": 2.0}}
    book(GOOD)
    plain_pages.tighten()
    assert json.loads(plain_pages.LIMITS_FILE.read_text()) == {}
