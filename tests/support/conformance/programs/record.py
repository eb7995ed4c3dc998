"""Run random programs for a given time, and add their counts to ``facts/random-programs.json``.

    python -m tests.support.conformance.programs.record run --minutes 60 --into run.json
    python -m tests.support.conformance.programs.record add run.json

``run`` draws a new seed unless ``--seed`` gives one. It runs a chunk of programs for every combination of dtypes,
policy and length, and repeats this until the time is over. It writes the counts after every chunk, so that an
interrupted run can be added as well. ``add`` replaces a run that is already in the record. If a run found a
difference, mend it and write into the field ``mended`` of the record how you mended it.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from itertools import count, product
from pathlib import Path
from typing import Any

import minitensor

from .batch import Report, run_batch

ROOT = Path(__file__).parents[4]
RECORD = ROOT / "facts" / "random-programs.json"
POLICIES = ("2.6", "2.5", "copy_on_write", "mixed")
FLOATS = ("float16", "bfloat16", "float32", "float64")
WHOLE = ("uint8", "int8", "int16", "int32", "int64", "bool")
#: Sets of dtypes from which a program's tensors are drawn.
DTYPES = (("float16",), ("bfloat16",), FLOATS, ("float64", *WHOLE), ("float16", *WHOLE), (*FLOATS, *WHOLE))
#: Ranges for the number of statements of a program, each with the number of programs in one chunk.
LENGTHS = {(2, 9): 50, (4, 16): 20}
#: The tables of counts in the entry of a run. The record has their sums.
COUNTS = ("verdicts", "dtypes", "kinds")


def run(seed: str, minutes: float, into: Path) -> None:
    """Run chunks of programs until ``minutes`` have passed. Write the entry of the run to a file after each chunk."""
    began, total, dtypes, wrong = time.monotonic(), Report(), Counter(), []
    source = commit()
    for turn in count():
        for names, policy, (lengths, size) in product(DTYPES, POLICIES, LENGTHS.items()):
            part = run_batch(minitensor, seed, range(turn * size, (turn + 1) * size), policy, lengths, names)
            dtypes["+".join(names)] += part.programs
            wrong += [{"program": text, "mended": ""} for text in part.wrong]
            total.merge(part)
            into.write_text(
                json.dumps(run_entry(seed, source, total, dtypes, wrong), indent=1) + "\n", encoding="utf-8"
            )
            if time.monotonic() - began > 60 * minutes:
                return


def run_entry(seed: str, source: str, total: Report, dtypes: Counter, wrong: list[dict[str, str]]) -> dict[str, Any]:
    """Return a run as an entry of the record."""
    return {
        "seed": seed,
        "date": datetime.date.today().isoformat(),
        "commit": source,
        "programs": total.programs,
        "statements": total.statements,
        "verdicts": dict(total.verdicts),
        "dtypes": dict(dtypes),
        "kinds": dict(total.kinds),
        "differences": wrong,
    }


def commit() -> str:
    """Return the commit that is checked out, or "unknown" if Git cannot name it."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def record_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a record of ``runs``: the sums of their counts, and the runs themselves."""
    total = {name: dict(sum((Counter(run[name]) for run in runs), Counter())) for name in COUNTS}
    return {
        "programs": sum(run["programs"] for run in runs),
        "statements": sum(run["statements"] for run in runs),
        **total,
        "runs": runs,
    }


def add(entry: dict[str, Any], record: Path = RECORD) -> dict[str, Any]:
    """Add a run to the record and return the record. An earlier state of the same run is replaced.

    Raises:
        SystemExit: if the record already has a later state of the run.
    """
    runs = json.loads(record.read_text(encoding="utf-8"))["runs"] if record.exists() else []
    same = [run for run in runs if (run["seed"], run["commit"]) == (entry["seed"], entry["commit"])]
    if any(run["programs"] > entry["programs"] for run in same):
        raise SystemExit(
            f"{record.name} already has a longer run with seed {entry['seed']} at commit {entry['commit']}"
        )
    mended = {each["program"]: each["mended"] for run in same for each in run["differences"]}
    for each in entry["differences"]:
        each["mended"] = mended.get(each["program"], each["mended"])
    whole = record_of([*(run for run in runs if run not in same), entry])
    record.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(prog="record", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run programs and write their counts to a file")
    running.add_argument("--minutes", type=float, default=60, help="how long to run (default: 60)")
    running.add_argument(
        "--seed",
        default=str(random.SystemRandom().randrange(10**9)),
        help="the seed of the programs (default: a random one)",
    )
    running.add_argument("--into", type=Path, required=True, help="the file to write")
    adding = commands.add_parser("add", help="add runs to the record")
    adding.add_argument("runs", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.command == "run":
        warnings.simplefilter("ignore")  # numpy warns about values outside a function's domain, which are expected here
        gc.collect()
        gc.freeze()  # afterwards, a garbage collection examines only the objects of the last program
        run(chosen.seed, chosen.minutes, chosen.into)
    else:
        for file in chosen.runs:
            whole = add(json.loads(file.read_text(encoding="utf-8")))
            print(f"{whole['programs']} programs, differences: {whole['kinds'] or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
