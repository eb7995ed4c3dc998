"""The rows of a report and their totals, as plain texts and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, listed, message, said
from memory_stage.model.changes import AN_UPDATE, UNREPORTED_WRITE

#: Phrases for operations that have no name.
_PHRASES: dict[str, Text] = {"raises": message("an error"), UNREPORTED_WRITE: AN_UPDATE}


@dataclass
class SourceLine:
    """A line of the program; ``file`` is None if the code was typed into a notebook or a prompt."""

    file: str | None
    line: int
    text: str

    @classmethod
    def of(cls, place: Any) -> SourceLine:
        """Copy the file, line and text of ``place``, so that nothing refers to code or frames."""
        return cls(place.file, place.line, place.text)

    def __str__(self) -> str:
        where = message("line {line}", line=self.line)
        if self.file is not None:
            where = message("{file}, line {line}", file=self.file, line=self.line)
        return said(message("{line}: {code}", line=where, code=self.text) if self.text else where)


@dataclass
class TensorView:
    """The tensor that an operation writes.

    Attributes:
        name: the program's name for it, or "" if that is not known.
        view_of: a phrase naming the tensor that it is a view or a detached alias of, or "".
        nbytes: bytes of its elements.
    """

    name: str
    shape: list[int]
    dtype: str
    nbytes: int
    view_of: str

    def __str__(self) -> str:
        words = f"{self.name} {self.shape} {self.dtype}".strip()
        return said(listed([words, self.view_of])) if self.view_of else words


@dataclass
class SavedTensor:
    """A tensor that an operation saved for backward and that a later write affected.

    Attributes:
        op, where: the operation that saved it, and the line that called the operation.
        what: its role in the operation: ``input``, ``output``, or ``inputs x and y`` if one tensor is both.
        lost: True if bytes of it were overwritten; otherwise only the version of its storage has changed.
        asked_for: True if a later backward needed it and raised an error.
    """

    op: str
    where: SourceLine
    what: str
    shape: list[int]
    nbytes: int
    lost: bool = False
    asked_for: bool = False

    def __str__(self) -> str:
        place = SourceLine(self.where.file, self.where.line, f"`{self.where.text}`" if self.where.text else "")
        return said(
            message(
                "the {what} {shape} of `{op}` ({place})",
                what=self.what,
                shape=str(self.shape),
                op=self.op,
                place=str(place),
            )
        )


@dataclass
class ReportRow:
    """One in-place operation, or an error.

    Attributes:
        number: the position in the program's order, from 1.
        op: the operation.
        where: the line that called it.
        tensor: the tensor that it wrote; None if the tensor is unknown, or if backward or the program raised an error.
        before, after: the version of the storage before and after the operation.
        policy: the in-place policy in force.
        recorded: True if the history contains the operation.
        verdicts: all verdicts that apply, the most serious first.
        rules, needs, why: the derivative rules of the operation, the tensors that these rules need, and the reason.
        happened, instead: sentences about the effect, and about a cheaper or safer way.
        copied, marked, indexed: bytes of copies, marks and an index, saved for the operation's own backward.
        preserved: bytes kept for other operations, which ``preserved_for`` lists.
        stale: the saved tensors that became stale or, with the verdict "unnoticed", were overwritten.
        error: the error's text, or "".
        cause: the number of the row whose write made backward() raise; None if there is none or it is not known.
        by: "a layer" or "an optimizer" if one of these called the operation for the line; otherwise "".
    """

    number: int
    op: str
    where: SourceLine
    policy: str
    tensor: TensorView | None = None
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
    def operation(self) -> str:
        """The operation for a reader: a name, or a phrase for an error and for a write that no operation reported."""
        return said(_PHRASES.get(self.op, self.op))

    @property
    def verdict(self) -> Verdict:
        """The most serious verdict."""
        return self.verdicts[0]

    @property
    def nbytes(self) -> int:
        """All bytes that were kept because of this operation."""
        return self.copied + self.marked + self.indexed + self.preserved


@dataclass
class Totals:
    """Sums over all in-place operations, shown or not. The fields from ``copied`` to ``preserved`` are in bytes."""

    operations: int = 0
    copied: int = 0
    marked: int = 0
    indexed: int = 0
    preserved: int = 0
    unnoticed: int = 0
    stale: int = 0
    unrecorded: int = 0
    refused: int = 0

    def add(self, row: ReportRow) -> None:
        """Add one row, unless it is about an error of backward or of the program itself."""
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
