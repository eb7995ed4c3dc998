"""Put each stage beside the paragraphs that refer to its steps, and a still picture of the step after each paragraph.

A paragraph refers to a step with a mark (``step_marks``). The build moves the stage into one box of a new block, and
the text from the first mark to the last into the other box. On a wide screen the two boxes are columns, and
``beside.js`` shows the step of the paragraph that the reader has reached. If mini-racer is installed, the block also
gets a class ``needs-N``: every step of the stage fits into a window that is N px high. In a lower window ``beside.js``
makes the stage smaller, or puts the boxes below each other.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx

from memory_stage.web import picture

from . import stills
from .step_marks import Trace, marks, section_of, step_mark, trace_of

#: Matches HTML elements that do not fit into a narrow column.
WIDE = re.compile("<(?:memory-stage|memory-figure|play-ground|svg|img)\\b")

# Lengths on the page, in px, from which the build estimates the height of a stage.
COLUMN = 772  # the largest width of a stage beside its text, in windows that are narrower than 1640 px
LINE = 24  # the height of a line of the program
MOST_LINES = 19  # the number of lines of the longest program that does not scroll
SENTENCE, LETTER = 26, 8.6  # the height of a line of the step's sentence, and the average width of a letter
CHOICE, ERROR = 34, 54  # the height of the control that chooses a variant, and the height of an error message
OTHERS = 166  # the height of the title, the controls and the gaps together
FEW_STEPS = 60  # in a program with more steps than this, only the picture of every fourth step is measured


def arrange(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Put each stage beside the paragraphs that refer to its steps, and a still picture after each such paragraph."""
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
    """Move the stage, and the blocks from the first mark to the last, into the two boxes of a new block.

    Only blocks of the stage's section are moved, and only up to a block that does not fit into a narrow column.
    Nothing is moved if all marks within these limits are in the block that contains the stage.
    """
    section = section_of(stage)
    blocks = list(section.children)
    at = next(number for number, block in enumerate(blocks) if _contains(block, stage))
    first = last = at
    for numbers in (range(at + 1, len(blocks)), range(at - 1, -1, -1)):
        for number in itertools.takewhile(lambda number: _fits(blocks[number]), numbers):
            if any(_contains(blocks[number], mark) for mark in named):
                first, last = min(first, number), max(last, number)
    if first == last:
        return
    needs = [f"needs-{_least_window(trace_of(stage.astext()))}"] if picture.available() else []
    beside = nodes.container(classes=["beside", *needs])
    for block in blocks[first : last + 1]:
        section.remove(block)
    beside += nodes.container("", blocks[at], classes=["beside-stage"])
    beside += nodes.container("", *blocks[first:at], *blocks[at + 1 : last + 1], classes=["beside-text"])
    section.insert(first, beside)


def _least_window(trace: Trace) -> int:
    """Estimate the height, in px, of the lowest window in which every step of a stage fits into its column."""
    variants = trace["variants"]
    steps = [step for variant in variants for step in variant["steps"]]
    letters = max(len(step["say"]) for step in steps)
    lines = min(MOST_LINES, max(len(variant["code"]) for variant in variants))
    rest = OTHERS + LINE * lines + SENTENCE * max(2, math.ceil(letters * LETTER / COLUMN))
    rest += CHOICE * (len(variants) > 1) + ERROR * any(step.get("error") for step in steps)
    return rest + max(
        int(re.search(r'height="(\d+)"', picture.svg(trace, number, step, COLUMN, room=0))[1])
        for number, variant in enumerate(variants)
        for step in range(0, len(variant["steps"]), 1 if len(variant["steps"]) <= FEW_STEPS else 4)
    )


def _fits(block: nodes.Node) -> bool:
    """True if a block fits into a narrow column: it is no heading or section and contains no stage, figure or image."""
    if isinstance(block, nodes.section | nodes.title):
        return False
    return not any(WIDE.search(raw.astext()) for raw in block.findall(nodes.raw)) and not any(
        block.findall(nodes.image)
    )


def _contains(block: nodes.Node, node: nodes.Node | None) -> bool:
    while node is not None and node is not block:
        node = node.parent
    return node is not None
