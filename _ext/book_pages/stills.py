"""Draw the still picture of the step that a paragraph refers to, for readers without scripts, print and notebooks.

The script of the page draws it in V8, as it does for a stage.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from docutils import nodes
from nbformat import NotebookNode

from memory_stage.web import picture

from .step_marks import IN_SOURCE, STAGE, Moment, Trace, moment_of, pairs, said, step_mark, trace_of

WIDTH = 760  # the width of a picture in px
IN_PAGE = '<noscript class="step-still"><figure class="step-still">{svg}</figure></noscript>'
#: Matches a block of code, a heading, or a mark in the source of a page.
PARTS = re.compile(rf"^(`{{3,}}|:{{3,}}).*?^\1\s*$|^(?P<heading>#{{1,6}} )|(?P<mark>{IN_SOURCE.pattern})", re.M | re.S)
END = re.compile(r"\s*(?:\n[ \t]*\n|\n[ \t]*(?:[*+-]|\d+\.) |\Z)")  # matches the end of a paragraph
SPECIAL = re.compile(r"[\\\[\]*_`<>]")  # matches characters that have a meaning in Markdown


def add_to_page(trace: Trace, named: Sequence[step_mark]) -> None:
    """Put a still picture after each paragraph that begins with one of these marks. Do nothing if V8 is not
    installed.
    """
    for mark in named if picture.available() else ():
        svg = picture.svg(trace, mark["variant"], mark["step"], WIDTH)
        around = mark.parent.parent
        around.insert(around.index(mark.parent) + 1, nodes.raw("", IN_PAGE.format(svg=svg), format="html"))


def add_to_notebook(notebook: NotebookNode, words: Callable[[str], str] = said) -> None:
    """Replace each mark of an executed notebook with words, and attach the still picture of its step to the cell.

    Args:
        notebook: the notebook to change.
        words: a function that returns the words for a mark in the language of the page.
    """
    stages = dict(pairs(_marks_and_stages(notebook.cells)))
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        for mark in reversed([*_marks(cell.source)]):
            trace = stages[number, mark.start()]
            moment = moment_of(mark["names"], trace) if trace and picture.available() else None
            end = END.search(cell.source, mark.end()).start()
            text = f"**{words(mark['names'])}**{cell.source[mark.end() : end]}"
            if moment:
                indent = " " * (mark.start() - cell.source.rfind("\n", 0, mark.start()) - 1)
                text += f"\n\n{indent}{_attached(cell, trace, moment)}"
            cell.source = cell.source[: mark.start()] + text + cell.source[end:]


def as_file(svg: str) -> str:
    """Return a picture for a file: with a background, because it cannot know that of the document that shows it, and
    without animations, because a picture that is printed before it was on the screen would lack the new elements.
    """
    still = svg.replace("</style>", ".memory-picture :is(.new,.flip){animation:none}</style>", 1)
    return still.replace("background:none", "background:var(--paper)", 1)


def _attached(cell: NotebookNode, trace: Trace, moment: Moment) -> str:
    """Attach the picture of a moment to a cell, and return the Markdown that shows it."""
    variant = trace["variants"][moment.variant]
    name = f"{variant['id']}-{moment.step + 1}.svg"
    svg = as_file(picture.svg(trace, *moment, WIDTH))
    attachments = cell.setdefault("attachments", {})
    attachments[name] = {"image/svg+xml": base64.b64encode(svg.encode()).decode()}
    sentence = SPECIAL.sub(r"\\\g<0>", variant["steps"][moment.step]["say"].replace("`", ""))
    return f"![{sentence}](attachment:{name})"


def _marks_and_stages(cells: Sequence[NotebookNode]) -> Iterator[tuple[Any, int, bool]]:
    """Yield each mark with its cell and position, and the recording of each stage, both with their section."""
    section = 0
    for number, cell in enumerate(cells):
        for part in PARTS.finditer(cell.source) if cell.cell_type == "markdown" else ():
            section += bool(part["heading"])
            if part["mark"]:
                yield (number, part.start()), section, False
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if STAGE in html:
                yield trace_of(html), section, True


def _marks(source: str) -> Iterator[re.Match[str]]:
    return (part for part in PARTS.finditer(source) if part["mark"])
