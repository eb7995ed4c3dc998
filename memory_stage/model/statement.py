"""A statement of the program that is recorded: where it stands, and of which kind it is."""

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
    function: str  # where it stands; "" for the top level
    loops: tuple[int, ...] = ()  # hooks of the loops around it, the outermost first

    @property
    def is_quiet(self) -> bool:
        """Whether it is worth a step only when it did something to memory."""
        return self.kind in ("quiet", "for", "while", "def", "method", "return")
