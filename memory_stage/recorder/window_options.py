"""Command-line options for the part of a run to record: ``--steps FROM:TO``, ``--line N`` and ``--iteration N``."""

from __future__ import annotations

import argparse

from memory_stage.recorder.window import IterationWindow, LineWindow, RecordingWindow, StatementWindow, head_of_loop


def checked_steps(steps: int) -> int:
    """Return ``steps`` unchanged if it is valid.

    Raises:
        ValueError: if it is not a whole number from 1.
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ValueError(f"steps is the number of steps to record, a whole number from 1, not {steps!r}")
    return steps


def parsed_number(text: str) -> int:
    """Return the whole number in an option's text, which must be at least 1.

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
