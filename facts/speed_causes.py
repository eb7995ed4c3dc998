"""Record in speed-causes.json the shares of arithmetic and of memory in the time of an addition.

    python facts/speed_causes.py        with numpy; half a minute

All timed calls write equally many numbers. They run alternately, and the fastest of many rounds is recorded, because
load on the machine only makes a round longer.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

SIDES = (100, 1000)  # matrices of 40 KB, of which three fit into a processor's caches, and of 4 MB, which are too large
NUMBERS = 10_000_000  # how many numbers a round writes
ROUNDS = 60


def ways(side: int) -> dict[str, Callable[[], object]]:
    """Return the calls to time, on matrices of side x side float32."""
    x, y, z = (np.ones((side, side), np.float32) for _ in range(3))
    return {
        "x + y into a new array": lambda: np.add(x, y),
        "x + y into another array that is there": lambda: np.add(x, y, out=z),
        "x + y into x, in place": lambda: np.add(x, y, out=x),
        "x copied into another array that is there": lambda: np.copyto(z, x),
        "x copied into a new array": lambda: x.copy(),
    }


def quickest(side: int) -> dict[str, float]:
    """Return the fewest nanoseconds that each call takes for one number."""
    times = NUMBERS // side**2
    best = dict.fromkeys(ways(side), float("inf"))
    for _ in range(ROUNDS):
        for way, run in ways(side).items():
            run()
            start = time.perf_counter_ns()
            for _ in range(times):
                run()
            best[way] = min(best[way], (time.perf_counter_ns() - start) / (times * side**2))
    return {way: round(nanoseconds, 3) for way, nanoseconds in best.items()}


def processor() -> str:
    """Return the system's name of the processor."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text(encoding="utf-8").splitlines() if described.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    record = {
        "date": date.today().isoformat(),
        "numpy": np.__version__,
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
        "nanoseconds": {f"{side} x {side}": quickest(side) for side in SIDES},
    }
    file = Path(__file__).with_name("speed-causes.json")
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
