"""A statement of the recorded program: its lines and its kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A statement, or the head of a compound one."""

    line: int
    end: int
    kind: str  # assign, augment, delete, expression, return, raise, for, while, def, method, or quiet
    text: str  # source of the value or of the whole statement, on one line
    file: str
    function: str  # with the statement; "" for the top level
    loops: tuple[int, ...] = ()  # hooks of the loops around it, the outermost first

    @property
    def is_quiet(self) -> bool:
        """True if it gets a step only if it changed memory."""
        return self.kind in ("quiet", "for", "while", "def", "method", "return")
