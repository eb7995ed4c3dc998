"""Test that the appendices link to existing places, and that the chapters link to the appendices."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, NavigableString
from pybtex.database import parse_file

from tests.support.chapters.chapter import appendices, guides, in_order, pages
from tests.support.waiting import soon
from tools.build import ROOT

GLOSSARY = json.loads((ROOT / "book" / "glossary.json").read_text(encoding="utf-8"))
CLAIMS = json.loads((ROOT / "facts" / "article-claims.json").read_text(encoding="utf-8"))
READ = [*in_order(), *guides()]
#: Bold words of the chapters that are not terms: list items, results, words in their everyday meaning.
NO_TERMS = {
    "nothing",
    "no gradient",
    "an operand",
    "the result",
    "memory",
    "wrong:",
    "normal",
    "as a widget",
    "red",
    "black",
}


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def ids(path: Path) -> set[str]:
    return {each["id"] for each in soup(path).find_all(id=True)}


def chapter(book: Path, name: str) -> BeautifulSoup:
    return soup(book / "chapters" / f"{name}.html")


# ---- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", pages())
def test_every_link_within_the_book_leads_to_an_existing_place(book, name):
    page = book / f"{name}.html"
    dead = []
    for link in soup(page).find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = (page.parent / unquote(address.path)).resolve() if address.path else page
        there = target.exists()
        if there and address.fragment and target.suffix == ".html":
            there = unquote(address.fragment) in ids(target)
        if not there:
            dead.append(link["href"])
    assert dead == []


def test_a_link_to_a_missing_place_is_noticed(book):
    page = book / "chapters" / "E_glossary.html"
    assert "term-storage" in ids(page) and "term-of-nobody" not in ids(page)


# ---- the articles ----------------------------------------------------------------------------------------------------


def test_every_claim_of_the_articles_has_a_place_in_the_book(book):
    missing = [
        (claim["claim"], claim["page"], claim["place"])
        for claim in CLAIMS
        if claim["place"] not in ids(book / f"{claim['page']}.html")
    ]
    assert missing == []


def test_the_page_of_errata_has_every_claim_with_its_verdict(book):
    rows = chapter(book, "D_errata").select("section section table tbody tr")
    assert [row.select("td")[1].get_text() for row in rows] == [claim["verdict"] for claim in CLAIMS]
    assert all(row.select("td")[3].get_text(strip=True) for row in rows)


# ---- the glossary ----------------------------------------------------------------------------------------------------

NOT_PROSE = ["a", "code", "pre", "h1", "h2", "h3", "h4", "table", "script", "style", "noscript", "summary"]


@cache
def prose(book: Path, name: str) -> list[tuple[str, str | None]]:
    """Return the texts of a chapter in order, each with the anchor of its term if it is a link to a term, else None."""
    found: list[tuple[str, str | None]] = []
    for text in chapter(book, name).find("article").find_all(string=True):
        if type(text) is not NavigableString or not text.strip():
            continue
        around = list(text.parents)
        term = next((each for each in around if each.name == "a" and "term" in each.get("class", [])), None)
        if term is not None:
            found.append((str(text), urlsplit(term["href"]).fragment))
        elif not any(
            each.name in NOT_PROSE or {"cell", "math", "citation", "citation-list"} & set(each.get("class", []))
            for each in around
        ):
            found.append((str(text), None))
    return found


def uses(book: Path, name: str, term: dict) -> list[str | None]:
    """Return for each use of a term in a chapter's text the anchor to which it links, or None if it is no link."""
    longer = [form for other in GLOSSARY for form in other["forms"] if other["name"] != term["name"]]
    found: list[str | None] = []
    for text, place in prose(book, name):
        for form in sorted(longer, key=len, reverse=True):  # "saved tensor" does not count as "tensor"
            if any(own in form.split() for own in term["forms"]):
                text = re.sub(rf"(?<![\w-]){re.escape(form)}(?![\w-])", "", text, flags=re.IGNORECASE)
        for form in term["forms"]:
            found += [place] * len(re.findall(rf"(?<![\w-]){re.escape(form)}(?![\w-])", text, re.IGNORECASE))
            text = re.sub(rf"(?<![\w-]){re.escape(form)}(?![\w-])", "", text, flags=re.IGNORECASE)
    return found


