"""A statement of the recorded program: its lines and its kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A statement, or the head of a compound one."""

    line: int
    end: int
    kind: str  # assign, augment, delete, expression, return, raise, for, while, def, method, or quiet
    text: str  # the source of the value or of the whole statement, on one line
    file: str
    function: str  # the function that contains the statement; "" for the top level
    loops: tuple[int, ...] = ()  # the hooks of the loops around the statement, the outermost first

    @property
    def is_quiet(self) -> bool:
        """True if the statement gets a step only when it changed memory."""
        return self.kind in ("quiet", "for", "while", "def", "method", "return")
