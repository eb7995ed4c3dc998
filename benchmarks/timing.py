"""Measure seconds and bytes of a piece of work inside one process.

The figure of a piece of work is its fastest run, because load on the machine only adds time. There are two ways to
measure bytes: :func:`peak_bytes` asks the operating system, and works for every library; :func:`peak_traced` asks
Python and numpy, and is exact, but does not see libraries with a separate allocator.
"""

from __future__ import annotations

import gc
import os
import timeit
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

#: True for a quick test that everything runs, with small tensors, short chains, and one call of each program.
QUICK = os.environ.get("MINITENSOR_BENCH_QUICK") == "1"

#: The memory of a process varies by this many bytes even if nothing is allocated, so fewer bytes count as 0.
_NOISE = 64 << 10

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def fastest(work: Callable[[], Any], seconds: float = 0.25, least: int = 3) -> float:
    """Return the seconds of the fastest call after a warm-up.

    Calls are repeated for ``seconds``, and at least ``least`` times.
    """
    if QUICK:
        seconds, least = 0.0, 1
    work()
    best, calls, end = float("inf"), 0, perf_counter() + seconds
    while calls < least or perf_counter() < end:
        start = perf_counter()
        work()
        best = min(best, perf_counter() - start)
        calls += 1
    return best


def fastest_statement(statement: str, setup: str, scope: dict[str, Any], burst: int, bursts: int) -> float:
    """Return the seconds of one statement in the fastest burst; ``setup`` runs before each burst, untimed."""
    bursts = 1 if QUICK else bursts
    return min(timeit.repeat(statement, setup, globals=scope, number=burst, repeat=bursts)) / burst


def resident_bytes(field: str = "VmRSS") -> int | None:
    """Return a figure of this process's memory in bytes (``VmHWM`` is the peak so far); None if the system has none."""
    if not _STATUS.exists():
        return None
    return next(int(line.split()[1]) << 10 for line in _STATUS.read_text().splitlines() if line.startswith(field))


def peak_bytes(work: Callable[[], Any]) -> int | None:
    """Return the peak bytes of the process during ``work``, minus its bytes before; None if it is unknown."""
    gc.collect()
    before = resident_bytes()
    try:
        _RESET.write_text("5")  # resets the peak to the present memory
    except OSError:
        return None
    work()
    most = resident_bytes("VmHWM")
    if before is None or most is None:
        return None
    return most - before if most - before >= _NOISE else 0


def peak_traced(work: Callable[[], Any]) -> int:
    """Return the peak bytes of Python objects and numpy arrays during ``work``, minus their bytes before."""
    tracemalloc.start()
    try:
        work()  # the first call also creates caches, which must not be counted
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