def place_of(term: dict) -> str:
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term["name"].lower())


@pytest.mark.parametrize("name", READ)
def test_only_the_first_use_of_each_term_links_to_the_glossary(book, name):
    for term in GLOSSARY:
        if term.get("everyday") and f"chapters/{name}" < term["page"]:
            continue
        leading = uses(book, name, term)
        if leading:
            assert leading[0] == place_of(term), term["name"]
            assert set(leading[1:]) <= {None}, term["name"]


def test_the_chapters_link_every_term_that_has_forms(book):
    linked = {place for name in READ for _, place in prose(book, name) if place}
    assert {place_of(term) for term in GLOSSARY if term["forms"]} == linked


@pytest.mark.parametrize("term", GLOSSARY, ids=lambda term: term["name"])
def test_a_term_is_taught_where_the_glossary_says(book, term):
    """On earlier pages the first use of the term links to the glossary, so each term is explained where it is used."""
    section = soup(book / f"{term['page']}.html").find("section", id=term["place"])
    assert section is not None
    words = section.get_text().lower()
    assert any(form.lower() in words for form in [term["name"], *term["forms"]])


def test_every_word_that_a_chapter_defines_is_in_the_glossary(book):
    known = {form.lower() for term in GLOSSARY for form in [term["name"], *term["forms"]]}
    for name in in_order():
        for bold in chapter(book, name).select(
            "article :is(section, .beside-text) > p strong, article :is(section, .beside-text) > ul > li strong"
        ):
            text = bold.get_text().strip().lower()
            if len(text.split()) <= 2 and not text.endswith("."):
                assert text in known | NO_TERMS, (name, text)


def test_the_glossary_has_every_term_with_its_chinese_and_a_meaning(book):
    page = chapter(book, "E_glossary")
    rows = page.select("section section tbody tr")
    assert len(rows) == len(GLOSSARY) >= 40
    for row, term in zip(rows, GLOSSARY, strict=True):
        name, meaning, chinese, *_ = [cell.get_text(" ", strip=True) for cell in row.select("td")]
        assert (name, chinese) == (term["name"], term["chinese"]) and re.search(r"[\u4e00-\u9fff]", chinese)
        assert 1 <= len(re.findall(r"[.:!?](?:\s|$)", meaning)) <= 3
        assert row.find(id=place_of(term))


# ---- the sources -----------------------------------------------------------------------------------------------------


def test_the_page_of_references_has_every_source_with_its_use_and_the_citing_pages(book):
    entries = parse_file(str(ROOT / "references.bib")).entries
    rows = chapter(book, "F_references").select("section section tbody tr")
    assert len(rows) == len(entries)
    for row in rows:
        assert all(cell.get_text(strip=True) for cell in row.select("td"))
    for key, entry in entries.items():
        assert entry.fields["kind"] in {"documentation", "source", "discussion", "article"}, key


# ---- the tables of the appendices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", appendices())
def test_an_appendix_has_a_field_that_filters_its_rows(site, visit, name):
    seen = visit(f"{site}chapters/{name}.html", width=1440)
    rows = seen.page.locator("section section .table-scroll tbody tr:visible")
    everything = rows.count()
    assert everything >= 9
    field = seen.page.get_by_label("Show rows with")
    field.fill("paddle")
    assert soon(lambda: 0 < rows.count() <= everything)
    field.fill("zyzzyva")
    assert soon(rows.count) == 0


def test_the_error_index_is_filtered_by_the_text_above_a_table(site, visit):
    seen = visit(f"{site}chapters/B_error_index.html", width=1440)
    seen.page.get_by_label("Show rows with").fill("overlaps the target of the write")
    rows = seen.page.locator("section section .table-scroll tbody tr:visible")
    assert soon(rows.count) == 1 and "single memory location" in soon(rows.first.inner_text)


@pytest.mark.parametrize("name", appendices())
def test_an_appendix_is_complete_without_scripts(site, visit, name):
    seen = visit(f"{site}chapters/{name}.html", scripts=False)
    assert seen.page.locator("section section tbody tr").count() >= 9
    assert seen.overflow() == 0
