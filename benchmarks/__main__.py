"""Runs the libraries in turns, in fresh processes, and prints the table."""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.programs import CASES

ROUNDS = 5
RESULT = Path("_build/bench/dispatch.json")


def measure(libraries: list[str]) -> dict[str, dict[str, list[float]]]:
    """Library -> case -> seconds, one figure a round."""
    figures: dict[str, dict[str, list[float]]] = {library: {} for library in libraries}
    for done in range(ROUNDS):
        for library in libraries:
            print(f"\rround {done + 1} of {ROUNDS}: {library:12}", end="", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "benchmarks.dispatch", library]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            for name, seconds in json.loads(answer.stdout).items():
                figures[library].setdefault(name, []).append(seconds)
    print("\r" + " " * 40, end="\r", file=sys.stderr)
    return figures


def table(figures: dict[str, dict[str, list[float]]]) -> str:
    """The figures as text: microseconds with their spread, and two ratios."""
    unit = statistics.median(figures["numpy"]["add"])
    torch = figures.get("torch", {})
    lines = [
        f"3x4 float32; the unit is np.add: {unit * 1e6:.2f} us",
        f"{'':22}{'minitensor us':>16}{'(spread)':>14}{'x np.add':>10}{'torch us':>10}{'x torch':>9}",
    ]
    for case in CASES:
        ours = figures["minitensor"][case.name]
        middle = statistics.median(ours)
        spread = f"({min(ours) * 1e6:.2f}-{max(ours) * 1e6:.2f})"
        row = f"{case.name:22}{middle * 1e6:16.2f}{spread:>14}{middle / unit:10.2f}"
        if case.name in torch:
            theirs = statistics.median(torch[case.name])
            row += f"{theirs * 1e6:10.2f}{middle / theirs:9.2f}"
        lines.append(row)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and keep the figures."""
    libraries = ["minitensor", "numpy"]
    if importlib.util.find_spec("torch") is not None:
        libraries.append("torch")
    figures = measure(libraries)
    print(table(figures))
    if "torch" not in libraries:
        print("torch is not installed: no comparison with it (see benchmarks/README.md)")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in libraries if name != "minitensor"},
        "rounds": ROUNDS,
        "seconds": figures,
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
