"""Provide navigation: the list of chapters, the previous and next page, and the page for a wrong address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx

TITLE = "In Place"
CURRENT = re.compile(r'<a class="current reference internal" href="#">(.*?)</a>', re.DOTALL)
# Matches markup in the list of chapters that no style sheet and no script uses. It is removed, because every page has
# the list.
UNUSED = re.compile(
    r' class="(?:toctree-l1|reference internal)"| role="heading"|<span class="caption-text">(.*?)</span>'
)
MARKUP = re.compile("<[^>]+>")
APPENDIX = re.compile(r"(?:^|/)([A-Z])_")  # matches the names of appendices, whose tables are as wide as the page
NOT_FOUND = "404"


def show_chapters(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the values for navigation to the context of the page's template.

    They are the list of chapters with the sections of the page, the title of the page, the letter of an appendix, the
    questions that the neighbouring pages answer, and the path of the site's root.
    """
    chapters = context["toctree"](maxdepth=1, includehidden=True) or ""
    here = f'<a class="current" href="#" aria-current="page">\\1</a>{_sections(app, pagename)}'
    context["chapters"] = UNUSED.sub(r"\1", CURRENT.sub(here, chapters))
    title = unescape(MARKUP.sub("", context.get("title", "")))
    context["page_title"] = app.config.html_title if pagename == app.config.root_doc else f"{title} | {TITLE}"
    letter = APPENDIX.search(pagename)
    context["is_appendix"] = letter[1] if letter else ""
    context["questions"] = _questions(app, pagename)
    context["site_root"] = urlsplit(app.config.book_address).path.rstrip("/") + "/"


def not_found_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page that a web server sends for an unknown address. Only the English book has it, for all editions."""
    if not app.config.edition:
        yield NOT_FOUND, {"title": "No page here", "body": ""}, "404.html"


def _sections(app: Sphinx, pagename: str) -> str:
    """Return links to the sections of the page as an HTML list. The list of chapters shows it below the page's title.

    The result is an empty text if the page has no sections.
    """
    if pagename not in app.env.tocs:
        return ""
    entries = [
        reference
        for reference in app.env.tocs[pagename].findall(nodes.reference)
        if reference["anchorname"] and _depth(reference) == 2
    ]
    if not entries:
        return ""
    items = "".join(f'<li><a href="{entry["anchorname"]}">{escape(entry.astext())}</a></li>\n' for entry in entries)
    return f"<ul>\n{items}</ul>"


def _depth(node: nodes.Node) -> int:
    """Return the depth of an entry in the table of contents of a page: the number of lists around the entry."""
    depth = 0
    while node := node.parent:
        depth += isinstance(node, nodes.bullet_list)
    return depth


def _questions(app: Sphinx, pagename: str) -> dict[str, str]:
    """Return the questions that the previous and the next page answer, from ``question`` in their front matter."""
    _, before, after = app.builder.relations.get(pagename, (None, None, None))
    return {
        side: str(app.env.metadata[page].get("question", "")) if page else ""
        for side, page in (("prev", before), ("next", after))
    }
