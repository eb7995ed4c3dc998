"""Seconds and bytes of a piece of work, measured inside one process.

The figure of a piece of work is its fastest run: what a busy machine adds is never negative. Bytes are told twice over:
:func:`peak_bytes` asks the operating system, for every library alike; :func:`peak_traced` asks Python and numpy, to the
byte, but knows nothing of libraries that have an allocator of their own.
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

#: A look at whether everything runs: small tensors, short chains, one call of each program.
QUICK = os.environ.get("MINITENSOR_BENCH_QUICK") == "1"

#: Bytes that come and go by the page without anybody asking for memory: less than that is nothing.
_NOISE = 64 << 10

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def fastest(work: Callable[[], Any], seconds: float = 0.25, least: int = 3) -> float:
    """Seconds of the fastest call, after one that warms up: at least ``least`` calls, and for at least ``seconds``."""
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
    """Seconds of one statement in the fastest burst; ``setup`` runs before each, without being timed."""
    bursts = 1 if QUICK else bursts
    return min(timeit.repeat(statement, setup, globals=scope, number=burst, repeat=bursts)) / burst


def resident_bytes(field: str = "VmRSS") -> int | None:
    """Bytes of this process in the computer's memory (``VmHWM``: the most so far); None where Linux does not tell."""
    if not _STATUS.exists():
        return None
    return next(int(line.split()[1]) << 10 for line in _STATUS.read_text().splitlines() if line.startswith(field))


def peak_bytes(work: Callable[[], Any]) -> int | None:
    """The most bytes that the process has in memory during ``work``, more than before; None where none can tell."""
    gc.collect()
    before = resident_bytes()
    try:
        _RESET.write_text("5")  # the most so far becomes what is there now
    except OSError:
        return None
    work()
    most = resident_bytes("VmHWM")
    if before is None or most is None:
        return None
    return most - before if most - before >= _NOISE else 0


def peak_traced(work: Callable[[], Any]) -> int:
    """The most bytes that Python objects and numpy arrays take during ``work``, more than before."""
    tracemalloc.start()
    try:
        work()  # objects that the first call makes and keeps are no part of the figure
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
