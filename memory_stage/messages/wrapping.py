"""Wrap and pad texts for a terminal, where a Chinese character is two columns wide and a line may end after it."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Collection, Sequence

_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60]")

#: The parts of a Chinese text between which a line may end: code, a word, or a character with its punctuation.
_PART = re.compile(
    r"[\uff08\u201c\u300a]*(?:`[^`]*`|[^\s\u2e80-\u9fff\uff00-\uff60`]+|.)[\uff09\u201d\u300b\u3001\u3002\uff0c\uff1a\uff1b,.:;)]*"
)


def columns(text: str) -> int:
    """Return the columns that a text takes in a terminal."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def padded(text: str, width: int) -> str:
    """Return a text with spaces behind it, so that it takes at least ``width`` columns."""
    return text + " " * (width - columns(text))


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the rows of a table as lines, with the columns in ``left`` aligned left and the others right."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            padded(cell, width) if number in left else " " * (width - columns(cell)) + cell
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def wrapped(text: str, width: int, first: str = "", following: str = "", breaks_words: bool = True) -> list[str]:
    """Return the lines of a paragraph.

    Args:
        width: the largest number of columns.
        first, following: the beginning of the first line, and of the others.
        breaks_words: True to break a word that is longer than a line; Chinese texts keep such a word whole.
    """
    if not _WIDE.search(text):
        return textwrap.wrap(
            text, width, initial_indent=first, subsequent_indent=following, break_long_words=breaks_words
        )
    lines, line = [], first
    is_empty = True
    for part in _PART.findall(" ".join(text.split())):
        if is_empty or columns(line) + columns(part.rstrip()) <= width:
            line += part.lstrip() if is_empty else part
        else:
            lines.append(line.rstrip())
            line = following + part.lstrip()
        is_empty = is_empty and not part.strip()
    return [*lines, line.rstrip()]
