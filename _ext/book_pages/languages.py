"""Editions of the book in other languages: where their pages are, and which pages are translated.

An edition is a folder of the book with a file ``book.yml``, for example ``zh``. In this folder, a translated page has
the name of the English page, such as ``zh/chapters/01_what_a_tensor_is.md``. If the folder has no such file, the page
is not translated yet: the edition's table of contents omits the page, and links to it lead to the English page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from .source_blocks import blocks

SETTINGS = "book.yml"


@dataclass(frozen=True)
class Edition:
    """The book in another language."""

    book: Path
    code: str  # the name of the edition's folder in the book and on the site: "zh"

    @property
    def folder(self) -> Path:
        return self.book / self.code

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the settings in the edition's ``book.yml``.

        They are ``language`` (for Sphinx: "zh_CN"), ``tag`` (for HTML: "zh-CN"), ``name`` (the language as its readers
        call it), ``title``, ``author``, ``copyright``, ``captions`` (of the parts), and two notes. A page that lacks a
        translation shows the note ``not_translated``. A translated page shows the note ``behind`` if the English page
        has changed since the translation; ``{count}`` in this note is replaced by the number of changed blocks.
        """
        found: dict[str, Any] = yaml.safe_load((self.folder / SETTINGS).read_text(encoding="utf-8"))
        return found

    def has(self, page: str) -> bool:
        """True if the edition has a translation of this page."""
        return (self.folder / f"{page}.md").is_file()

    def pages(self) -> list[str]:
        """Return the translated pages in the order of the table of contents."""
        return [page for page in contents(self.book) if self.has(page)]

    # ---- the English blocks at the time of their translation

    def english(self, page: str) -> str:
        """Return the source of the English page."""
        return (self.book / f"{page}.md").read_text(encoding="utf-8")

    def source_of(self, page: str) -> dict[str, Any] | None:
        """Return the record of the English page at the time of its translation; None if there is no record.

        The record has a list ``headings``, with the anchor of each heading and the heading's name in links, and a list
        ``blocks``, with the hash and the first words of each block.
        """
        path = self._record(page)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def record(self, page: str, headings: list[tuple[str, str]]) -> None:
        """Record that the translated page corresponds to the present English page, which has these headings."""
        found = [f"{block.hash} {block.beginning}" for block in blocks(self.english(page))]
        path = self._record(page)
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"headings": headings, "blocks": found}
        path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def changed(self, page: str) -> list[str]:
        """Return a line for each English block that has changed, was added or was removed since the translation.

        The list is empty if there is no record of the English page at that time.
        """
        record = self.source_of(page)
        if record is None:
            return []
        then = [each.partition(" ") for each in record["blocks"]]
        now = blocks(self.english(page))
        compared = SequenceMatcher(None, [hash for hash, _, _ in then], [block.hash for block in now], autojunk=False)
        found = []
        for kind, first, last, begin, end in compared.get_opcodes():
            if kind in ("replace", "insert"):
                verb = "changed" if kind == "replace" else "added"
                found += [f"{page}.md:{block.line}: {verb}: {block.beginning}" for block in now[begin:end]]
            elif kind == "delete":
                found += [f"{page}.md: removed: {beginning}" for _, _, beginning in then[first:last]]
        return found

    def _record(self, page: str) -> Path:
        return self.folder / "sources" / f"{page}.json"

    def data(self, name: str) -> dict[str, Any]:
        """Return the translation of the texts in `book/NAME.json`; an empty dict if there is no translation."""
        path = self.folder / "book" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    # ---- the files that Jupyter Book reads

    def table_of_contents(self) -> dict[str, Any]:
        """Return the English table of contents without the pages that are not translated, with translated captions.

        Raises:
            ValueError: if the first page is not translated, or if a part has no caption in the settings.
        """
        whole = _read(self.book / "_toc.yml")
        if not self.has(whole["root"]):
            raise ValueError(f"{self.folder / whole['root']}.md is missing: an edition needs its first page")
        parts = []
        for part in whole.get("parts", []):
            chapters = [chapter for chapter in part["chapters"] if self.has(chapter["file"])]
            if part["caption"] not in self.settings["captions"]:
                raise ValueError(f"{self.folder / SETTINGS} has no caption for the part {part['caption']!r}")
            if chapters:
                parts.append({"caption": self.settings["captions"][part["caption"]], "chapters": chapters})
        return {**whole, "parts": parts} if parts else {"format": whole["format"], "root": whole["root"]}

    def configuration(self) -> dict[str, Any]:
        """Return the English configuration with the settings of this edition."""
        found = _read(self.book / "_config.yml")
        found.update({name: self.settings[name] for name in ("title", "author", "copyright")})
        sphinx = found["sphinx"]
        extensions = sphinx["local_extensions"]
        sphinx["local_extensions"] = {name: str(self.book / path) for name, path in extensions.items()}
        sphinx["config"]["language"] = self.settings["language"]
        sphinx["config"]["edition"] = self.code
        files = sphinx["config"]["bibtex_bibfiles"]
        sphinx["config"]["bibtex_bibfiles"] = [str(self.book / path) for path in files]
        return found


def editions(book: Path) -> list[Edition]:
    """Return the editions of the book in the folder ``book``, without the English one."""
    return [Edition(book, path.parent.name) for path in sorted(book.glob(f"*/{SETTINGS}"))]


def page_in(edition: Edition | None, page: str) -> str:
    """Return the address of a page, relative to the root of the edition and without a suffix.

    If the edition lacks the page, this is the address of the English page.
    """
    return page if edition is None or edition.has(page) else f"../{page}"


def contents(book: Path) -> Iterator[str]:
    """Yield the pages of the English book in the order of its table of contents."""
    whole = _read(book / "_toc.yml")
    yield whole["root"]
    for part in whole.get("parts", []):
        yield from (chapter["file"] for chapter in part["chapters"])


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found
