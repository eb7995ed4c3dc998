"""Run the statements of a program that await at its top level.

The program gets a separate event loop, because the notebook's loop is busy with the cell. As in a notebook, the loop
runs only during statements that await. When the program ends, the remaining tasks are cancelled, as in ``asyncio.run``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any


class Awaiting:
    """The event loop of one program, created when a statement first needs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def finish(self, statement: Coroutine[Any, Any, None]) -> None:
        """Run a statement that awaits, until it ends.

        Raises:
            BaseException: the error that the statement raises.
        """
        with _no_other_loop():
            self._loop = self._loop or asyncio.new_event_loop()
            error = self._loop.run_until_complete(_outcome(statement))
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback refers to the program's frames and to this one

    def close(self) -> None:
        """Cancel the remaining tasks and close the loop, at the end of the program."""
        if self._loop is None:
            return
        with _no_other_loop(), contextlib.closing(self._loop) as loop:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(_ended(left))
            loop.run_until_complete(loop.shutdown_asyncgens())


async def _outcome(statement: Coroutine[Any, Any, None]) -> BaseException | None:
    """Return the error of a statement, or None. Raising it in the loop would add the loop's frames to its traceback."""
    try:
        await statement
    except BaseException as error:
        return error
    return None


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _no_other_loop() -> Iterator[None]:
    """Hide this thread's running loop, which is busy with the caller, so that another loop can run inside the block."""
    busy = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(busy)
