"""The loop of ``asyncio`` in a page: waits by sleeping.

Python in a page has neither sockets nor threads, and a program runs there in one go: while it waits nothing comes from
outside, so whatever is waited for is a task of the program or a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, NoReturn


class PageLoop(asyncio.BaseEventLoop):
    """Runs tasks, and sleeps when all of them wait for a time."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # of what a loop asks a selector, `select` is all

    def select(self, timeout: float | None) -> list[NoReturn]:
        """Nothing has come from outside after so many seconds.

        Raises:
            RuntimeError: nothing is left that could happen.
        """
        if timeout is None:
            raise RuntimeError("the program awaits what never comes: no task of it runs, and nothing else does here")
        time.sleep(timeout)
        return []

    def _process_events(self, events: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Wakes a loop for another thread; there is none."""


class PagePolicy(asyncio.DefaultEventLoopPolicy):
    """Every loop that a program makes is such a one."""

    def new_event_loop(self) -> PageLoop:
        """One that waits by sleeping."""
        return PageLoop()


def wait_by_sleeping() -> None:
    """From now on ``asyncio`` waits so, and whatever waited otherwise is out of the way."""
    asyncio.run = asyncio.runners.run  # Pyodide's own asks JavaScript
    asyncio.set_event_loop_policy(PagePolicy())
    asyncio._set_running_loop(None)
