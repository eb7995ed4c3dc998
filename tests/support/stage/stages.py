"""Helpers for tests of the stage: hostile text, and a parser of pages."""

from __future__ import annotations

import html.parser

import memory_stage as stage


def sentences_of(shown: stage.Stage) -> list[str]:
    """Return the sentences of the first variant."""
    return [step["say"] for step in shown.data["variants"][0]["steps"]]


HOSTILE = "</script><script>hacked()</script><img src=x onerror=hacked()> & \"'` \u2028 {{x}} $x$ ]]>"


class Page(html.parser.HTMLParser):
    """A parser that collects the tags of a page and the text of its data script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.data = ""
        self._in_data = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in_data = dict(attributes).get("type") == "application/json"

    def handle_endtag(self, tag):
        self._in_data = False

    def handle_data(self, text):
        if self._in_data:
            self.data += text


def hostile_stage() -> stage.Stage:
    key = HOSTILE[:20]
    source = f"d = {{{key!r}: mt.ones([2])}}\nprint({HOSTILE!r})\nx = d[{key!r}]\nraise ValueError({HOSTILE!r})"
    return stage.record(source, title=HOSTILE, ask=HOSTILE)


def hostile_comparison() -> stage.Stage:
    """Return a comparison with hostile labels, heading, verdicts, names, printed text and errors."""
    programs = {
        HOSTILE: f"d = {{{HOSTILE[:20]!r}: mt.ones([2])}}\nprint({HOSTILE!r})",
        f"{HOSTILE} 2": f"x = mt.ones([2])\nraise ValueError({HOSTILE!r})",
    }
    return stage.compare(programs, title=HOSTILE, ask=HOSTILE, heading=HOSTILE, verdicts={HOSTILE: HOSTILE})
