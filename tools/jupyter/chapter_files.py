"""Show marks of steps as words in JupyterLab, and save the chapter with the marks.

A mark such as ``{step}`3` `` refers to a step of a stage. JupyterLab does not know this role of MyST. An open notebook
has "**line 3**" instead, followed by the mark in a comment that JupyterLab does not show.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from jupytext import AsyncTextFileContentsManager

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_ext"))
from book_pages.step_marks import IN_SOURCE, said

SHOWN = re.compile(r"\*\*[^*\n]+\*\*<!--(\{step\}`[^`\n]+`)-->")


def with_words(source: str) -> str:
    """Return the source of a cell with words before each mark, and with the mark inside a comment."""
    return IN_SOURCE.sub(lambda mark: f"**{said(mark['names'])}**<!--{mark[0]}-->", source)


def with_marks(source: str) -> str:
    """Return the source of a cell as it was before `with_words`."""
    return SHOWN.sub(r"\1", source)


def replace_sources(model: dict[str, Any], replace: Any) -> None:
    """Apply a function to the source of each text cell of a notebook, in the format of Jupyter's contents service."""
    if model.get("type") == "notebook" and model.get("content"):
        for cell in model["content"]["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = replace(cell["source"])


class ChapterFiles(AsyncTextFileContentsManager):
    """The files of the book, of which text files can be opened as notebooks."""

    async def get(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        model: dict[str, Any] = await super().get(*arguments, **options)
        replace_sources(model, with_words)
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        replace_sources(model, with_marks)
        saved: dict[str, Any] = await super().save(model, path)
        return saved
