"""Mends of markup that assistive technology cannot follow, where no template of the theme holds it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# What is wrong in a page's HTML, as a pattern, and what stands there instead.
MENDS = (
    # Docutils puts entries into a list under a role that ARIA has withdrawn, so the list has no items.
    (re.compile('role="doc-biblioentry"'), 'role="listitem"'),
    # A folded cell is named otherwise than it reads ("Show code cell source"): its text is name enough.
    (re.compile('<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The empty corner of a table is no heading.
    (re.compile(r'<th class="head[^"]*"><p></p></th>'), "<td></td>"),
    # A wide table scrolls in its box, by keyboard too. Newer themes see to that by script.
    (re.compile('(<div class="pst-scrollable-table-container")>'), r'\1 tabindex="0">'),
)


def mend_body(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Apply the mends to the page's own content."""
    for fault, mend in MENDS:
        if "body" in context:
            context["body"] = fault.sub(mend, context["body"])
