"""Raise the recursion limit while a listener runs."""

from __future__ import annotations

import sys
import threading


class StackHeadroom:
    """A context manager that raises the recursion limit, so that a listener can run even at the limit.

    A program with infinite recursion then ends as it would without a listener, and the listener keeps working.

    Raises:
        RecursionError: if no further call of the program fits on the stack. The listener has not run then.
    """

    CALLS = 200  # the number of nested calls that a listener may need, about five times as many as a recorder makes
    _lock = threading.RLock()  # guards the recursion limit, which is shared by all threads
    _inside = 0
    _limit = 0

    def __enter__(self) -> None:
        with StackHeadroom._lock:
            if not StackHeadroom._inside:
                limit = sys.getrecursionlimit()
                try:  # if this call fails because the stack is full, the same call in `__exit__` would fail, too
                    sys.setrecursionlimit(limit)
                except RecursionError:
                    raise RecursionError("maximum recursion depth exceeded") from None
                StackHeadroom._limit = limit
                sys.setrecursionlimit(limit + StackHeadroom.CALLS)
            StackHeadroom._inside += 1

    def __exit__(self, *error: object) -> None:
        with StackHeadroom._lock:
            StackHeadroom._inside -= 1
            if not StackHeadroom._inside:
                sys.setrecursionlimit(StackHeadroom._limit)
