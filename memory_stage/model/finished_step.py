"""A statement of the recorded program, and a finished step with everything that its sentence is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_stage.model.entries import NodeEntry
from memory_stage.model.ledger import Ledger


@dataclass(frozen=True)
class Statement:
    """A statement, or the head of a compound one."""

    line: int
    end: int
    kind: str  # assign, augment, delete, expression, return, raise, for, while, def, method, or quiet
    text: str  # the source of the value or of the whole statement, on one line
    file: str
    function: str  # the function that contains the statement; "" for the top level
    loops: tuple[int, ...] = ()  # the hook numbers of the loops around the statement, the outermost loop first

    @property
    def is_quiet(self) -> bool:
        """True if the statement gets a step only when it changed memory."""
        return self.kind in ("quiet", "for", "while", "def", "method", "return")


@dataclass
class FinishedStep:
    """A step of the recording that has ended."""

    statement: Statement
    line: int
    phase: str  # "forward" or "backward"
    partly: bool  # True if the statement continues in a later step
    facts: list[Any]
    printed: bool
    error: BaseException | None
    node: NodeEntry | None  # the node that backward passed through
    previous: str  # the sentence of the previous step
    ledger: Ledger
    events: list[dict[str, Any]]
    unreserved: int = 0  # the bytes that the GPU's allocator gave back to the GPU
    reserved: int = 0  # the bytes that the GPU's allocator still has reserved

    def all(self, *kinds: type) -> list[Any]:
        """Return the facts of these kinds, in order."""
        return [fact for fact in self.facts if isinstance(fact, kinds)]
