"""Link the first use of a term in each chapter and guide to its entry in the glossary.

The terms are in ``book/glossary.json``, which the page of the glossary shows. Only prose gets links; headings, code,
tables, links and outputs of cells get none. A word that also has an everyday meaning, such as "copy", is linked only in
the chapter that explains it and in later chapters.

On a page of the Chinese edition, the Chinese terms get the links. Chinese has no spaces between words, so a term of one
character, such as the term for "block", also matches inside many other words. A term of one character is linked only if
the glossary lists it as a form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book_kit.tables.glossary_table import terms as glossary
from book_kit.tables.table_words import translated

from .translated import book_of

GLOSSARY = "chapters/E_glossary"
#: Matches pages that get links: chapters, which begin with a number, and guides, which begin with a small letter.
READ = re.compile(r"chapters/[0-9a-z]")
#: Matches a term of two or more Chinese characters.
CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")
#: Matches a Chinese character. A form that begins with one is written without spaces around it.
_CHARACTER = re.compile(r"[\u4e00-\u9fff]")
#: The types of nodes inside which no term is linked, because they are not prose or already links.
NOT_PROSE = (
    nodes.literal, nodes.literal_block, nodes.raw, nodes.reference, nodes.title, nodes.math, nodes.citation,
    nodes.citation_reference, nodes.table,
)  # fmt: skip


def link_terms(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Link the first use of each term on the page."""
    if app.builder.format != "html" or GLOSSARY not in app.env.found_docs or not READ.match(pagename):
        return
    code = app.config.edition or "en"
    terms = {
        form.lower(): term
        for term in glossary(book_of(app))
        for form in forms(term, code)
        if is_term_on(term, pagename)
    }
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile("|".join(_pattern(form) for form in longest_first), re.IGNORECASE)
    linked: set[str] = set()
    for text in list(_prose(doctree)):
        pieces: list[nodes.Node] = []
        end = 0
        for found in pattern.finditer(str(text)):
            term = terms[found[0].lower()]
            if term["name"] not in linked:
                linked.add(term["name"])
                pieces += [nodes.Text(str(text)[end : found.start()]), _link(term, found[0], pagename, code)]
                end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(str(text)[end:])])


def forms(term: dict[str, Any], code: str) -> list[str]:
    """Return the forms of a term that are linked in a language.

    If the list of English forms is empty, the term is linked in no language.
    """
    if code != "zh" or not term["forms"]:
        return list(term["forms"])
    chinese = [term["chinese"]] if CHINESE.fullmatch(term["chinese"]) else []
    return [*chinese, *term.get("chinese_forms", [])]


def _pattern(form: str) -> str:
    """Return a pattern that matches an English form only as a whole word, and a Chinese form anywhere in the text."""
    return re.escape(form) if _CHARACTER.match(form) else rf"(?<![\w-]){re.escape(form)}(?![\w-])"


def is_term_on(term: dict[str, Any], pagename: str) -> bool:
    """True if a page may link the term. An everyday word is not linked on pages before the chapter that explains it."""
    return not term.get("everyday") or pagename >= term["page"]


def anchor(term: dict[str, Any]) -> str:
    """Return the anchor of a term in the glossary."""
    return nodes.make_id(f"term {term['name']}")


def _link(term: dict[str, Any], words: str, pagename: str, code: str) -> nodes.reference:
    up = "../" * pagename.count("/")
    said = translated(term["meaning"], code).replace("`", "")
    address = f"{up}{GLOSSARY}.html#{anchor(term)}"
    return nodes.reference("", words, refuri=address, reftitle=said, internal=True, classes=["term"])


def _prose(doctree: nodes.document) -> Iterator[nodes.Text]:
    for text in doctree.findall(nodes.Text):
        node: Any = text.parent
        while node is not None and not isinstance(node, NOT_PROSE) and "cell" not in node.get("classes", []):
            node = node.parent
        if node is None and text.strip():
            yield text
