"""The verdicts on an in-place operation."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from memory_stage.messages import Text, message
from memory_stage.trace.amounts import bytes_message


class Verdict(Enum):
    """The effect of an operation on memory and on the history.

    A table shows the ``word`` of a verdict, and ``explained`` is a sentence about it. If several verdicts apply to one
    operation, the first of them in this list is the operation's verdict.
    """

    UNNOTICED = (
        "unnoticed",
        message(
            "It overwrote a tensor that another operation had saved, without increasing the version, so a backward "
            "pass that needs the tensor computes wrong gradients without an error."
        ),
    )
    REFUSED = "refused", message("The operation raised an error. It wrote nothing, unless its row says so.")
    RAISES = "raises", message("Not a write: backward, or the program itself, raised an error.")
    STALE = (
        "stale",
        message(
            "It overwrote a tensor that another operation had saved, or raised its version, so a backward pass that "
            "needs the tensor raises an error."
        ),
    )
    UNRECORDED = (
        "unrecorded",
        message("It changed values but is not in the history, so gradients are those of the program without it."),
    )
    COPIES = "copies", message("Its own backward needs numbers that it overwrites, so they were copied first.")
    MARKS = (
        "marks",
        message("Its own backward needs only one bit per element, or an index. These were saved instead of a copy."),
    )
    PRESERVES = (
        "preserves",
        message("The backward of another operation needs the bytes that it overwrites, so they were copied first."),
    )
    METADATA = "metadata", message("It changed the tensor's shape, strides or storage. No number was overwritten.")
    FREE = "free", message("Nothing had to be copied, and no number that a backward pass needs was overwritten.")

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
        *(message("unnoticed"), message("refused"), message("raises"), message("stale"), message("unrecorded")),
        *(message("copies"), message("marks"), message("preserves"), message("metadata"), message("free")),
    )
}


def in_order(true: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts that apply to an operation, the most serious first; ``free`` if there is none."""
    found = set(true)
    return tuple(verdict for verdict in Verdict if verdict in found) or (Verdict.FREE,)
