"""Look up the texts of the book's buttons, labels and scripts in the language of an edition."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

from babel.messages.pofile import read_po

from tools.build import ROOT


def said(text: str, edition: str) -> str:
    """Return a text of the pages in the language of an edition, such as "zh". "" is the English book."""
    if not edition:
        return text
    return _words(edition)[text]


def edition_of(address: str) -> str:
    """Return the edition of a page of the served book: its first folder if that has `book.yml`, otherwise ""."""
    first = urlsplit(address).path.split("/")[1]
    return first if (ROOT / first / "book.yml").is_file() and first else ""


@cache
def _words(edition: str) -> dict[str, str]:
    """Map each English text in `words.po` to its translation. The texts are those of the pages and of their scripts."""
    with (ROOT / edition / "words.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file) if message.id}
