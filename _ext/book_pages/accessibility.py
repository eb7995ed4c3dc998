"""Mends of markup that assistive technology cannot follow, where no template of the theme holds it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MENDS = (
    # Docutils puts entries into a list under a role that ARIA has withdrawn, so the list has no items.
    ('role="doc-biblioentry"', 'role="listitem"'),
    # A folded cell is named otherwise than it reads ("Show code cell source"): its text is name enough.
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
)


def mend_body(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Apply the mends to the page's own content."""
    for fault, mend in MENDS:
        if "body" in context:
            context["body"] = context["body"].replace(fault, mend)
