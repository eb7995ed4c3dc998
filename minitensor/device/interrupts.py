"""Ctrl-C waits until a write has ended."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # has no types; `signal` makes enumerations, which takes 3 us a call
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class uninterrupted:  # noqa: N801  # reads as a word after `with`
    """Inside, an interruption is noted; at the end it is raised. What takes several steps is done, or is not begun.

    Python runs the handlers of signals in the main thread alone, so only there something has to be done: the handler of
    SIGINT is another one for as long. That takes 1 us, so it is for what takes much longer.
    """

    __slots__ = ("_before", "_noted")

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._noted: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.get_ident() == threading.main_thread().ident:
            before = _signal.getsignal(_signal.SIGINT)
            if callable(before):
                self._before = before
                _signal.signal(_signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number, frame

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)
            if self._noted is not None:
                self._before(*self._noted)
