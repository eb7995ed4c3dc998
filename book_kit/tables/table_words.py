"""The words of the tables in the language of the page.

Words in the code of the tables are messages, in the catalogue ``book_kit``. Texts of the data, such as the meanings of
terms, are in the catalogue ``appendices``, whose keys are the English texts. :mod:`book_kit.tables.texts` lists them.
"""

from __future__ import annotations

import gettext
from collections.abc import Iterable
from functools import cache, reduce
from pathlib import Path

from memory_stage.messages import Text, default_language, listed, message, render
from memory_stage.messages.catalogues import LOCALES

LOCALE = Path(__file__).parents[1] / "locale"
CATALOGUE = "appendices"


def said(text: Text) -> str:
    """Return a message in the language of the page; a string is the same in all languages."""
    return render(text, default_language())


def translated(text: str, code: str | None = None) -> str:
    """Return a text of the data in a language, by default in that of the page."""
    return _catalogue(code or default_language().code).gettext(text) if text else ""


def comma_list(parts: Iterable[Text]) -> str:
    """Return ``a, b, c``; "" if there are no parts."""
    return said(listed(parts)) if (parts := list(parts)) else ""


def semicolon_list(parts: Iterable[Text]) -> str:
    """Return ``a; b; c``."""
    return said(reduce(lambda first, following: message("{first}; {next}", first=first, next=following), parts))


@cache
def _catalogue(code: str) -> gettext.NullTranslations:
    return gettext.translation(CATALOGUE, LOCALE, [LOCALES[code]]) if code in LOCALES else gettext.NullTranslations()
