"""An event loop of ``asyncio`` for a page. The loop waits by sleeping.

Python in a page has neither sockets nor threads, and nothing interrupts a program. While the loop waits, no event can
arrive from outside, so the loop only has to wait for timers.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, NoReturn


class PageLoop(asyncio.BaseEventLoop):
    """An event loop that runs tasks, and that sleeps when all tasks wait for a timer."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # the base class calls only the method `select` of a selector

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
        """Do nothing, because there are no events."""

    def _write_to_self(self) -> None:
        """Do nothing, because no other thread needs to wake the loop."""


class PagePolicy(asyncio.DefaultEventLoopPolicy):
    """An event loop policy under which every new loop is a `PageLoop`."""

    def new_event_loop(self) -> PageLoop:
        """Return a loop that waits by sleeping."""
        return PageLoop()


def wait_by_sleeping() -> None:
    """Let ``asyncio`` wait by sleeping, and remove Pyodide's event loop, which calls JavaScript."""
    asyncio.run = asyncio.runners.run  # Pyodide has replaced this function
    asyncio.set_event_loop_policy(PagePolicy())
    asyncio._set_running_loop(None)
