"""A finished step: its facts, and everything else that its sentence depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_stage.model.entries import NodeEntry
from memory_stage.model.ledger import Ledger
from memory_stage.model.statement import Statement


@dataclass
class FinishedStep:
    """A finished step."""

    statement: Statement
    line: int
    phase: str
    partly: bool  # True if the statement has not ended
    facts: list[Any]
    printed: bool
    error: BaseException | None
    node: NodeEntry | None
    previous: str  # the sentence of the previous step
    ledger: Ledger
    events: list[dict[str, Any]]
    unreserved: int = 0  # bytes that the GPU's allocator released
    reserved: int = 0  # bytes that it has reserved

    def all(self, *kinds: type) -> list[Any]:
        """Return the facts of these kinds, in order."""
        return [fact for fact in self.facts if isinstance(fact, kinds)]
