"""Test that the tables of the appendices are in the language of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from book_kit.tables import (
    alias_tables,
    claim_tables,
    error_tables,
    glossary_table,
    names_tables,
    reference_tables,
    refusals_table,
    texts,
)
from book_kit.tables.table_words import comma_list, said, semicolon_list, translated
from memory_stage.messages import message, set_language

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "facts"
#: Matches code, addresses, tags, and terms that are marked as English.
NOT_PROSE = re.compile(r"(`+).*?\1|\]\([^)]*\)|<span lang=\"en\">.*?</span>|<[^>]*>", re.DOTALL)
#: Matches two English words in a row, which cannot be only a name.
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")
#: Words of the libraries and of the sources that are not translated.
UNTRANSLATED = ("pull request", "autograd graph", "meta data", "modified by an inplace operation")


@pytest.fixture
def chinese() -> Iterator[None]:
    set_language("zh")
    yield
    set_language(None)


def tables() -> Iterator[str]:
    entries = reference_tables.entries(FACTS)
    yield from (reference_tables.described(group) for group in reference_tables.GROUPS)
    yield reference_tables.in_place_table(each for each in entries if each.group not in ("metadata", "integers"))
    yield reference_tables.changes_table(each for each in entries if each.group == "metadata")
    yield reference_tables.short_table(each for each in entries if each.group == "integers")
    yield from (reference_tables.left_out_table(), reference_tables.differences_table(FACTS))
    yield from (error_tables.table(ROOT, cause) for cause in error_tables.causes(ROOT))
    yield from map(names_tables.names_table, names_tables.sections())
    yield from (names_tables.differences_table(names_tables.recorded(FACTS)), names_tables.not_here_table())
    yield names_tables.tutorials_table(FACTS)
    shared = alias_tables.recorded(FACTS)
    yield from (alias_tables.operations_table(shared), alias_tables.numpy_table(shared))
    yield from (alias_tables.targets_table(shared), alias_tables.overlaps_table(shared))
    answers = refusals_table.recorded(FACTS)
    yield from (refusals_table.saved_table(answers), refusals_table.overlaps_table(answers))
    yield from (refusals_table.made_table(answers), refusals_table.unseen_table(answers))
    yield from (claim_tables.table(ROOT, article) for article in claim_tables.ARTICLES)
    yield claim_tables.counts_table(ROOT)
    yield from (glossary_table.table(ROOT, group) for group in glossary_table.groups(ROOT))


def test_no_table_of_a_chinese_page_has_english_prose(chinese):
    for table in tables():
        prose = NOT_PROSE.sub(" ", table)
        for words in UNTRANSLATED:
            prose = prose.replace(words, "")
        assert ENGLISH.findall(prose) == [], table


def codes(table: str) -> set[str]:
    """Return the code in a table without generated names of tensors, because the numbers in these names differ."""
    return {re.sub(r"generated_tensor_\d+", "", code) for _, code in re.findall(r"(`+)(.+?)\1", table)}


def test_a_chinese_table_has_the_lines_code_and_links_of_the_english_table():
    english = list(tables())
    set_language("zh")
    try:
        shown = list(tables())
    finally:
        set_language(None)
    for table, own in zip(english, shown, strict=True):
        assert own.count("\n") == table.count("\n")
        assert codes(own) == codes(table)
        assert re.findall(r"\]\(([^)]*)\)", own) == re.findall(r"\]\(([^)]*)\)", table)


def test_words_and_data_follow_the_language(chinese):
    assert said(message("Operation")) == "操作" and said("x.add_") == "x.add_"
    assert translated("One number's position in a storage.") == "一个数在存储里的位置。"
    assert translated("One number's position in a storage.", "en") == "One number's position in a storage."
    assert translated("") == ""
    assert comma_list(["a", "b"]) == "a、b" and semicolon_list(["a", "b"]) == "a；b" and comma_list([]) == ""


def test_the_texts_of_the_data_files_are_prose_and_listed_with_their_files():
    found = dict.fromkeys(file for file, _ in texts.texts(ROOT))
    assert len(found) == 9 and all((ROOT / file).is_file() for file in found)
    assert "`x.shape`" not in {text for _, text in texts.texts(ROOT)}


def test_the_causes_of_errors_are_described_in_the_language_of_the_page(chinese):
    causes = error_tables.causes(ROOT)
    assert all(re.search("[一-鿿]", cause["what"]) and cause["place"] for cause in causes.values())
