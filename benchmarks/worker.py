"""Measure one subject for one library in this process: ``python -m benchmarks.worker SUBJECT LIBRARY [PART | peaks]``.

The last line of the output has the figures as JSON. A library is imported only where it is used, so that the
figures of one library do not include the import of another.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from benchmarks.timing import fastest, peak_bytes, peak_traced

#: Libraries whose numbers are in arrays of numpy, which Python can trace.
_TRACED = ("minitensor", "numpy")


def seconds(subject: Any, library: str, *part: str) -> dict[str, float]:
    """Return the seconds of the fastest call of each program, or the figures that the subject measures itself."""
    if hasattr(subject, "FIGURES"):
        return subject.FIGURES[library](*part)
    programs = subject.PROGRAMS[library]()
    return {name: fastest(program, getattr(subject, "SECONDS", 0.25)) for name, program in programs.items()}


def peaks(subject: Any, library: str) -> dict[str, float]:
    """Return figures of each program that ``subject.PEAKS`` names.

    Returns:
        For a program called NAME, up to three figures:

        * ``"NAME, peak"``: its peak bytes as the operating system measures them; absent if the system reports no peak.
        * ``"NAME, peak traced"``: its peak bytes as Python traces them; only for minitensor and numpy.
        * ``"NAME, result"``: the number that the last of its ``subject.STEPS`` calls returned; absent without
          ``STEPS``.
    """
    figures: dict[str, float | None] = {}
    programs = subject.PROGRAMS[library]()
    if library == "minitensor":
        # A buffer that is kept for the next call would hide the memory that the call needs.
        importlib.import_module("minitensor").device.cpu.set_reuse_limit(0)
    for name, program in programs.items():
        if name not in subject.PEAKS:
            continue
        result = [program() for _ in range(getattr(subject, "STEPS", 1))][-1]
        if hasattr(subject, "STEPS"):
            figures[f"{name}, result"] = float(result)
        del result
        figures[f"{name}, peak"] = peak_bytes(program)
        if library in _TRACED:
            figures[f"{name}, peak traced"] = peak_traced(program)
    return {name: figure for name, figure in figures.items() if figure is not None}


if __name__ == "__main__":
    name, library, *more = sys.argv[1:]
    subject = importlib.import_module(f"benchmarks.rows.{name}")
    print("\n" + json.dumps(peaks(subject, library) if more == ["peaks"] else seconds(subject, library, *more)))
