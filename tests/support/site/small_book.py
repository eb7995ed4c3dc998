"""Write and build a book of one page, with the configuration and the extension of the real book."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.support.chapters.chapter import HEADER
from tools import build

CHAPTER = HEADER + "\n# A chapter\n\n{}\n"


def cell(code: str) -> str:
    return f"```{{code-cell}} ipython3\n{code}\n```"


def write(folder: Path, text: str) -> Path:
    """Write the book with this text on its page, and return its folder."""
    settings = yaml.safe_load((build.ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings["sphinx"]["local_extensions"] = {"book_pages": str(build.ROOT / "_ext")}
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    entry = "@misc{known, title = {Known}, year = {2024}}"
    (folder / "references.bib").write_text(entry, encoding="utf-8")
    (folder / "index.md").write_text(CHAPTER.format(text), encoding="utf-8")
    return folder


def built(book: Path) -> tuple[int, str]:
    """Build the book, and return the exit status and the log."""
    status = build.build(book, quiet=True)
    return status, (book / "_build" / "build.log").read_text(encoding="utf-8")
