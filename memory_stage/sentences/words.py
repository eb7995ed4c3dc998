"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_stage.model.changes import UNREPORTED_WRITE

if TYPE_CHECKING:
    from memory_stage.model.entries import NodeEntry, StorageEntry

MOST_WORDS = 35

# Operations that show the same cells in another shape.
RESHAPING = ("reshape", "view", "squeeze", "unsqueeze", "flatten", "transpose", "t")
RESHAPING_IN_PLACE = tuple(f"{op}_" for op in RESHAPING)


def code(text: str) -> str:
    """Return code in backticks, and other words unchanged. A backtick inside is replaced: it would end the code."""
    if text == UNREPORTED_WRITE:
        return text
    return "`" + text.replace("`", "'") + "`"


def both(things: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


def node_text(node: NodeEntry) -> str:
    """Return ``multiply (line 3)``, or ``multiply (earlier)`` for a node that existed before the first line."""
    return f"{code(node.called)} ({'earlier' if node.earlier else f'line {node.line}'})"


def storages_text(storages: Sequence[StorageEntry]) -> str:
    """Return ``storage 4``, or ``storages 4 and 5``."""
    return f"storage{'' if len(storages) == 1 else 's'} {both([each.id for each in storages])}"


def fitting(first: str, *more: str | tuple[str, ...]) -> str:
    """Return ``first`` and those others that still fit; of a tuple of equivalent texts, use the first one that fits."""
    said = first
    for sentences in more:
        for sentence in (sentences,) if isinstance(sentences, str) else sentences:
            if sentence and len(f"{said} {sentence}".split()) <= MOST_WORDS:
                said = f"{said} {sentence}"
                break
    return said


def first_fitting(*sentences: str) -> str:
    """Return the first of several equivalent sentences that is short enough, or else the last."""
    return next((each for each in sentences if len(each.split()) <= MOST_WORDS), sentences[-1])
