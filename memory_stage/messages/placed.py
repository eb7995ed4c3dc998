"""The texts of a recording and their places in the trace, so that the trace can be written in another language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memory_stage.messages.catalogues import Language
from memory_stage.messages.message import Text, render


class PlacedText(NamedTuple):
    """A text and its place in a trace.

    Attributes:
        inside: the object of the trace that contains the text.
        key: the key of the text in that object.
    """

    inside: dict[str, Any]
    key: str
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


def write_in(language: Language, texts: Iterable[PlacedText]) -> None:
    """Write each text in a language at its place."""
    for inside, key, text in texts:
        inside[key] = render(text, language)
