"""Let a reader write an answer to an exercise on the page, and explain how to run the answer.

The page shows the unfinished function of an exercise and the report of `check` on this function. Below the report, this
module adds an element `<exercise-box>` with a line that says where to run an answer. ``exercise.js`` adds a field with
the code of the cell to the element. If the book has Python in the page, the element also has the statements that the
exercise needs from earlier cells, so that the page can check an answer. But if the exercise needs a package that Python
in a page lacks, the element has no statements, and the line names the package.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from .downloads import executed
from .exercise_cells import exercises, lacking
from .frame_words import say
from .live import FOLDER

# Matches the report of `check` on an unfinished exercise. The report on a solution also has the class mt-right, so it
# does not match.
REPORT = re.compile(r'<div class="mt-note mt-check mathjax_ignore">.*?</div>', re.DOTALL)
# The style sheet hides the class mt-screen in print, so that a printed page is the same with and without LIVE=1.
BOX = """
<exercise-box{before}><p><span class="mt-screen">{here} </span>{where}</p></exercise-box>"""
WHERE = (
    'To run your answer{elsewhere}, open <a href="{notebook}" download>this page’s notebook</a> '
    'in <a href="{running}">a copy of the book</a>; the solution is<span class="mt-screen"> folded</span> below.'
)
NO_PYTHON = "This page runs no Python."
LACKING = "The tests of this exercise need <code>{lacks}</code>, which Python in a page lacks."
CHECKED = "Check runs your answer in this page, where your browser can do that."
ELSEWHERE = "elsewhere"


def read_cells(app: Sphinx, env: BuildEnvironment) -> None:
    """Find the code that each exercise needs and the package that a page lacks for it, after all notebooks have run."""
    # maps a page to a pair for each of its exercises: the code before the exercise, and the package that the page lacks
    env.exercises_in_pages = {}
    if not app.config.live:
        return
    found = []
    for name in sorted(env.all_docs):
        if (notebook := executed(app) / f"{name}.ipynb").exists():
            cells = nbformat.read(notebook, as_version=4).cells
            on_page = exercises([cell.source for cell in cells if cell.cell_type == "code"])
            found += [(name, exercise) for exercise in on_page]
    if not found:
        return
    (wheel,) = Path(FOLDER).glob("minitensor-*.whl")
    lacks = lacking([exercise for _, exercise in found], wheel)
    for (name, exercise), lack in zip(found, lacks, strict=True):
        env.exercises_in_pages.setdefault(name, []).append((exercise.before, lack))


def offer_writing(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Insert an element `<exercise-box>` after each report on an unfinished exercise.

    Raises:
        ExtensionError: if the number of reports on a page differs from the number of its exercises.
    """
    count = len(REPORT.findall(context.get("body", "")))
    if not count:
        return
    pathto = context["pathto"]
    places = {
        "notebook": pathto(f"_sources/{pagename}.ipynb", 1),
        "running": f"{pathto(app.config.root_doc)}#how-to-run-it",
    }
    in_page = app.env.exercises_in_pages.get(pagename, []) if app.config.live else [None] * count
    if len(in_page) != count:
        raise ExtensionError(
            f"{pagename} shows {count} reports on exercises, but its cells have {len(in_page)} exercises"
        )
    each = iter(in_page)
    context["body"] = REPORT.sub(lambda report: report.group() + _box(app, next(each), places), context["body"])


def _box(app: Sphinx, in_page: tuple[str, str] | None, places: dict[str, str]) -> str:
    """Return the element of an exercise.

    Args:
        app: the build, which has the language of the page.
        in_page: the code before the exercise and the package that the page lacks (an empty text if it lacks none); None
            if the book has no Python in the page.
        places: the addresses of the notebook and of the section that explains how to run the book.
    """
    before, lacks = in_page or ("", "")
    where = say(app, WHERE, elsewhere="", **places)
    if in_page is None:
        return BOX.format(before="", here=say(app, NO_PYTHON), where=where)
    if lacks:
        return BOX.format(before="", here=say(app, LACKING, lacks=html.escape(lacks)), where=where)
    elsewhere = f'<span class="mt-screen"> {say(app, ELSEWHERE)}</span>'
    where = say(app, WHERE, elsewhere=elsewhere, **places)
    return BOX.format(before=f' data-before="{html.escape(before)}"', here=say(app, CHECKED), where=where)
