"""Format the table as text and the record as JSON."""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers import Library
from benchmarks.table import Fit, Line

_SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bytes": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}


def shown(value: float, unit: str) -> str:
    """Return a figure as text: seconds and bytes with three digits in a suitable unit, such as ``1.27 us``.

    A figure in any other unit becomes a number without a unit.
    """
    if unit not in _SCALES:
        return f"{value:g}"
    if value == 0 or (unit == "bytes" and value < 0.005):
        return "0"
    scale, name = next((each for each in _SCALES[unit] if value >= each[0]), _SCALES[unit][-1])
    number = value / scale
    return f"{number:,.{max(0, 2 - len(str(int(number))) + 1)}f} {name}"


def text(title: str, lines: Iterable[Line | Fit], failures: Mapping[str, str]) -> str:
    """Return the rows of a subject as text, with a line for each library that did not run."""
    lines = list(lines)
    width = max([len(line.name) for line in lines], default=0) + 2
    written = [title]
    for line in lines:
        if isinstance(line, Fit):
            slope = f"{shown(line.fixed, line.unit)} + {line.slope:.3g} {line.unit} for each {line.per}"
            written.append(f"  {line.name:{width}}{slope:56}  at most {line.worst:.0%} off the line")
        elif line.ratio is None or line.theirs is None:
            written.append(
                f"  {line.name:{width}}{shown(line.ours.median, line.unit):>10}{_verdict(line):>54}".rstrip()
            )
        else:
            ours, theirs = shown(line.ours.median, line.unit), shown(line.theirs.median, line.unit)
            figures = f"{ours:>10}  {line.over + ':':11}{theirs:>10}"
            median, low, high = map(_times, (line.ratio.median, line.ratio.low, line.ratio.high))
            ratio = f"{median:>6}x  ({low} to {high})"
            written.append(f"  {line.name:{width}}{figures}{ratio:>26}{_verdict(line):>22}".rstrip())
    written += [f"  {library} did not run: {why}" for library, why in failures.items()]
    return "\n".join(written)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"


def _figure(line: Line) -> str:
    return shown(line.ours.median, line.unit) if line.ratio is None else f"{line.ratio.median:.4g}x"


def _verdict(line: Line) -> str:
    if line.met is None:
        return ""
    most = f"{line.most:g}x" if line.ratio is not None else shown(line.most or 0, line.unit)
    return f"target {most}: {'met' if line.met else 'MISSED'}"


def summary(lines: Mapping[str, Iterable[Line | Fit]]) -> str:
    """Return as text the number of targets that are met, and the rows that miss theirs."""
    asked = [
        (title, line)
        for title, each in lines.items()
        for line in each
        if isinstance(line, Line) and line.most is not None
    ]
    missed = [
        f"  {title}: {line.name}{f' over {line.over}' if line.over else ''}: "
        f"{_figure(line)}, {_verdict(line).partition(':')[0]}"
        for title, line in asked
        if not line.met
    ]
    return "\n".join(
        [f"{len(asked) - len(missed)} of {len(asked)} targets are met", *(["missed:", *missed] if missed else [])]
    )


def machine() -> dict[str, Any]:
    """Return a description of the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "system": platform.platform(terse=True),
        "load": [round(each, 2) for each in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def record(
    command: str, rounds: int, libraries: Mapping[str, Library], subjects: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the content of the record: date, machine, versions, every row and every curve."""
    return {
        "date": datetime.date.today().isoformat(),
        "command": command,
        "machine": machine(),
        "python": platform.python_version(),
        "rounds": rounds,
        "libraries": {name: library.versions for name, library in libraries.items()},
        "subjects": subjects,
    }


def subject(title: str, lines: Iterable[Line | Fit], failures: Mapping[str, str]) -> dict[str, Any]:
    """Return the record of a subject: its title, its rows, its curves, and the errors of libraries that failed.

    Figures are rounded to four digits. Infinity becomes None, because JSON has no infinity.
    """
    rows, curves = [], []
    for line in lines:
        (curves if isinstance(line, Fit) else rows).append(_round(dataclasses.asdict(line)))
    for row, line in zip(rows, (each for each in lines if isinstance(each, Line)), strict=True):
        row["met"] = line.met
    return {"title": title, "rows": rows, "curves": curves, "failures": dict(failures)}


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _round(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round(each) for each in value]
    return value
