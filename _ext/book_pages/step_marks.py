"""The role ``{step}``, with which a paragraph refers to a step of the stage in its section.

A paragraph, or an item of a list, that refers to a step begins with a mark:

* ``{step}`3` `` refers to the first step of line 3, ``{step}`3#2` `` to its second step, and ``{step}`3#last` `` to its
  last. A line can have several steps if it is in a loop or calls ``backward()``.
* ``{step}`end` `` refers to the last step of the program.
* ``{step}`3 in LABEL` `` refers to line 3 of the program that has this label in a comparison. A mark without a label
  refers to the program that the stage shows first.

The stage of a mark is the last stage before it in the same section, or else the first stage after it in the section.
The build reads the recording in the HTML of the stage. If there is no such stage, program or step, a warning fails the
build.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from memory_stage.recorder.key_step import key_step

from .frame_words import say

LOG = logging.getLogger(__name__)
#: Matches the text of a mark.
MARK = re.compile(r"(?:(?P<line>[1-9]\d*)(?:#(?P<nth>[1-9]\d*|last))?|(?P<end>end))(?: in (?P<label>\S.*))?")
#: Matches a mark in the source of a page, outside of code.
IN_SOURCE = re.compile(r"\{step\}`(?P<names>[^`\n]+)`")
FORMS = "3, 3#2, 3#last, end, or one of these with a program of a comparison: 3 in LABEL"
ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "last": "last"}
STAGE = "<memory-stage"

Trace: TypeAlias = dict[str, Any]


class Moment(NamedTuple):
    """The step that a mark refers to: the numbers of a variant and of its step, both counted from 0."""

    variant: int
    step: int


def opening(trace: Trace) -> tuple[int, int]:
    """Return the numbers of the variant and of its step that are shown first, both counted from 0."""
    ids = [variant["id"] for variant in trace["variants"]]
    number = ids.index(trace["opens"]) if "opens" in trace else 0
    return number, key_step(trace["variants"][number])


class step_mark(nodes.inline):
    """A mark in the tree of the document. The attribute ``names`` has the text of the mark in the source."""


class StepRole(SphinxRole):
    """Make a `step_mark` from a role ``{step}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        shown = step_mark("", in_language(self.env.app, self.text), names=self.text)
        shown.source, shown.line = self.get_source_info()
        return [shown], []


def said(names: str) -> str:
    """Return English words for a mark, such as "line 3, second step"; the mark itself if it cannot be parsed."""
    mark = MARK.fullmatch(names.strip())
    if mark is None:
        return names
    words = ["last step" if mark["end"] else f"line {mark['line']}"]
    if nth := mark["nth"]:
        words.append(f"{ORDINALS[nth]} step" if nth in ORDINALS else f"step {nth}")
    return ", ".join([*words, *filter(None, [mark["label"]])])


def in_language(app: Sphinx, names: str) -> str:
    """Return the words of a mark in the language of the edition that is built."""
    mark = MARK.fullmatch(names.strip())
    if mark is None or not app.config.edition:
        return said(names)
    if mark["end"]:
        words = say(app, "last step")
    elif mark["nth"] == "last":
        words = say(app, "line {line}, last step", line=mark["line"])
    elif mark["nth"]:
        words = say(app, "line {line}, step {nth}", line=mark["line"], nth=mark["nth"])
    else:
        words = say(app, "line {line}", line=mark["line"])
    return say(app, "{words}, {label}", words=words, label=mark["label"]) if mark["label"] else words


