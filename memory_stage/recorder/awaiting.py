"""Runs what a program awaits at its top level.

The program has a loop of its own: that of a notebook is busy with the very cell. It stands still from one statement
that awaits to the next one, as a notebook's does inside a cell. Tasks that are left at the end of the program are
cancelled, as ``asyncio.run`` does it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any


class Awaiting:
    """The loop of one program, made when it is needed first."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def finish(self, statement: Coroutine[Any, Any, None]) -> None:
        """Run a statement that awaits to its end, and raise what it raises."""
        with _no_other_loop():
            self._loop = self._loop or asyncio.new_event_loop()
            error = self._loop.run_until_complete(_outcome(statement))
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback holds the program's frames, and leads here

    def close(self) -> None:
        """The program is over."""
        if self._loop is None:
            return
        with _no_other_loop(), contextlib.closing(self._loop) as loop:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(_ended(left))
            loop.run_until_complete(loop.shutdown_asyncgens())


async def _outcome(statement: Coroutine[Any, Any, None]) -> BaseException | None:
    """The error with which it ends: raised through the loop it would carry the loop's frames."""
    try:
        await statement
    except BaseException as error:
        return error
    return None


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _no_other_loop() -> Iterator[None]:
    """The loop that runs in this thread already is busy with who called; one that runs inside must not see it."""
    busy = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(busy)
