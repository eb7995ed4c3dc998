"""The verdicts on an in-place operation."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from memory_stage.messages import Text, message
from memory_stage.trace.amounts import bytes_message


class Verdict(Enum):
    """The effect of an operation on memory and on the history.

    A table shows its ``word``; ``explained`` is a sentence about it. If several apply to one operation, the first
    of them in this list is the operation's verdict.
    """

    UNNOTICED = (
        "unnoticed",
        message(
            "It overwrote what another operation saved, and no version tells: a backward that needs that is wrong."
        ),
    )
    REFUSED = "refused", message("The operation raised an error and wrote nothing.")
    RAISES = "raises", message("Not a write: an error of backward, or of the program itself.")
    STALE = (
        "stale",
        message("It overwrote, or put out of date, what another operation saved: a backward that needs that raises."),
    )
    UNRECORDED = (
        "unrecorded",
        message("It changed values and not the history: gradients are those of the program without it."),
    )
    COPIES = "copies", message("Its own backward needs numbers that it overwrites: they were copied first.")
    MARKS = (
        "marks",
        message("Its own backward needs less than a copy: a bit for each element, or an index. That was kept."),
    )
    PRESERVES = "preserves", message("Another operation's backward needs the bytes that it overwrites: they were kept.")
    METADATA = "metadata", message("It changed how the tensor looks at memory; nothing was overwritten.")
    FREE = "free", message("Nothing had to be copied, and nothing that a backward needs was lost.")

    word: str
    explained: Text

    @property
    def meaning(self) -> str:
        """The English sentence that explains the word."""
        return str(self.explained)

    @property
    def said(self) -> Text:
        """The word in the reader's language."""
        return _SAID[self.word]

    def cost(self, nbytes: int) -> Text:
        """Return the word and the bytes: ``copies 8 bytes``."""
        return message("{verdict} {size}", verdict=self.said, size=bytes_message(nbytes))

    def __new__(cls, word: str, explained: Text) -> Verdict:
        verdict = object.__new__(cls)
        verdict._value_ = verdict.word = word
        verdict.explained = explained
        return verdict


_SAID: dict[str, Text] = {
    str(said): said
    for said in (
        message("unnoticed"),
        message("refused"),
        message("raises"),
        message("stale"),
        message("unrecorded"),
        message("copies"),
        message("marks"),
        message("preserves"),
        message("metadata"),
        message("free"),
    )
}


def in_order(true: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts that apply to an operation, the most serious first; ``free`` if there is none."""
    found = set(true)
    return tuple(verdict for verdict in Verdict if verdict in found) or (Verdict.FREE,)
