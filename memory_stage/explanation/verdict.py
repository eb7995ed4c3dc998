"""The verdicts on an in-place operation."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Verdict(Enum):
    """The effect of an operation on memory and on the history.

    A table shows its ``word``; its ``meaning`` explains it in a sentence. If several apply to one operation, the first
    of them in this list is the operation's verdict.
    """

    UNNOTICED = (
        "unnoticed",
        "It overwrote what another operation saved, and no version tells: a backward that needs that is wrong.",
    )
    REFUSED = "refused", "The operation raised an error and wrote nothing."
    RAISES = "raises", "Not a write: an error of backward, or of the program itself."
    STALE = (
        "stale",
        "It overwrote, or put out of date, what another operation saved: a backward that needs that raises.",
    )
    UNRECORDED = "unrecorded", "It changed values and not the history: gradients are those of the program without it."
    COPIES = "copies", "Its own backward needs numbers that it overwrites: they were copied first."
    MARKS = "marks", "Its own backward needs less than a copy: a bit for each element, or an index. That was kept."
    PRESERVES = "preserves", "Another operation's backward needs the bytes that it overwrites: they were kept."
    METADATA = "metadata", "It changed how the tensor looks at memory; nothing was overwritten."
    FREE = "free", "Nothing had to be copied, and nothing that a backward needs was lost."

    word: str
    meaning: str

    def __new__(cls, word: str, meaning: str) -> Verdict:
        verdict = object.__new__(cls)
        verdict._value_ = verdict.word = word
        verdict.meaning = meaning
        return verdict


def in_order(true: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts that apply to an operation, the most serious first; ``free`` if there is none."""
    found = set(true)
    return tuple(verdict for verdict in Verdict if verdict in found) or (Verdict.FREE,)
