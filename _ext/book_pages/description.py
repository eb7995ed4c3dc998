"""Describe each page for search engines and for the previews of links that people share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx

from .navigation import TITLE
from .translated import Version, edition_of

GIVEN = re.compile(
    r'<meta[^>]*name="description"[^>]*content="([^"]*)"|<meta[^>]*content="([^"]*)"[^>]*name="description"'
)
CARD = "card.png"
CARD_SAYS = "Two names, two tensors and one storage, whose first two numbers have just been overwritten."
LONGEST = 155  # the largest number of characters of a description; search engines cut longer ones


def describe_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add a description of the page to its head.

    The description is that of the page's front matter or, if it has none, the first paragraph. If the address of the
    book is known (``book_address``), the head also gets the address of the page in each language and a picture for
    previews. Both need absolute addresses.
    """
    given = GIVEN.search(context.get("metatags") or "")
    text = unescape(given[1] or given[2]) if given else _first_paragraph(doctree) or f"{context['page_title']}."
    text = _shorten(text)
    tags = [] if given else [_tag("name", "description", text)]
    tags += [
        _tag("property", "og:type", "website" if pagename == app.config.root_doc else "article"),
        _tag("property", "og:site_name", TITLE),
        _tag("property", "og:title", context["page_title"]),
        _tag("property", "og:description", text),
        _tag("name", "color-scheme", "light dark"),
    ]
    if address := app.config.book_address.rstrip("/"):
        edition = edition_of(app)
        folder = f"{address}/{edition.code}" if edition else address
        page = f"{folder}/" if pagename == app.config.root_doc else f"{folder}/{pagename}.html"
        tags += [
            f'<link rel="canonical" href="{escape(page, quote=True)}">',
            *alternates(page, context["tag"], context["versions"]),
            _tag("property", "og:url", page),
            _tag("property", "og:image", f"{address}/_static/{CARD}"),
            _tag("property", "og:image:alt", CARD_SAYS),
            _tag("name", "twitter:card", "summary_large_image"),
        ]
    context["metatags"] = "\n".join([context.get("metatags") or "", *tags])


def alternates(page: str, tag: str, versions: Sequence[Version]) -> list[str]:
    """Return links to a page in all its languages; an empty list if the page exists in only one language.

    Args:
        page: the address of the page.
        tag: the language tag of the page.
        versions: the page in other languages, with addresses relative to ``page``.
    """
    others = {version.tag: urljoin(page, version.address) for version in versions if not version.note}
    found = {tag: page, **others} if others else {}
    return [f'<link rel="alternate" hreflang="{key}" href="{escape(found[key], quote=True)}">' for key in found]


def _tag(kind: str, name: str, content: str) -> str:
    return f'<meta {kind}="{name}" content="{escape(content, quote=True)}">'


def _first_paragraph(doctree: nodes.document | None) -> str:
    if doctree is None:
        return ""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return " ".join(paragraph.astext().split())
    return ""


def _shorten(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:. ") + " …"
