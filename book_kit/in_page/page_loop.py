"""An event loop of ``asyncio`` for a page: it waits by sleeping.

Python in a page has neither sockets nor threads, and a program runs there without interruption. Because no event can
arrive from outside while it waits, it can only wait for its own tasks or for a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, NoReturn


class PageLoop(asyncio.BaseEventLoop):
    """Run tasks, and sleep when all of them wait for a time."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # the loop calls only `select` of its selector

    def select(self, timeout: float | None) -> list[NoReturn]:
        """Sleep for ``timeout`` seconds and return no events.

        Raises:
            RuntimeError: if ``timeout`` is None, because then no task can continue.
        """
        if timeout is None:
            raise RuntimeError("the program waits forever: none of its tasks can continue, and nothing else happens")
        time.sleep(timeout)
        return []

    def _process_events(self, events: list[Any]) -> None:
        """Do nothing: there are no events."""

    def _write_to_self(self) -> None:
        """Do nothing: no other thread needs to wake the loop."""


class PagePolicy(asyncio.DefaultEventLoopPolicy):
    """Make every new loop a `PageLoop`."""

    def new_event_loop(self) -> PageLoop:
        """Return a loop that waits by sleeping."""
        return PageLoop()


def wait_by_sleeping() -> None:
    """Make ``asyncio`` wait by sleeping, and remove Pyodide's loop."""
    asyncio.run = asyncio.runners.run  # Pyodide's version calls JavaScript
    asyncio.set_event_loop_policy(PagePolicy())
    asyncio._set_running_loop(None)
