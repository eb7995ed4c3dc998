"""The options of a magic: read from its line, and refused under its name."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from IPython.core.error import UsageError


class Options(argparse.ArgumentParser):
    """The options of one magic.

    Args:
        magic: its name, as ``%%stage``; every refusal begins with it.
    """

    def __init__(self, magic: str) -> None:
        super().__init__(prog=magic, add_help=False)

    def of(self, line: str) -> argparse.Namespace:
        """What stands on the line of a magic.

        Raises:
            UsageError: for an option that it has not, a value that is none, and a quote that is not closed.
        """
        try:
            return self.parse_args(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{self.prog}: {error}") from None

    def error(self, message: str) -> NoReturn:
        """Refuse a line, and say what may stand there.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{self.prog}: {message}. {self.format_usage().strip()}")
