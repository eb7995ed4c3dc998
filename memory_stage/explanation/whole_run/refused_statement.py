"""The statement of a program that a framework has refused."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import Text
from memory_stage.watch.lines import ProgramLine

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class RefusedStatement:
    """A statement that raised an error.

    Attributes:
        made_in: returns the line that made a tensor, or ``UNKNOWN_LINE``.
        frame: the frame of the program in which the statement ran.
        line: the line of the statement.
        text: the source of the file that contains the statement.
        statement: the statement; None if the source cannot be read.
        message: the text of the error.
    """

    made_in: Callable[[Any], ProgramLine]
    frame: FrameType
    line: ProgramLine
    text: ProgramText
    statement: ast.stmt | None
    message: str

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of a kind in the statement's syntax tree."""
        return [] if self.statement is None else [each for each in ast.walk(self.statement) if isinstance(each, kind)]

    def variable(self, name: str) -> Any:
        """Return the value of a variable where the error was raised; None if there is none."""
        return self.frame.f_locals.get(name, self.frame.f_globals.get(name))

    def replaced(self, *texts: str) -> tuple[Edit, ...]:
        """Return the edit that replaces the statement; () if its lines contain more than the statement."""
        return self.text.replace(self.statement, *texts)

    def fix(self, sentence: Text, edits: tuple[Edit, ...] = ()) -> Fix:
        """Return a fix in the file of the statement."""
        return Fix(sentence, self.text.file, edits)
