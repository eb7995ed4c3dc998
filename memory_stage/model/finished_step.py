"""A step that is over: its facts and all that a sentence about it may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_stage.model.entries import NodeEntry
from memory_stage.model.ledger import Ledger
from memory_stage.model.statement import Statement


@dataclass
class Done:
    """A step that is over."""

    statement: Statement
    line: int
    phase: str
    partly: bool  # the statement goes on
    facts: list[Any]
    printed: bool
    error: BaseException | None
    node: NodeEntry | None
    told: str  # the sentence of the step before
    ledger: Ledger
    events: list[dict[str, Any]]
    unreserved: int = 0  # bytes that the GPU's allocator gave back
    reserved: int = 0  # bytes that it holds

    def all(self, *kinds: type) -> list[Any]:
        """The facts of some kinds, in order."""
        return [fact for fact in self.facts if isinstance(fact, kinds)]
