"""A chapter as its writer sees it: front matter, text and cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jupytext
import nbformat

from _ext.book_pages.languages import contents

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "chapters"

#: The beginning of a chapter that a test generates.
HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""

FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[^\W\d_][\w'’-]*")


def pages() -> list[str]:
    """Return all pages of the book as paths without a suffix, in the order of the contents."""
    return list(contents(ROOT))


def in_order() -> list[str]:
    """Return the names of the chapters, in the order of the table of contents."""
    return [name for name in _names() if name[:2].isdigit()]


def appendices() -> list[str]:
    """Return the names of the appendices, which begin with a capital letter."""
    return [name for name in _names() if re.match(r"[A-Z]_", name)]


def guides() -> list[str]:
    """Return the names of the pages that are neither chapters nor appendices; they begin with a small letter."""
    return [name for name in _names() if name[0].islower()]


def _names() -> list[str]:
    _, *files = pages()
    return [Path(file).name for file in files]


@dataclass
class Chapter:
    """A chapter read from its Markdown text."""

    name: str
    text: str

    @classmethod
    def read(cls, name: str) -> Chapter:
        return cls(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))

    @cached_property
    def notebook(self) -> nbformat.NotebookNode:
        return jupytext.reads(self.text, fmt="md:myst")

    @cached_property
    def prose(self) -> str:
        """Return the text between the code cells, as Markdown."""
        cells = (cell.source for cell in self.notebook.cells if cell.cell_type == "markdown")
        return "\n\n".join(cells)

    @property
    def code(self) -> list[nbformat.NotebookNode]:
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @property
    def words(self) -> int:
        """Return the number of words between the cells, without code blocks, tables, headings and directives."""
        lines = FENCE.sub("", self.prose).splitlines()
        return sum(len(WORD.findall(line)) for line in lines if not line.startswith(("|", "#")))

    def section(self, title: str) -> str:
        """Return the Markdown under a heading, up to the next heading of level 1 or 2; "" if the heading is missing."""
        pattern = rf"^##+ {re.escape(title)}\s*$(.*?)(?=^##? |\Z)"
        found = re.search(pattern, self.prose, re.MULTILINE | re.DOTALL)
        return found.group(1).strip() if found else ""

    def cells_with(self, start: str) -> list[nbformat.NotebookNode]:
        """Return code cells with a line that begins with this text."""
        return [cell for cell in self.code if re.search(rf"^{re.escape(start)}", cell.source, re.MULTILINE)]