def moment_of(names: str, trace: Trace) -> Moment:
    """Return the moment of the recording ``trace`` that a mark refers to.

    Raises:
        ValueError: if the mark cannot be parsed, or if the recording has no such program, line or step.
    """
    mark = MARK.fullmatch(names.strip())
    if mark is None:
        raise ValueError(f"a mark is {FORMS}; not {names!r}")
    labels = [variant["label"] for variant in trace["variants"]]
    if mark["label"] is None:
        number, _ = opening(trace)
    elif mark["label"] in labels:
        number = labels.index(mark["label"])
    else:
        raise ValueError(f"the stage {trace['title']!r} has the programs {_join(labels)}; not {mark['label']!r}")
    steps = trace["variants"][number]["steps"]
    if mark["end"]:
        return Moment(number, len(steps) - 1)
    line = int(mark["line"])
    of_line = [at for at, step in enumerate(steps) if step["line"] <= line <= step["end"]]
    if not of_line:
        lines = sorted({step["line"] for step in steps})
        raise ValueError(f"line {line} of the stage {trace['title']!r} has no step; lines {_join(lines)} have one")
    nth = len(of_line) if mark["nth"] == "last" else int(mark["nth"] or 1)
    if nth > len(of_line):
        raise ValueError(f"line {line} of the stage {trace['title']!r} has {len(of_line)} steps; not {nth}")
    return Moment(number, of_line[nth - 1])


def find_stages(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Set the attributes ``stage`` (the title of the stage), ``variant`` and ``step`` of each mark of a page.

    A mark at a wrong place, without a stage or without a step gets no attributes, and a warning fails the build.
    """
    if app.builder.format != "html":
        return
    for mark, stage in marks(doctree):
        if not isinstance(mark.parent, nodes.paragraph) or mark.parent.index(mark):
            LOG.warning("{step}`%s`: a mark begins a paragraph or an item of a list", mark["names"], location=mark)
            continue
        if stage is None:
            LOG.warning("{step}`%s`: this section has no stage", mark["names"], location=mark)
            continue
        trace = trace_of(stage.astext())
        try:
            moment = moment_of(mark["names"], trace)
        except ValueError as error:
            LOG.warning("{step}`%s`: %s", mark["names"], error, location=mark)
            continue
        mark.attributes.update(stage=trace["title"], variant=moment.variant, step=moment.step)


def marks(doctree: nodes.document) -> Iterator[tuple[step_mark, nodes.raw | None]]:
    """Yield each mark of a page with its stage, or with None if it has no stage."""
    found = doctree.findall(lambda node: isinstance(node, step_mark) or _is_stage(node))
    return pairs((node, section_of(node), isinstance(node, nodes.raw)) for node in found)


def pairs(found: Iterable[tuple[Any, Any, bool]]) -> Iterator[tuple[Any, Any]]:
    """Yield each mark with the last stage before it in its section or, if there is none, with the first stage after it
    in its section. A mark in a section without a stage is yielded with None.

    Args:
        found: marks and stages in the order of the page, each with its section and with True if it is a stage.
    """
    before: dict[Any, Any] = {}
    waiting: dict[Any, list[Any]] = {}
    for each, section, is_stage in found:
        if is_stage:
            yield from ((mark, each) for mark in waiting.pop(section, ()))
            before[section] = each
        elif section in before:
            yield each, before[section]
        else:
            waiting.setdefault(section, []).append(each)
    yield from ((mark, None) for left in waiting.values() for mark in left)


@lru_cache(maxsize=32)  # more than the stages of a page; several marks refer to each stage
def trace_of(html: str) -> Trace:
    """Return the recording in the HTML of a stage. Callers share the recording, and must not change it."""
    shown = BeautifulSoup(html, "html.parser").select_one("memory-stage > script")
    recorded: Trace = json.loads(shown.string)
    return recorded


def visit_step_mark(self: Any, node: step_mark) -> None:
    data = {f"data-{name}": str(node[name]) for name in ("stage", "variant", "step") if name in node}
    self.body.append(self.starttag(node, "span", "", CLASS="step-mark", **data))


def depart_step_mark(self: Any, node: step_mark) -> None:
    self.body.append("</span>")


def _is_stage(node: nodes.Node) -> bool:
    return isinstance(node, nodes.raw) and node.get("format") == "html" and STAGE in node.astext()


def section_of(node: nodes.Node) -> nodes.section | None:
    """Return the innermost section around a node; None if there is none."""
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return node


def _join(names: list[Any]) -> str:
    return ", ".join(map(str, names))
