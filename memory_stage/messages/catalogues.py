"""The languages of the stage and their catalogues, which the standard library's ``gettext`` reads."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

#: The languages that have catalogues: the code that a caller gives -> the folder of the catalogues.
LOCALES = {"zh": "zh_CN"}

#: The default language of a process is in this variable of the environment.
VARIABLE = "MEMORY_STAGE_LANGUAGE"

_HAN = "\u2e80-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"  # Chinese characters and full-width punctuation
_MARKS = "\u3001\u3002\u201c\u201d\u300a\u300b\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_SUPERFLUOUS = re.compile(rf"(?<=[{_HAN}]) +(?=[{_HAN}])|(?<=[{_MARKS}]) +| +(?=[{_MARKS}])")
_CODE = re.compile(r"(`[^`]*`)")

#: The folders of catalogues, by the name of their files.
_folders = {"memory_stage": Path(__file__).with_name("locale")}

_default = ""


@dataclass(frozen=True)
class Language:
    """A language that texts are rendered in.

    Attributes:
        code: as callers give it, such as ``zh``.
        tag: of the attribute ``lang`` in HTML, such as ``zh-CN``.
    """

    code: str
    tag: str
    _catalogue: gettext.NullTranslations = field(default_factory=gettext.NullTranslations, compare=False, repr=False)

    def template(self, text: str, several: str | None, count: int) -> str:
        """Return the translation of a text with its placeholders; the text itself if it has none."""
        if several is None:
            return self._catalogue.gettext(text)
        return self._catalogue.ngettext(text, several, count)

    def cased(self, text: str, capital: bool) -> str:
        """Return a text as it begins a sentence, or as it continues one. Chinese has no capitals."""
        if self.code != "en":
            return text
        if capital:
            return text[:1].upper() + text[1:]
        return "l" + text[1:] if text.startswith("Line ") else text

    def spaced(self, text: str) -> str:
        """Return a text without spaces beside full-width punctuation or between Chinese characters, except in code.

        A translation has a space around each placeholder, because most values are Latin.
        """
        if self.code != "zh":
            return text
        codes = iter(_CODE.findall(text))
        return re.sub("\0", lambda _: next(codes), _SUPERFLUOUS.sub("", _CODE.sub("\0", text)))


#: The language of the texts in the source.
ENGLISH = Language("en", "en")


def codes() -> list[str]:
    """Return the codes of the languages."""
    return ["en", *LOCALES]


def language(code: str | None = None) -> Language:
    """Return a language; by default the one that ``set_language`` has set.

    Raises:
        ValueError: if there is no such language.
    """
    if code is None:
        return default_language()
    short = code.replace("_", "-").split("-")[0].lower() if isinstance(code, str) else code
    if short == "en":
        return ENGLISH
    if short not in LOCALES:
        raise ValueError(f"language is one of {', '.join(map(repr, codes()))}, not {code!r}")
    return _load(short)


@cache
def _load(code: str) -> Language:
    locale = LOCALES[code]
    catalogue = gettext.NullTranslations()
    for domain, folder in _folders.items():
        catalogue.add_fallback(gettext.translation(domain, folder, [locale], fallback=True))
    return Language(code, locale.replace("_", "-"), catalogue)


def add_catalogues(domain: str, folder: Path) -> None:
    """Add the catalogues of another package; ``folder`` has one folder for each locale."""
    _folders[domain] = folder
    _load.cache_clear()


def default_language() -> Language:
    """Return the language of stages that name none."""
    return language(_default or os.environ.get(VARIABLE) or "en")


def set_language(code: str | None) -> None:
    """Set the language of the stages and reports that are made from now on, if they name none themselves.

    Args:
        code: ``"en"`` or ``"zh"``; None for the variable ``MEMORY_STAGE_LANGUAGE`` of the environment, or English.

    Raises:
        ValueError: if there is no such language.
    """
    global _default
    _default = "" if code is None else language(code).code


@contextmanager
def speaking(chosen: Language) -> Iterator[None]:
    """Use a language in place of the default one."""
    global _default
    before, _default = _default, chosen.code
    try:
        yield
    finally:
        _default = before
