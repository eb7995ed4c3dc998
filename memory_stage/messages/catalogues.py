"""The languages of the stage, and their catalogues in JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

#: Maps a language code, such as ``zh``, to the name of the folder with its catalogues. English has none.
LOCALES = {"zh": "zh_CN"}

#: The environment variable with the default language of a process.
_VARIABLE = "MEMORY_STAGE_LANGUAGE"

_HAN = "\u2e80-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"  # matches a Chinese character or full-width punctuation
# full-width punctuation, which contains its own space
_PUNCTUATION = "\u3001\u3002\u201c\u201d\u300a\u300b\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_SUPERFLUOUS = re.compile(rf"(?<=[{_HAN}]) +(?=[{_HAN}])|(?<=[{_PUNCTUATION}]) +| +(?=[{_PUNCTUATION}])")
_CODE = re.compile(r"(`[^`]*`)")

#: Maps the name of catalogues, such as ``memory_stage``, to the folder that contains one folder for each locale.
_folders = {"memory_stage": Path(__file__).with_name("locale")}

_default = ""


@dataclass(frozen=True)
class Language:
    """A language into which texts are rendered.

    Attributes:
        code: the code that callers give, such as ``zh``.
        tag: the value of the attribute ``lang`` in HTML, such as ``zh-CN``.
    """

    code: str
    tag: str
    _translations: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def template(self, text: str, several: str | None, count: int, context: str = "") -> str:
        """Return the translated text with its placeholders; the text itself if it has no translation.

        Args:
            several: the English text for a ``count`` other than 1; None if the text has no plural.
            count: the number that selects the English plural form. A translation has one form.
            context: the meaning of an ambiguous text.
        """
        english = text if several is None or count == 1 else several
        return self._translations.get(digest_of(text, context), english)

    def cased(self, text: str, capital: bool) -> str:
        """Return a text for the beginning or the middle of a sentence. A Chinese text is returned unchanged.

        Args:
            capital: True for a capital first letter; False for "line" in place of "Line" at the beginning of the text.
        """
        if self.code == "zh":
            return text
        if capital:
            return text[:1].upper() + text[1:]
        return "l" + text[1:] if text.startswith("Line ") else text

    def without_extra_spaces(self, text: str) -> str:
        """Return a text without spaces beside full-width punctuation or between Chinese characters, except in code.

        A translation has a space around each placeholder, because most values are Latin. Around a Chinese value, these
        spaces are removed.
        """
        if self.code != "zh":
            return text
        codes = iter(_CODE.findall(text))
        return re.sub("\0", lambda _: next(codes), _SUPERFLUOUS.sub("", _CODE.sub("\0", text)))


def digest_of(text: str, context: str = "") -> str:
    """Return a short hash of a text and its context, the key of the translation in a compiled catalogue."""
    hashed = hashlib.blake2b(f"{context}\x04{text}".encode(), digest_size=3).digest()
    return base64.b64encode(hashed).decode()


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
        raise ValueError(f"language must be one of {', '.join(map(repr, codes()))}, not {code!r}")
    return _load(short)


@cache
def _load(code: str) -> Language:
    # The translations of ``memory_stage`` replace those of packages that registered later.
    return with_catalogues(code, reversed(_folders.items()))


def with_catalogues(code: str, catalogues: Iterable[tuple[str, Path]]) -> Language:
    """Return a language with the translations of catalogues, each given by its name and its folder of locales.

    If two catalogues translate a text, the later one is used.
    """
    locale = LOCALES[code]
    translations: dict[str, str] = {}
    for name, folder in catalogues:
        digests, *texts = json.loads((folder / locale / "LC_MESSAGES" / f"{name}.json").read_text("utf-8"))
        translations |= {digests[4 * number : 4 * number + 4]: text for number, text in enumerate(texts)}
    return Language(code, locale.replace("_", "-"), translations)


def add_catalogues(name: str, folder: Path) -> None:
    """Register the catalogues of another package. ``folder`` contains one folder for each locale."""
    _folders[name] = folder
    _load.cache_clear()


def default_language() -> Language:
    """Return the language of stages and reports for which the caller gives none."""
    return language(_default or os.environ.get(_VARIABLE) or "en")


def set_language(code: str | None) -> None:
    """Set the language of stages and reports made from now on without an argument ``language``.

    Args:
        code: ``"en"`` or ``"zh"``; None for the language in the environment variable ``MEMORY_STAGE_LANGUAGE``, or
            English.

    Raises:
        ValueError: if there is no such language.
    """
    global _default
    _default = "" if code is None else language(code).code


@contextmanager
def speaking(chosen: Language) -> Iterator[None]:
    """Use a language instead of the default one inside the block."""
    global _default
    before, _default = _default, chosen.code
    try:
        yield
    finally:
        _default = before
