"""Draw a still picture of the step that a paragraph refers to, for print, notebooks and readers without JavaScript.

A mark at the beginning of a paragraph names the step (``step_marks``). The memory stage's JavaScript draws the picture.
It runs in mini-racer, an optional package with the JavaScript engine V8.
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
#: Matches a fenced block, a heading, or a mark in the source of a page.
_PART = re.compile(rf"^(`{{3,}}|:{{3,}}).*?^\1\s*$|^(?P<heading>#{{1,6}} )|(?P<mark>{IN_SOURCE.pattern})", re.M | re.S)
_PARAGRAPH_END = re.compile(r"\s*(?:\n[ \t]*\n|\n[ \t]*(?:[*+-]|\d+\.) |\Z)")  # matches the end of a paragraph
_MARKDOWN = re.compile(r"[\\\[\]*_`<>]")  # matches characters that have a meaning in Markdown


def add_to_page(trace: Trace, named: Sequence[step_mark]) -> None:
    """After each paragraph that begins with one of the marks ``named``, put a still picture of the mark's step.

    Do nothing if mini-racer is not installed.

    Args:
        trace: the recording of the stage.
        named: the marks.
    """
    for mark in named if picture.available() else ():
        svg = picture.svg(trace, mark["variant"], mark["step"], WIDTH)
        around = mark.parent.parent
        around.insert(around.index(mark.parent) + 1, nodes.raw("", IN_PAGE.format(svg=svg), format="html"))


def add_to_notebook(notebook: NotebookNode, words: Callable[[str], str] = said) -> None:
    """Replace each mark of an executed notebook by words for its step, and show the step's picture below the paragraph.

    Without mini-racer, only the words are added.

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
            end = _PARAGRAPH_END.search(cell.source, mark.end()).start()
            text = f"**{words(mark['names'])}**{cell.source[mark.end() : end]}"
            if moment:
                indent = " " * (mark.start() - cell.source.rfind("\n", 0, mark.start()) - 1)
                text += f"\n\n{indent}{_attach(cell, trace, moment)}"
            cell.source = cell.source[: mark.start()] + text + cell.source[end:]


def as_file(svg: str) -> str:
    """Return a picture changed for use in a separate file.

    The file has a background, because the background of the document that will show it is unknown. It has no
    animations: if it were printed before it was on the screen, the elements that fade in would be missing.
    """
    still = svg.replace("</style>", ".memory-picture :is(.new,.flip){animation:none}</style>", 1)
    return still.replace("background:none", "background:var(--paper)", 1)


def _attach(cell: NotebookNode, trace: Trace, moment: Moment) -> str:
    """Attach the picture of a moment to a cell, and return the Markdown that shows the picture."""
    variant = trace["variants"][moment.variant]
    name = f"{variant['id']}-{moment.step + 1}.svg"
    svg = as_file(picture.svg(trace, *moment, WIDTH))
    attachments = cell.setdefault("attachments", {})
    attachments[name] = {"image/svg+xml": base64.b64encode(svg.encode()).decode()}
    sentence = _MARKDOWN.sub(r"\\\g<0>", variant["steps"][moment.step]["say"].replace("`", ""))
    return f"![{sentence}](attachment:{name})"


def _marks_and_stages(cells: Sequence[NotebookNode]) -> Iterator[tuple[Any, int, bool]]:
    """Yield ``((cell number, position), section, False)`` for each mark and ``(trace, section, True)`` for each stage,
    in the order of the page.
    """
    section = 0
    for number, cell in enumerate(cells):
        for part in _PART.finditer(cell.source) if cell.cell_type == "markdown" else ():
            section += bool(part["heading"])
            if part["mark"]:
                yield (number, part.start()), section, False
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if STAGE in html:
                yield trace_of(html), section, True


def _marks(source: str) -> Iterator[re.Match[str]]:
    return (part for part in _PART.finditer(source) if part["mark"])
