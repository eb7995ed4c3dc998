"""Show a chapter's MyST as plain Markdown in JupyterLab, and save the chapter with the MyST.

JupyterLab does not support the roles and directives of MyST. In an open notebook, they are replaced by words. After the
words, a comment contains the MyST. JupyterLab does not show this comment. The words are:

* "**line 3**" for the mark ``{step}`3` ``, which refers to a step of a stage;
* "[paddle-guide]" for the citation ``{cite}`4-paddle-guide` ``;
* "**A hint**" on a line for the beginning of ``:::{dropdown} A hint``, and no words for its end or for a container;
* the path for ``{literalinclude}``, and no words for the list of references.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from jupytext import AsyncTextFileContentsManager

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_ext"))
from book_pages.step_marks import IN_SOURCE, said

CITATION = re.compile(r"\{cite\}`(?:\d+-)?(?P<key>[^`\n]+)`")
FENCE = re.compile(r"^:{3,}(?:\{dropdown\} (?P<title>.+)|\{container\} .+)?$", re.MULTILINE)
FILE = re.compile(r"^```\{(?:literalinclude\} (?:\.\./)*(?P<path>\S+)|bibliography\})\n(?::.*\n)*```$", re.MULTILINE)
#: Match the words in an open notebook and the comment after them, for each kind of MyST; the group is the MyST.
SHOWN = (
    re.compile(r"\*\*[^*\n]+\*\*<!--(\{step\}`[^`\n]+`)-->"),
    re.compile(r"\[[^\]\n]+\]<!--(\{cite\}`[^`\n]+`)-->"),
    re.compile(r"^(?:\*\*.+\*\*<br>)?<!--(:{3,}(?:\{\w+\} .+)?)-->$", re.MULTILINE),
    re.compile(r"^(?:`.+`\n)?<!--(```\{\w+\}[^`]*```)-->$", re.MULTILINE),
)


def with_words(source: str) -> str:
    """Return the source of a cell in plain Markdown, with the MyST inside comments."""
    source = IN_SOURCE.sub(lambda mark: f"**{said(mark['names'])}**<!--{mark[0]}-->", source)
    source = CITATION.sub(lambda mark: f"[{mark['key']}]<!--{mark[0]}-->", source)
    source = FENCE.sub(lambda mark: (f"**{mark['title']}**<br>" if mark["title"] else "") + f"<!--{mark[0]}-->", source)
    return FILE.sub(lambda mark: (f"`{mark['path']}`\n" if mark["path"] else "") + f"<!--{mark[0]}-->", source)


def with_marks(source: str) -> str:
    """Return the source of a cell as it was before `with_words`."""
    for shown in SHOWN:
        source = shown.sub(r"\1", source)
    return source


def replace_sources(model: dict[str, Any], replace: Any) -> None:
    """Apply a function to the source of each text cell of a notebook, in the format of Jupyter's contents service."""
    if model.get("type") == "notebook" and model.get("content"):
        for cell in model["content"]["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = replace(cell["source"])


class ChapterFiles(AsyncTextFileContentsManager):
    """Read and save the files of the book for Jupyter, which can open the text files as notebooks."""

    async def get(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        model: dict[str, Any] = await super().get(*arguments, **options)
        replace_sources(model, with_words)
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        replace_sources(model, with_marks)
        saved: dict[str, Any] = await super().save(model, path)
        return saved
