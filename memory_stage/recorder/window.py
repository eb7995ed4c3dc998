"""The part of a run that is recorded: some of its statements, or one iteration of a loop.

Before a window begins, a program runs with hooks and without a subscription to an engine, which costs less than a
microsecond a statement. A recording of 500 steps can therefore begin after millions of statements.
"""

from __future__ import annotations

import ast
from typing import Protocol

from memory_stage.messages import Text, message
from memory_stage.model.statement import Statement


class EndOfWindow(SystemExit):
    """Raised at the end of a window that ends the program."""


class RecordingWindow(Protocol):
    """A part of a run that is recorded.

    Attributes:
        is_alone: True to end the program where the window ends.
    """

    is_alone: bool

    def advance(self, statement: Statement, index: int, moment: str) -> bool:
        """Count a hook that the run has reached. Return True if the run is inside the window now.

        Args:
            index: the number of the hook.
            moment: the kind of the hook: "before" if the statement is about to run, "turn" if an iteration of it
                begins.
        """

    def describe(self) -> Text:
        """Return a phrase for the part, such as ``statements 20 to 30``."""


class StatementWindow:
    """The statements from one number to another, counted from 1 as they run.

    Args:
        is_alone: True to end the program after the last one.
    """

    def __init__(self, first: int, last: int, is_alone: bool = False) -> None:
        self.first, self.last, self.is_alone = first, last, is_alone
        self.count = 0

    def advance(self, statement: Statement, index: int, moment: str) -> bool:
        """Count a statement. Return True if its number is in the window."""
        self.count += moment == "before"
        return self.first <= self.count <= self.last

    def describe(self) -> Text:
        """Return a phrase for the part."""
        return message("statements {first} to {last} of the run", first=f"{self.first:,}", last=f"{self.last:,}")


class LineWindow:
    """The run from the first time that a line is reached.

    Args:
        line: the number of the line in the program's file.
    """

    is_alone = False

    def __init__(self, line: int, file: str) -> None:
        self._line, self._file = line, file
        self._is_reached = False

    def advance(self, statement: Statement, index: int, moment: str) -> bool:
        """Return True once the run has reached the line."""
        if not self._is_reached and moment == "before" and statement.file == self._file:
            self._is_reached = statement.line <= self._line <= statement.end
        return self._is_reached

    def describe(self) -> Text:
        """Return a phrase for the part."""
        return message("the run from line {line} on", line=self._line)


class IterationWindow:
    """One iteration of a loop.

    Iterations are counted over the whole run, so those of a second epoch continue the count of the first.

    Args:
        number: the number of the iteration, counted from 1.
        head: the line of the loop's head in the program's file; None for the first loop that reaches this iteration.
    """

    is_alone = False

    def __init__(self, number: int, head: int | None, file: str) -> None:
        self._number, self._head, self._file = number, head, file
        self._counts: dict[int, int] = {}
        self._loop: int | None = None  # the hook of the loop that the recorded iteration belongs to
        self._is_over = False

    def advance(self, statement: Statement, index: int, moment: str) -> bool:
        """Count an iteration at the head of a loop. Return True if the run is inside the recorded iteration."""
        if moment == "turn" and (self._head is None or (statement.line, statement.file) == (self._head, self._file)):
            self._counts[index] = count = self._counts.get(index, 0) + 1
            if self._loop is None and count == self._number:
                self._loop = index
            elif index == self._loop:
                self._is_over = True
        return self._loop is not None and not self._is_over

    def describe(self) -> Text:
        """Return a phrase for the part."""
        number = f"{self._number:,}"
        if self._head:
            return message("iteration {number} of the loop in line {line}", number=number, line=self._head)
        return message("iteration {number} of the loop", number=number)


def head_of_loop(source: str, line: int) -> int:
    """Return the line of the head of the innermost loop around a line.

    Raises:
        ValueError: if there is none in the function that contains the line.
    """
    found = 0
    todo: list[tuple[ast.AST, int]] = [(ast.parse(source), 0)]
    while todo:
        node, head = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            head = 0
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            head = node.lineno
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            found = head
        if not isinstance(node, ast.stmt) or node.lineno <= line <= (node.end_lineno or 0):
            todo += [(each, head) for each in ast.iter_child_nodes(node)]
    if not found:
        raise ValueError(f"line {line} is in no loop; --iteration needs a line inside one")
    return found
