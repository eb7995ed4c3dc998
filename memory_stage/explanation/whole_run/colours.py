"""Colours for an explanation that is printed in a terminal."""

from __future__ import annotations

import functools
import os
import re
from typing import TextIO

from memory_stage.explanation.whole_run.one_screen import described_fix
from memory_stage.messages import language, render
from memory_stage.messages.catalogues import codes

_BOLD, _RED, _GREEN, _DIM, _END = "\33[1m", "\33[31m", "\33[32m", "\33[2m", "\33[0m"


@functools.cache
def _styles() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern and its replacement for each kind of line of an explanation, in all languages."""
    fixes = "|".join(re.escape(render(described_fix(""), language(code)).rstrip()) for code in codes())
    return [
        (re.compile(r"^(memory-stage[^:]*:)"), rf"{_BOLD}\1{_END}"),
        (re.compile(r"^(    - .*)$"), rf"{_RED}\1{_END}"),
        (re.compile(r"^(    \+ .*)$"), rf"{_GREEN}\1{_END}"),
        (re.compile(f"^(  (?:{fixes}))"), rf"{_BOLD}\1{_END}"),
        (re.compile(r"^( +\d+  .*?)(  # .*)$"), rf"\1{_DIM}\2{_END}"),
    ]


def are_wanted(stream: TextIO) -> bool:
    """Return True if a stream is a terminal that shows colours and ``NO_COLOR`` is not set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def coloured(text: str) -> str:
    """Return the text of an explanation with escape sequences for colours."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    for pattern, style in _styles():
        line, count = pattern.subn(style, line, count=1)
        if count:
            return line
    return line
