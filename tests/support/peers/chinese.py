"""Find the English that is left in a Chinese stage or report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import memory_stage as stage
from memory_stage.web import picture

_CODE = re.compile(r"`[^`]*`")
_TEXT = re.compile(r"<(?:text|title|tspan)[^>]*>([^<]*)<|aria-label=\"([^\"]*)\"")

#: Two English words, or one beside Chinese. Names of frameworks, tools and formats may stay.
_WORDS = re.compile(r"[A-Za-z]{2,}(?:[ ,;:]+[a-z]{2,})+|(?<=[一-鿿，。：；、]) ?[a-z]{2,}(?= ?[一-鿿，。：；、])")
MAY_STAY = {"numpy", "notebook", "minitensor", "torch", "paddle", "checkpoint", "float", "int", "bool", "complex"}


def english_in(text: str) -> list[str]:
    """Return the English words of a Chinese text, outside of code."""
    found = [each[0].strip() for each in _WORDS.finditer(_CODE.sub("", text))]
    return [each for each in found if each not in MAY_STAY]


def texts_of(shown: stage.Stage) -> Iterator[str]:
    """Yield each text of a stage that a reader sees, except programs, their output and their errors."""
    data: dict[str, Any] = shown.data
    yield data["title"]
    for number, variant in enumerate(data["variants"]):
        yield from (text for text in (variant["verdict"], variant["truncated"]) if text)
        for at, step in enumerate(variant["steps"]):
            yield step["say"]
            for event in step["events"]:
                yield from (event[key] for key in ("label", "holder", "what") if event.get(key))
            for found in _TEXT.finditer(picture.svg(data, number, at)):
                yield unescape(found[1] or found[2] or "")


def english_in_stage(shown: stage.Stage) -> list[str]:
    """Return the English words that a Chinese stage shows."""
    return sorted({words for text in texts_of(shown) for words in english_in(text)})
