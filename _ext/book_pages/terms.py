"""Link the first use of a term in each chapter and guide to its entry in the glossary.

The terms are in ``book/glossary.json``, which the page of the glossary shows. Only prose is searched: no headings,
code, links or outputs of cells. A word that also has an everyday meaning, such as "copy", is linked only in the chapter
that explains it and in later ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .translated import book_of

GLOSSARY = "chapters/E_glossary"
#: Pages with links: chapters, which begin with their number, and guides, which begin with a small letter.
READ = re.compile(r"chapters/[0-9a-z]")
#: Nodes that are not prose, or that are links already.
NOT_PROSE = (
    nodes.literal, nodes.literal_block, nodes.raw, nodes.reference, nodes.title, nodes.math, nodes.citation,
    nodes.citation_reference, nodes.table,
)  # fmt: skip


def link_terms(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Link the first use of each term on the page."""
    if app.builder.format != "html" or GLOSSARY not in app.env.found_docs or not READ.match(pagename):
        return
    terms = {
        form.lower(): term for term in glossary(book_of(app)) for form in term["forms"] if is_term_on(term, pagename)
    }
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)
    linked: set[str] = set()
    for text in list(_prose(doctree)):
        pieces: list[nodes.Node] = []
        end = 0
        for found in pattern.finditer(str(text)):
            term = terms[found[1].lower()]
            if term["name"] not in linked:
                linked.add(term["name"])
                pieces += [nodes.Text(str(text)[end : found.start()]), _link(term, found[1], pagename)]
                end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(str(text)[end:])])


def glossary(root: Path) -> list[dict[str, Any]]:
    """Return the terms, in the order of the glossary."""
    found: list[dict[str, Any]] = json.loads((root / "book" / "glossary.json").read_text(encoding="utf-8"))
    return found


def is_term_on(term: dict[str, Any], pagename: str) -> bool:
    """True if a page may link the word: an everyday word only from the chapter that explains it."""
    return not term.get("everyday") or pagename >= term["page"]


def anchor(term: dict[str, Any]) -> str:
    """Return the anchor of a term in the glossary."""
    return nodes.make_id(f"term {term['name']}")


def _link(term: dict[str, Any], words: str, pagename: str) -> nodes.reference:
    up = "../" * pagename.count("/")
    said = term["meaning"].replace("`", "")
    address = f"{up}{GLOSSARY}.html#{anchor(term)}"
    return nodes.reference("", words, refuri=address, reftitle=said, internal=True, classes=["term"])


def _prose(doctree: nodes.document) -> Iterator[nodes.Text]:
    for text in doctree.findall(nodes.Text):
        node: Any = text.parent
        while node is not None and not isinstance(node, NOT_PROSE) and "cell" not in node.get("classes", []):
            node = node.parent
        if node is None and text.strip():
            yield text
