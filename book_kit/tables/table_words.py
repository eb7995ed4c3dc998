"""Translate the words of the tables to the language of the page.

Words in the code of the tables are messages in the catalogue ``book_kit``. Texts in data files, such as the meanings of
terms, are in the catalogue ``appendices``: :mod:`book_kit.tables.texts` lists the English texts, which are its keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from pathlib import Path

from memory_stage.messages import Text, default_language, listed, message, render
from memory_stage.messages.catalogues import ENGLISH, LOCALES, Language, with_catalogues

LOCALE = Path(__file__).parents[1] / "locale"
CATALOGUE = "appendices"


def said(text: Text) -> str:
    """Return a message in the language of the page. Return a string unchanged."""
    return render(text, default_language())


def translated(text: str, code: str | None = None) -> str:
    """Return the translation of a text in a data file, by default to the language of the page. "" becomes ""."""
    return _language(code or default_language().code).template(text, None, 1) if text else ""


def comma_list(parts: Iterable[Text]) -> str:
    """Return ``a, b, c`` for a list, and "" for an empty list."""
    return said(listed(parts)) if (parts := list(parts)) else ""


def semicolon_list(parts: Iterable[Text]) -> str:
    """Return ``a; b; c`` for a list."""
    return said(reduce(lambda first, following: message("{first}; {next}", first=first, next=following), parts))


@cache
def _language(code: str) -> Language:
    """Return a language with the catalogue ``appendices``. A language without catalogues becomes English."""
    if code not in LOCALES:
        return ENGLISH
    return with_catalogues(code, [(CATALOGUE, LOCALE)])
