"""Guard a program from the errors of its observers."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class Guard:
    """A context manager that ends an observation if the observer raises an error. The program continues.

    An interrupt is raised again.

    Args:
        fail: is called with the error, and ends the observation.
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
