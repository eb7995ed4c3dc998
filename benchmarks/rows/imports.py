"""The cost of ``import minitensor`` compared with ``import numpy``: seconds, and bytes of memory.

Each import runs in a separate process that has imported numpy, and the fastest one counts. The first import after an
installation also compiles the sources, if the installer did not, so it is a separate figure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.table import Limit, Ratio
from benchmarks.timing import QUICK

TITLE = "import, over numpy"

ROUNDS = 3

MIB = 1 << 20

PROGRAM = """
import json, sys, numpy
from time import perf_counter
from benchmarks.timing import resident_bytes
before, begun = resident_bytes(), perf_counter()
__import__(sys.argv[1])
seconds, after = perf_counter() - begun, resident_bytes()
print("\\n" + json.dumps([seconds, None if after is None else after - before]))
"""


def once(name: str, environment: dict[str, str]) -> tuple[float, float | None]:
    """Return the seconds and the bytes of one import. The bytes are None if the system does not report them."""
    command = [sys.executable, "-c", PROGRAM, name]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    seconds, nbytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, nbytes


def fastest_import(name: str, times: int) -> dict[str, float]:
    """Return the fewest seconds and bytes of importing the package ``name`` after numpy, with compiled sources."""
    once(name, {})
    seconds, nbytes = zip(*(once(name, {}) for _ in range(1 if QUICK else times)), strict=True)
    return {"seconds": min(seconds), **({"bytes in memory": min(nbytes)} if None not in nbytes else {})}


def minitensor() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as empty:
        compiling, _ = once("minitensor", {"PYTHONPYCACHEPREFIX": empty})
    return {**fastest_import("minitensor", 8), "seconds, compiling": compiling}


FIGURES = {
    "minitensor": minitensor,
    "torch": lambda: fastest_import("torch", 2),
    "paddle": lambda: fastest_import("paddle", 2),
    "mygrad": lambda: fastest_import("mygrad", 2),
}

ROWS = [
    Limit("seconds", "s", most=0.15),
    Limit("bytes in memory", "bytes", most=5 * MIB),
    Limit("seconds, compiling", "s"),
    *(Ratio("seconds", over=library) for library in ("torch", "paddle", "mygrad")),
    *(Ratio("bytes in memory", over=library, unit="bytes") for library in ("torch", "paddle", "mygrad")),
]
