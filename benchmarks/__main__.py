"""Measure every row of the table in fresh processes: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks import live_page, report, stage_page
from benchmarks.peers import PEERS, installed
from benchmarks.table import Fit, Line
from tools import live

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "_build/bench/benchmarks.json"
RECORD = ROOT / "facts/benchmarks.json"

#: Modules in ``benchmarks/rows``, in the order in which they are measured and printed.
SUBJECTS = (
    "article",
    "dispatch",
    "chains",
    "million",
    "relu",
    "mlp",
    "cnn",
    "depth",
    "held",
    "collector",
    "recording",
    "watching",
    "imports",
    "curves",
)


def options(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", metavar="NAME", action="append", choices=SUBJECTS, help=f"one of {', '.join(SUBJECTS)}"
    )
    parser.add_argument("--over", metavar="LIBRARY", action="append", choices=PEERS, help="compare only with this peer")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each library (5)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only check that everything runs: use small tensors, measure once, ignore the targets",
    )
    parser.add_argument("--record", action="store_true", help=f"also write {RECORD.relative_to(ROOT)}")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if given.record and (given.quick or given.rows):
        parser.error("--record needs all rows: remove --quick and --rows")
    return given


def main(arguments: list[str]) -> None:
    """Measure the chosen subjects, and print and save the results. After a full run, also plot the results, and
    measure how fast pages with stages are.
    """
    given = options(arguments)
    if given.quick:
        os.environ["MINITENSOR_BENCH_QUICK"] = "1"
        given.rounds = 1
    # The rows are imported after the environment is set, because they read it.
    from benchmarks.running import measure

    libraries = {name: each for name, each in installed().items() if name not in PEERS or name in (given.over or PEERS)}
    subjects, lines_of = {}, {}
    for name in given.rows or SUBJECTS:
        module = importlib.import_module(f"benchmarks.rows.{name}")
        measured = measure(name, libraries.values(), given.rounds)
        found = (row.line(measured.figures) for row in module.ROWS)
        lines: list[Line | Fit] = [_without_target(line) if given.quick else line for line in found if line is not None]
        print(report.text(module.TITLE, lines, measured.failures), end="\n\n", flush=True)
        subjects[name] = report.subject(module.TITLE, lines, measured.failures)
        lines_of[module.TITLE] = lines
    if not given.quick:
        print(report.summary(lines_of))
    absent = [name for name in PEERS if name not in libraries and name in (given.over or PEERS)]
    if absent:
        print(f"not installed, so not compared: {', '.join(absent)} (see benchmarks/README.md)")
    command = shlex.join(["python", "-m", "benchmarks", *arguments])
    record = report.record(command, given.rounds, libraries, subjects)
    for path in (RESULT, RECORD) if given.record else (RESULT,):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"written to {path.relative_to(ROOT)}")
    if not (given.quick or given.rows):
        _draw(record)
        stage_page.main()
        if live.is_requested():
            live_page.main()


def _draw(record: dict[str, Any]) -> None:
    """Draw all figures on one page, if matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed: no figure")
        return
    from book_kit.figures import bench_figure

    path = RESULT.with_suffix(".png")
    over = "torch" if "torch" in record["libraries"] else "numpy"
    bench_figure.everything(record, over=over).savefig(path, dpi=200)
    print(f"drawn in {path.relative_to(ROOT)}")


def _without_target(line: Line | Fit) -> Line | Fit:
    return dataclasses.replace(line, most=None) if isinstance(line, Line) else line


if __name__ == "__main__":
    main(sys.argv[1:])
