"""Split the source of a page into blocks: paragraphs, lists, headings, cells.

A translated page has the same blocks as the English page in the same order, so each of its blocks is the translation of
one English block.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

FENCE = re.compile(r"(?P<ticks>`{3,})(?:\{(?P<name>[\w-]+)\})?")
COLONS = re.compile(r":{3,}(?:\{(?P<name>[\w-]+)\})?")
ITEM = re.compile(r"\s*(?:[*-]|\d+\.) ")
DIGITS = 12  # the number of hexadecimal digits of a block's hash
LONGEST = 60  # the largest number of characters of a block's beginning, which helps a reader to recognize the block


class SourceBlock(NamedTuple):
    kind: str  # "cell", "paragraph", "list of 3", "heading 2", "{dropdown}", ...
    text: str
    line: int  # the line in the file, counted from 1

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:DIGITS]

    @property
    def beginning(self) -> str:
        """Return the beginning of the block on one line; for a cell, the beginning of its code."""
        lines = self.text.splitlines()
        if self.kind == "cell":
            _, code = cell_parts(self.text)
            lines = code.splitlines() or lines
        joined = " ".join(" ".join(lines).split())
        return joined if len(joined) <= LONGEST else f"{joined[:LONGEST]}…"


def blocks(markdown: str) -> list[SourceBlock]:
    """Return the blocks of a page in order. The first one is the front matter, if the page has any."""
    lines = markdown.splitlines()
    found: list[SourceBlock] = []
    at = 0
    if lines and lines[0] == "---":
        at = lines.index("---", 1) + 1
        found.append(SourceBlock("front matter", "\n".join(lines[:at]), 1))
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        end = at + 1
        if fence := FENCE.match(line):
            while end < len(lines) and lines[end].rstrip() != fence["ticks"]:
                end += 1
            end += 1
            kind = "cell" if fence["name"] == "code-cell" else f"{{{fence['name']}}}" if fence["name"] else "code"
        elif colons := COLONS.match(line):
            kind = f"{{{colons['name']}}}" if colons["name"] else ":::"
        elif line.startswith("#"):
            kind = f"heading {len(line) - len(line.lstrip('#'))}"
        else:
            while end < len(lines) and lines[end].strip() and not FENCE.match(lines[end]) and lines[end][:3] != ":::":
                end += 1
            kind = _kind(lines[at:end])
        found.append(SourceBlock(kind, "\n".join(lines[at:end]), at + 1))
        at = end
    return found


def _kind(lines: list[str]) -> str:
    if ITEM.match(lines[0]):
        return f"list of {sum(bool(ITEM.match(line)) for line in lines)}"
    if lines[0].startswith("|"):
        return f"table of {len(lines)} rows"
    return "html" if lines[0].startswith("<") else "paragraph"


def cell_parts(text: str) -> tuple[str, str]:
    """Return the settings and the code of a cell, both as text."""
    lines = text.splitlines()[1:-1]
    end = 0
    if lines and lines[0] == "---":
        end = lines.index("---", 1) + 1
        return "\n".join(lines[1 : end - 1]), "\n".join(lines[end:])
    while end < len(lines) and re.match(r":[\w-]+:", lines[end]):
        end += 1
    return "\n".join(line[1:] for line in lines[:end]), "\n".join(lines[end:]).lstrip("\n")
