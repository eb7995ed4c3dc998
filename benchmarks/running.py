"""Run the libraries of a subject alternately, each in a fresh process, and collect the figures.

A subject is a module of ``benchmarks.rows``.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import Library
from benchmarks.table import OURS

ROOT = Path(__file__).parents[1]

#: Variables that limit a library to one thread, unless a program requests more.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "MINITENSOR_NUM_THREADS",
)
#: The folder for bytecode. All processes share it, so no figure includes the compilation of modules.
_COMPILED = ROOT / "_build/bench/compiled"
_ENVIRONMENT = {
    **dict.fromkeys(_THREADS, "1"),
    "PYTHONPATH": str(ROOT),
    "PYTHONWARNINGS": "ignore",
    "PYTHONPYCACHEPREFIX": str(_COMPILED),
    "PYTHONDONTWRITEBYTECODE": "",
}

#: With these settings glibc returns freed memory to the system immediately, so memory that was freed before the program
#: started is not part of its peak.
_RETURN_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}

#: The allowed relative difference between the results of two libraries, which add float32 numbers in different orders.
_SAME = 1e-3

#: The seconds after which a process is killed.
_PATIENCE = 300


@dataclass
class Measured:
    """The figures of a subject, in lists by library and name, and the errors of the libraries that failed."""

    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, library: str, figures: dict[str, float]) -> None:
        """Add the figures of one process."""
        for name, figure in figures.items():
            self.figures.setdefault(library, {}).setdefault(name, []).append(figure)


class Failed(Exception):
    """Raised if a measuring process fails. The message is the reason, in one line."""


def measure(name: str, libraries: Iterable[Library], rounds: int) -> Measured:
    """Measure a subject. The libraries take turns at being first in a round. A library that fails is not run again.

    Raises:
        SystemExit: if minitensor or numpy fails, or if the results of a library differ from those of minitensor.
    """
    subject = importlib.import_module(f"benchmarks.rows.{name}")
    programs = subject.FIGURES if hasattr(subject, "FIGURES") else subject.PROGRAMS
    running = [library for library in libraries if library.name in programs]
    found = Measured()
    passes: list[tuple[str, ...]] = [(part,) for part in getattr(subject, "PARTS", ())] or [()]
    rounds = min(rounds, getattr(subject, "ROUNDS", rounds))
    for done in range(rounds):
        for more in passes:
            for library in _rotated(running, done):
                say(f"{name}, round {done + 1} of {rounds}: {library.name}")
                _attempt(found, name, library, running, *more)
    if hasattr(subject, "PEAKS"):
        for library in list(running):
            say(f"{name}, peak bytes: {library.name}")
            _attempt(found, name, library, running, "peaks")
        _compare_results(name, found)
    say("")
    return found


def _rotated(libraries: list[Library], by: int) -> list[Library]:
    first = by % len(libraries) if libraries else 0
    return [*libraries[first:], *libraries[:first]]


def _attempt(found: Measured, subject: str, library: Library, running: list[Library], *more: str) -> None:
    try:
        found.add(library.name, once(subject, library, *more))
    except Failed as failure:
        if library.name in (OURS, "numpy"):
            raise SystemExit(f"{subject}: {library.name} failed: {failure}") from None
        found.failures[library.name] = f"{' '.join(more)}: {failure}" if more else str(failure)
        running.remove(library)


def _compare_results(subject: str, found: Measured) -> None:
    for name, (ours, *_) in found.figures[OURS].items():
        for library, theirs in found.figures.items():
            if name.endswith(", result") and name in theirs and abs(theirs[name][0] - ours) > _SAME * abs(ours):
                raise SystemExit(f"{subject}: {name} is {ours} in {OURS}, {theirs[name][0]} in {library}")


def once(subject: str, library: Library, *more: str) -> dict[str, float]:
    """Return the figures of a library, measured in a fresh process.

    Args:
        more: a part of the subject, or "peaks" to measure bytes.

    Raises:
        Failed: if the process hangs or fails.
    """
    environment = {**os.environ, **_ENVIRONMENT, **(_RETURN_MEMORY if more == ("peaks",) else {})}
    command = [library.python, "-m", "benchmarks.worker", subject, library.name, *more]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {_PATIENCE} seconds") from None
    if done.returncode < 0:
        raise Failed(f"killed by {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def say(line: str) -> None:
    """Print a line of progress over the last one, if the output is a terminal. An empty line erases the last one."""
    if sys.stderr.isatty():
        print(f"\r{line:60}", end="\r" if not line else "", file=sys.stderr, flush=True)
