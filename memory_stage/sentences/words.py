"""Small parts of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_stage.model.changes import UNTOLD

if TYPE_CHECKING:
    from memory_stage.model.entries import NodeEntry, StorageEntry

MOST_WORDS = 35

# Operations that show the same cells in another shape.
RESHAPING = ("reshape", "view", "squeeze", "unsqueeze", "flatten", "transpose", "t")
RESHAPING_IN_PLACE = tuple(f"{op}_" for op in RESHAPING)


def code(text: str) -> str:
    """Code in a sentence, and words as they are. A backtick inside would end it early."""
    if text == UNTOLD:
        return text
    return "`" + text.replace("`", "'") + "`"


def both(things: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


def node_text(node: NodeEntry) -> str:
    """``multiply (line 3)``; ``multiply (earlier)`` of one that was recorded before the first line."""
    return f"{code(node.called)} ({'earlier' if node.earlier else f'line {node.line}'})"


def storages_text(storages: Sequence[StorageEntry]) -> str:
    """``storage 4``, ``storages 4 and 5``."""
    return f"storage{'' if len(storages) == 1 else 's'} {both([each.id for each in storages])}"


def fitting(first: str, *more: str | tuple[str, ...]) -> str:
    """``first`` and those of the others that still fit. Of a tuple, whose texts say the same, the first that does."""
    said = first
    for sentences in more:
        for sentence in (sentences,) if isinstance(sentences, str) else sentences:
            if sentence and len(f"{said} {sentence}".split()) <= MOST_WORDS:
                said = f"{said} {sentence}"
                break
    return said


def first_fitting(*sentences: str) -> str:
    """Of sentences that say the same, the first that is short enough; else the last."""
    return next((each for each in sentences if len(each.split()) <= MOST_WORDS), sentences[-1])
