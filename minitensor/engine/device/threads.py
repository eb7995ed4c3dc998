"""Share work among threads.

While numpy computes, other threads can run. Each call of `share_out` starts its own threads. Starting a thread takes
about 60 us, which is little compared with an operation on 16 MiB. There is no pool of threads, so no threads have to be
shut down, and a fork breaks nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from threading import Thread

import numpy as np


def _default_number() -> int:
    """Return the number in ``MINITENSOR_NUM_THREADS``; without it, the number of cores for this process, at most 4."""
    setting = os.environ.get("MINITENSOR_NUM_THREADS", "")
    if setting:
        if not setting.isascii() or not setting.isdigit() or int(setting) < 1:
            raise ValueError(f"MINITENSOR_NUM_THREADS must be a number, 1 or more, not {setting!r}")
        return int(setting)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)


class Threads:
    """The setting ``number``: how many threads compute at once, including the calling thread."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = _default_number()


threads = Threads()


def share_out(work: Callable[[int], None], pieces: Iterable[int], number: int) -> None:
    """Call ``work`` with each of ``pieces`` in ``number`` threads, including the current thread.

    Floating-point errors are ignored, because inf and nan are valid values. All threads have ended when this returns or
    raises.

    Raises:
        An error that ``work`` raised (one of them, if there are several), or KeyboardInterrupt. In both cases, some of
        the other pieces may not have been processed.
    """
    rest = iter(pieces)
    failures: list[BaseException] = []

    def take() -> None:
        # Each thread has its own setting for floating-point errors.
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
            helpers.append(Thread(target=help_out, daemon=True))
            try:
                helpers[-1].start()
            except RuntimeError:  # the system has no more threads, so the existing ones do the work
                helpers.pop()
                break
        take()
    finally:
        _drop(rest)
        _wait(helpers)
    if failures:
        raise failures.pop()


def _drop(pieces: Iterator[int]) -> None:
    """Consume the remaining pieces, so that no thread begins another one."""
    for _ in pieces:
        pass


def _wait(helpers: list[Thread]) -> None:
    """Wait until all threads have ended, even if interrupted, because they write into memory that the caller uses."""
    interrupted: BaseException | None = None
    for helper in helpers:
        # A thread without an ident was never started.
        while helper.ident is not None and helper.is_alive():
            try:
                helper.join()
            except BaseException as interruption:
                interrupted = interruption
    if interrupted is not None:
        raise interrupted
