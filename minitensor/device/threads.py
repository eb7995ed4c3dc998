"""Work that is shared out among threads.

numpy lets other threads run while it computes. A thread lives as long as one piece of work: starting it takes some 60
us, which is little beside an operation on 16 MiB, and so there is nothing to be shut down, or to be lost in a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from threading import Thread


def _to_begin_with() -> int:
    """The number that ``MINITENSOR_NUM_THREADS`` says; else one for each core that the process may use, up to 4."""
    told = os.environ.get("MINITENSOR_NUM_THREADS", "")
    if told:
        if not told.isascii() or not told.isdigit() or int(told) < 1:
            raise ValueError(f"MINITENSOR_NUM_THREADS is a number, 1 or more, not {told!r}")
        return int(told)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)


class Threads:
    """``number``: how many compute at once, the one that asks among them."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = _to_begin_with()


threads = Threads()


def share_out(work: Callable[[int], None], pieces: Iterable[int], number: int) -> None:
    """Call ``work`` with each of ``pieces``, in ``number`` threads at once, this one among them.

    Floating-point errors are ignored: inf and nan are values. When this returns or raises, nobody works any more.

    Raises:
        Whatever ``work`` raises, and KeyboardInterrupt; other pieces may then be done, or not.
    """
    rest = iter(pieces)
    failures: list[BaseException] = []

    def take() -> None:
        # Each thread has a state of its own for floating-point errors.
        with np.errstate(all="ignore"):
            for piece in rest:
                work(piece)

    def help_out() -> None:
        try:
            take()
        except BaseException as failure:
            failures.append(failure)
            _drop(rest)

    helpers: list[Thread] = []
    try:
        for _ in range(number - 1):
            helpers.append(_thread(help_out))
            try:
                helpers[-1].start()
            except RuntimeError:  # there may be no more threads: those that there are do the work
                helpers.pop()
                break
        take()
    finally:
        _drop(rest)
        _wait(helpers)
    if failures:
        raise failures.pop()


def _thread(target: Callable[[], None]) -> Thread:
    from threading import Thread  # not before the first big tensor: an import of 1 ms

    return Thread(target=target, daemon=True)


def _drop(pieces: Iterator[int]) -> None:
    """Leave nothing to be done."""
    for _ in pieces:
        pass


def _wait(helpers: list[Thread]) -> None:
    """Until all are done, even if somebody interrupts it: they write into memory that is used afterwards."""
    interrupted: BaseException | None = None
    for helper in helpers:
        # Whom an interruption kept from beginning finds nothing to do.
        while helper.ident is not None and helper.is_alive():
            try:
                helper.join()
            except BaseException as interruption:
                interrupted = interruption
    if interrupted is not None:
        raise interrupted
