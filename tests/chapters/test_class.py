"""Test that the chapters contain the questions, stages and exercises that `book/class.json` names for the class.

The slides are made from the built pages. A build takes minutes, so this test reads the sources of the pages.
"""

from __future__ import annotations

import json
import re

import pytest

from _ext.book_pages.built_page import kind_and_words
from _ext.book_pages.languages import editions
from tests.support.chapters.chapter import ROOT, Chapter

KINDS = {"question", "stage", "exercise", "error"}
PLAN = json.loads((ROOT / "book" / "class.json").read_text(encoding="utf-8"))
PARTS = PLAN["parts"]
SHOWN = [
    (part["page"].split("/")[-1], *kind_and_words(piece))
    for part in PARTS
    for piece in part["show"]
    if "error" not in piece  # the program of an error is in the plan, not in a chapter
]
SHOWN.append((PLAN["opening"]["page"].split("/")[-1], "stage", PLAN["opening"]["stage"]))


def words(text: str) -> str:
    """Return the text as a reader sees it: with joined strings and lines, and without backticks around code."""
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return " ".join(text.replace("\\n", " ").replace("`", "").split())


@pytest.mark.parametrize("page, kind, name", SHOWN)
def test_a_chapter_contains_the_parts_that_the_class_shows(page, kind, name):
    assert words(name) in words(Chapter.read(page).text), f"{page} has no {kind} {name!r}"


def test_each_piece_has_minutes_and_their_sum_leaves_time_for_an_introduction_of_the_part():
    for part in PARTS:
        for piece in part["show"]:
            needed = {kind_and_words(piece)[0], "minutes"} | ({"program"} if "error" in piece else set())
            assert set(piece) - {"note"} == needed
        assert {kind_and_words(piece)[0] for piece in part["show"]} <= KINDS
        assert (
            1 <= part["minutes"] - sum(piece["minutes"] for piece in part["show"]) <= 2
        )  # the rest is for the introduction


@pytest.mark.parametrize("edition", editions(ROOT), ids=lambda edition: edition.code)
def test_a_translated_plan_has_the_same_parts_with_the_texts_of_its_chapters(edition):
    plan = edition.data("class")
    assert set(plan) == set(PLAN) and plan["quiet"] == PLAN["quiet"]
    assert [plan["remember"][name] for name in ("pages", "minutes")] == [
        PLAN["remember"][name] for name in ("pages", "minutes")
    ]
    assert list(plan["pictures"].values()) == list(PLAN["pictures"].values())
    assert set(plan["bank"]) == set(PLAN["bank"]) and all("{line}" in caption for caption in plan["bank"].values())
    for part, english in zip(plan["parts"], PARTS, strict=True):
        assert (part["page"], part["minutes"]) == (english["page"], english["minutes"])
        assert all(part[text] != english[text] for text in ("title", "aim", "say"))
        chapter = words((edition.folder / f"{part['page']}.md").read_text(encoding="utf-8"))
        for shown, other in zip(part["show"], english["show"], strict=True):
            kind, name = kind_and_words(shown)
            assert kind == kind_and_words(other)[0] and shown["minutes"] == other["minutes"]
            assert shown.get("program") == other.get("program")
            assert kind == "error" or words(name) in chapter, f"{edition.code}/{part['page']} has no {kind} {name!r}"
    assert plan["opening"]["page"] == PLAN["opening"]["page"]
    assert len(plan["remember"]["home"]) == len(PLAN["remember"]["home"])
