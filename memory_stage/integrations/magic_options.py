"""Parse the options on the line of a magic. Error messages begin with the magic's name."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

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
