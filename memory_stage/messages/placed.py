"""The texts of a recording and their places in the trace, so that the trace can be written in another language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memory_stage.messages.catalogues import Language
from memory_stage.messages.message import Text, render


class PlacedText(NamedTuple):
    """A text and its place in a trace.

    Attributes:
        inside: the object or list of the trace that contains the text.
        key: the key of the text in that object, or its index in that list.
    """

    inside: Any
    key: str | int
    text: Text


def texts_of(parts: Iterable[dict[str, Any]], keys: Iterable[str]) -> list[PlacedText]:
    """Replace the messages under ``keys`` of these objects by English text. Return the messages with their places."""
    found = [
        PlacedText(part, key, part[key])
        for part in parts
        for key in keys
        if part.get(key) is not None and not isinstance(part[key], str)
    ]
    for inside, key, text in found:
        inside[key] = str(text)
    return found


def lines_of(lines: Iterable[Text]) -> tuple[list[str], list[PlacedText]]:
    """Return lines as English text, and the lines that are messages with their places."""
    given = list(lines)
    written = [str(line) for line in given]
    return written, [PlacedText(written, at, line) for at, line in enumerate(given) if not isinstance(line, str)]


def write_in(language: Language, texts: Iterable[PlacedText]) -> None:
    """Write each text in a language at its place."""
    for inside, key, text in texts:
        inside[key] = render(text, language)
