"""Short phrases from which sentences are built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_stage.messages import Text, joined, message, plural, sentences
from memory_stage.messages.message import words_in
from memory_stage.model.changes import AN_UPDATE, UNREPORTED_WRITE
from memory_stage.model.compound_names import phrase

if TYPE_CHECKING:
    from memory_stage.model.entries import NodeEntry, StorageEntry

MOST_WORDS = 35

# Operations that show the same cells in another shape.
RESHAPING = ("reshape", "view", "squeeze", "unsqueeze", "flatten", "transpose", "t")
RESHAPING_IN_PLACE = tuple(f"{op}_" for op in RESHAPING)


def quoted(text: str) -> str:
    """Return a piece of the program in backticks, with single quotes in place of the backticks inside it."""
    return "`" + text.replace("`", "'") + "`"


def code(text: Text) -> Text:
    """Return a name in backticks, or a phrase if the name stands for a write that no event reported."""
    if text == UNREPORTED_WRITE:
        return AN_UPDATE
    name = phrase(text) if isinstance(text, str) else text
    return quoted(name) if isinstance(name, str) else message("`{name}`", name=name)


def node_text(node: NodeEntry) -> Text:
    """Return ``multiply (line 3)``, or ``multiply (earlier)`` for a node that existed before the first line."""
    if node.earlier:
        return earlier_text(node.called)
    return message("{operation} (line {line})", operation=code(node.called), line=node.line)


def earlier_text(op: str) -> Text:
    """Return ``multiply (earlier)``."""
    return message("{operation} (earlier)", operation=code(op))


def line_text(line: int) -> Text:
    """Return ``Line 3`` as the subject of a sentence."""
    return message("Line {line}", line=line)


def storages_text(storages: Sequence[StorageEntry]) -> Text:
    """Return ``storage 4``, or ``storages 4 and 5``."""
    ids = joined([each.id for each in storages])
    return plural("storage {storages}", "storages {storages}", len(storages), storages=ids)


def numbers_text(count: int) -> Text:
    """Return a count of numbers: ``1 number``, or ``2 numbers``."""
    return plural("{count} number", "{count} numbers", count, count=f"{count:,}")


def cell_count_text(count: int) -> Text:
    """Return a count of cells: ``1 cell``, or ``2 cells``."""
    return plural("{count} cell", "{count} cells", count, count=f"{count:,}")


def fitting(first: Text, *more: Text | Sequence[Text]) -> Text:
    """Return ``first`` and the other sentences that still fit.

    Of a tuple of equivalent texts, the first that fits is added.
    """
    said = [first]
    for alternatives in more:
        for sentence in alternatives if isinstance(alternatives, tuple) else (alternatives,):
            assert not isinstance(sentence, Sequence) or isinstance(sentence, str), "alternatives are a tuple"
            if sentence != "" and words_in([*said, sentence]) <= MOST_WORDS:
                said.append(sentence)
                break
    return sentences(said)


def first_fitting(*equivalent: Text) -> Text:
    """Return the first of several equivalent sentences that is short enough, or else the last."""
    return next((each for each in equivalent if words_in([each]) <= MOST_WORDS), equivalent[-1])
