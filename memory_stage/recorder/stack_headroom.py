"""Room on Python's stack for those who watch a program; nothing of the engine."""

from __future__ import annotations

import sys
import threading


class Room:
    """A context manager around what a listener does: room for its calls where the program has used up the stack.

    So a program that never stops calling itself ends as it does unwatched, and what watches it goes on.

    Raises:
        RecursionError: not even a call of the program has room here; then the listener has done nothing.
    """

    CALLS = 200  # inside each other: some five times as many as a recorder makes
    _lock = threading.RLock()  # the limit is that of all threads
    _inside = 0
    _limit = 0

    def __enter__(self) -> None:
        with Room._lock:
            if not Room._inside:
                limit = sys.getrecursionlimit()
                try:  # it is refused where the limit is reached: it could not be set back either
                    sys.setrecursionlimit(limit)
                except RecursionError:
                    raise RecursionError("maximum recursion depth exceeded") from None
                Room._limit = limit
                sys.setrecursionlimit(limit + Room.CALLS)
            Room._inside += 1

    def __exit__(self, *error: object) -> None:
        with Room._lock:
            Room._inside -= 1
            if not Room._inside:
                sys.setrecursionlimit(Room._limit)
