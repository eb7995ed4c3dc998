"""Parse the options on the line of a magic. Error messages begin with the magic's name."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from types import FrameType
from typing import Any, NoReturn

from IPython.core.error import UsageError


class MagicOptions(argparse.ArgumentParser):
    """The options of one magic.

    Args:
        magic: the name of the magic, such as ``%%stage``; every error message begins with it.
    """

    def __init__(self, magic: str) -> None:
        super().__init__(prog=magic, add_help=False)

    def of(self, line: str) -> argparse.Namespace:
        """Parse the line of a magic.

        Raises:
            UsageError: if an option is unknown, a value is wrong, or a quote is not closed.
        """
        try:
            return self.parse_args(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{self.prog}: {error}") from None

    def error(self, message: str) -> NoReturn:
        """Raise an error about a line, with the usage in the message.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{self.prog}: {message}. {self.format_usage().strip()}")


def number_of_cell(shell: Any) -> int:
    """Return the number of the running cell. IPython's versions differ in when they increment the counter."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = shell.compile.format_code_name(frame.f_code.co_filename)
        if name is not None and (number := re.search(r"\d+", name[1])):
            return int(number[0])
        frame = frame.f_back
    return shell.execution_count


def numbered_as_seen(cell: str, source: str) -> str:
    """Return `source` with empty lines before it, so that its line numbers are those of the visible cell."""
    before = 1
    for line in cell.splitlines():
        if line.strip():
            break
        before += 1
    return "\n" * before + source
