"""Exercises on a page, where no Python runs: a reader can write there, and is told how to run what was written.

The unfinished function of an exercise stays on the page with the report on it. Behind the report comes one line that
says where to run an answer; ``exercise.js`` puts a box before it, which holds the code of the cell to begin with.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# The report on an unfinished exercise, as `check` shows it; that of a solution has the class mt-right as well.
REPORT = re.compile(r'<div class="mt-note mt-check mathjax_ignore">.*?</div>', re.DOTALL)
LINE = (
    '\n<exercise-box><p>This page runs no Python. To run your answer, open <a href="{notebook}" download>this page’s '
    'notebook</a> in <a href="{running}">a copy of the book</a>; the solution is folded below.</p></exercise-box>'
)


def offer_writing(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put the line and the box behind each report on an unfinished exercise."""
    if "body" not in context or not REPORT.search(context["body"]):
        return
    pathto = context["pathto"]
    line = LINE.format(
        notebook=pathto(f"_sources/{pagename}.ipynb", 1), running=f"{pathto(app.config.root_doc)}#how-to-run-it"
    )
    context["body"] = REPORT.sub(lambda report: report.group() + line, context["body"])
