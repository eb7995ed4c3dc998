"""The recorded part of a run (some statements, or one iteration of a loop), and the options that choose this part.

Before a window begins, a program runs with hooks and without a subscription to an engine, and a statement takes
less than a microsecond longer. A recording of 500 steps can therefore begin after millions of statements.
"""

from __future__ import annotations

import argparse
import ast
from typing import Protocol

from memory_stage.messages import Text, message
from memory_stage.model.finished_step import Statement


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
        ValueError: if the function that contains the line has no loop around the line.
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


def checked_steps(steps: int) -> int:
    """Return ``steps`` unchanged if it is valid.

    Raises:
        ValueError: if it is not a whole number from 1.
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ValueError(f"steps must be the number of steps to record, a whole number from 1, not {steps!r}")
    return steps


def parsed_number(text: str) -> int:
    """Return the number in an option's text, a whole number from 1.

    Raises:
        argparse.ArgumentTypeError: if the text is something else.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def parsed_part(text: str) -> tuple[int, int]:
    """Return the numbers of the first and the last statement from an option's text ``FROM:TO``.

    Raises:
        argparse.ArgumentTypeError: if the text is something else.
    """
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"expected FROM:TO, two whole numbers from 1 with FROM <= TO, not {text!r}")
    return int(first), int(last)


def parsed_steps(text: str) -> int | tuple[int, int]:
    """Return the number of steps in an option's text ``N``, or the first and the last statement from ``FROM:TO``.

    Raises:
        argparse.ArgumentTypeError: if the text is something else.
    """
    return parsed_part(text) if ":" in text else parsed_number(text)


def window_of(
    part: tuple[int, int] | None, line: int | None, iteration: int | None, is_alone: bool, source: str, program: str
) -> RecordingWindow | None:
    """Return the window that the options choose; None to record from the first statement on.

    Args:
        part: the numbers of the first and the last statement, or None.
        line: the line to begin at or, with ``iteration``, a line inside the loop; or None.
        iteration: the number of an iteration, or None.
        is_alone: True to end the program after the last statement of ``part``.
        source: the program's text.
        program: the program's file.

    Raises:
        ValueError: if the options contradict each other, or the line is in no loop.
    """
    if part is not None:
        if iteration is not None:
            raise ValueError("--iteration and --steps FROM:TO both choose a part of the run; leave one out")
        return StatementWindow(*part, is_alone)
    if is_alone:
        raise ValueError("--end-after-steps needs --steps FROM:TO")
    if iteration is not None:
        head = None if line is None else head_of_loop(source, line)
        return IterationWindow(iteration, head, program)
    return None if line is None else LineWindow(line, program)
