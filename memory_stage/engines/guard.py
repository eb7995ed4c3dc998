"""Guard a program against the errors of its observers."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class Guard:
    """A context manager around an observer: if the observer raises an error, ``fail`` is called and the program
    continues.

    ``KeyboardInterrupt`` and ``SystemExit`` are not caught.

    Args:
        fail: called with the error; it has to end the observation.
    """

    __slots__ = ("_fail",)

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._fail(error)
        return True
