"""Arrange a stage beside the paragraphs that name its steps, each with a still picture of its step.

The build puts the stage and its paragraphs, from the first mark to the last, into two boxes of one block. On a wide
screen they are two columns, and ``beside.js`` shows the step of the paragraph that the reader has reached.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx

from . import stills
from .step_marks import marks, step_mark, trace_of

#: Other elements of a stage's size, which are not put into a narrow column.
WIDE = re.compile("<(?:memory-stage|memory-figure|play-ground|svg|img)\\b")


def arrange(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Put each stage that marks name beside their paragraphs, and a still picture after each of these."""
    if app.builder.format != "html":
        return
    paragraphs: dict[nodes.raw, list[step_mark]] = {}
    for mark, stage in marks(doctree):
        if stage is not None and "step" in mark:
            paragraphs.setdefault(stage, []).append(mark)
    for stage, named in paragraphs.items():
        _put_beside(stage, named)
        stills.add_to_page(trace_of(stage.astext()), named)


def _put_beside(stage: nodes.raw, named: Sequence[step_mark]) -> None:
    """Move the stage and the blocks of its section between the first and the last mark into a block of two boxes."""
    section = stage.parent
    while not isinstance(section, nodes.section):
        section = section.parent
    blocks = list(section.children)
    at = next(number for number, block in enumerate(blocks) if _contains(block, stage))
    first = last = at
    for numbers in (range(at + 1, len(blocks)), range(at - 1, -1, -1)):
        for number in itertools.takewhile(lambda number: _fits(blocks[number]), numbers):
            if any(_contains(blocks[number], mark) for mark in named):
                first, last = min(first, number), max(last, number)
    if first == last:
        return
    beside = nodes.container(classes=["beside"])
    for block in blocks[first : last + 1]:
        section.remove(block)
    beside += nodes.container("", blocks[at], classes=["beside-stage"])
    beside += nodes.container("", *blocks[first:at], *blocks[at + 1 : last + 1], classes=["beside-text"])
    section.insert(first, beside)


def _fits(block: nodes.Node) -> bool:
    """True if a block may be in a narrow column: it is no heading, section, stage, figure or image."""
    if isinstance(block, nodes.section | nodes.title):
        return False
    return not any(WIDE.search(raw.astext()) for raw in block.findall(nodes.raw)) and not any(
        block.findall(nodes.image)
    )


def _contains(block: nodes.Node, node: nodes.Node | None) -> bool:
    while node is not None and node is not block:
        node = node.parent
    return node is not None
