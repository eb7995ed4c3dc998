"""A finished step: its facts, and everything else that its sentence is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_stage.model.entries import NodeEntry
from memory_stage.model.ledger import Ledger
from memory_stage.model.statement import Statement


@dataclass
class FinishedStep:
    """A step of the recording that has ended."""

    statement: Statement
    line: int
    phase: str
    partly: bool  # True if the statement continues in a later step
    facts: list[Any]
    printed: bool
    error: BaseException | None
    node: NodeEntry | None
    previous: str  # the sentence of the previous step
    ledger: Ledger
    events: list[dict[str, Any]]
    unreserved: int = 0  # the bytes that the GPU's allocator gave back to the GPU
    reserved: int = 0  # the bytes that the GPU's allocator still has reserved

    def all(self, *kinds: type) -> list[Any]:
        """Return the facts of these kinds, in order."""
        return [fact for fact in self.facts if isinstance(fact, kinds)]
