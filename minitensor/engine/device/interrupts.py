"""Delay Ctrl-C until a write has ended."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # no types; `signal` creates enumerations, which takes 3 us a call
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class uninterrupted:  # noqa: N801  # a name in small letters reads like a keyword after `with`
    """Delay KeyboardInterrupt until the end of the ``with`` block, so that it cannot occur between the block's steps.

    The handler of SIGINT is replaced during the block, which takes 1 us, so the work in the block should take much
    longer. Python runs signal handlers only in the main thread, so in other threads nothing is replaced.
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
