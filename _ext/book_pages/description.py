"""The sentence a search engine shows under a page's title."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 155  # characters; search engines cut what is longer


def describe_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the page's first paragraph as its description, unless its front matter gives one."""
    if 'name="description"' in (context.get("metatags") or ""):
        return
    text = _first_paragraph(doctree) or f"{context.get('title', '')}. {app.config.html_title}"
    tag = f'<meta name="description" content="{escape(_shorten(text), quote=True)}" />'
    context["metatags"] = f"{context.get('metatags') or ''}\n{tag}"


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
