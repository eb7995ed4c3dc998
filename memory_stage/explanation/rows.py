"""The rows of a report and their sums: what is known of each in-place operation, in plain texts and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memory_stage.explanation.verdicts import Verdict


@dataclass
class Spot:
    """A line of the program; ``file`` is None for code typed in."""

    file: str | None
    line: int
    text: str

    @classmethod
    def of(cls, place: Any) -> Spot:
        """The same, as plain data."""
        return cls(place.file, place.line, place.text)

    def __str__(self) -> str:
        where = f"line {self.line}" if self.file is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.text}" if self.text else where


@dataclass
class Look:
    """The tensor that an operation writes.

    Attributes:
        name: what the program calls it; "" when that is not known.
        view_of: what it is a view or a detached alias of, in words; "" when it is neither.
        nbytes: bytes of its elements.
    """

    name: str
    shape: list[int]
    dtype: str
    nbytes: int
    view_of: str

    def __str__(self) -> str:
        words = f"{self.name} {self.shape} {self.dtype}".strip()
        return f"{words}, {self.view_of}" if self.view_of else words


@dataclass
class SavedTensor:
    """A tensor that an operation saved, and that a later write concerned.

    Attributes:
        op: the operation that saved it, and ``where`` it was called.
        what: which of its tensors: ``input``, ``output``, ``inputs x and y`` when they are one.
        lost: whether bytes of it were overwritten; if not, only the version of its storage has moved.
        asked_for: whether a backward has asked for it since, and raised.
    """

    op: str
    where: Spot
    what: str
    shape: list[int]
    nbytes: int
    lost: bool = False
    asked_for: bool = False

    def __str__(self) -> str:
        place = Spot(self.where.file, self.where.line, f"`{self.where.text}`" if self.where.text else "")
        return f"the {self.what} {self.shape} of `{self.op}` ({place})"


@dataclass
class Row:
    """One in-place operation, or an error.

    Attributes:
        number: from 1, in the order of the program.
        op: the operation.
        where: the line that called it.
        tensor: what it wrote; None for an error that is no operation's.
        before, after: the version of the storage.
        policy: the in-place policy in force.
        recorded: whether the history knows of it.
        verdict: the first of ``verdicts``, which are all that are true of it.
        rules, needs, why: the rules of its gradients, what they need, and why that is so.
        happened, instead: sentences: what was done, and what would be cheaper or safer.
        copied, marked, indexed: bytes that its own backward keeps: copies, marks, an index.
        preserved: bytes kept for others, and ``preserved_for`` whom.
        stale: the saved tensors that became stale.
        error: the error's text; "" when there was none.
        cause: the number of the row whose write made backward raise; None when there is none, or it is not known.
        by: "a layer" or "an optimizer", where that called the operation for the line; else "".
    """

    number: int
    op: str
    where: Spot
    policy: str
    tensor: Look | None = None
    before: int | None = None
    after: int | None = None
    recorded: bool = False
    verdicts: tuple[Verdict, ...] = (Verdict.FREE,)
    rules: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    why: str = ""
    happened: str = ""
    instead: str = ""
    copied: int = 0
    marked: int = 0
    indexed: int = 0
    preserved: int = 0
    preserved_for: list[SavedTensor] = field(default_factory=list)
    stale: list[SavedTensor] = field(default_factory=list)
    error: str = ""
    cause: int | None = None
    by: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict that decides."""
        return self.verdicts[0]

    @property
    def nbytes(self) -> int:
        """All bytes that were kept because of this operation."""
        return self.copied + self.marked + self.indexed + self.preserved


@dataclass
class Totals:
    """Sums over all in-place operations, shown or not. ``copied`` to ``preserved`` are bytes."""

    operations: int = 0
    copied: int = 0
    marked: int = 0
    indexed: int = 0
    preserved: int = 0
    unnoticed: int = 0
    stale: int = 0
    unrecorded: int = 0
    refused: int = 0

    def add(self, row: Row) -> None:
        """One row more."""
        if row.verdict is Verdict.RAISES:
            return
        self.operations += 1
        self.copied += row.copied
        self.marked += row.marked
        self.indexed += row.indexed
        self.preserved += row.preserved
        wrong = Verdict.UNNOTICED in row.verdicts
        self.unnoticed += wrong
        self.stale += 0 if wrong else len(row.stale)
        self.unrecorded += Verdict.UNRECORDED in row.verdicts
        self.refused += row.verdict is Verdict.REFUSED
