"""Run random programs for a while, and add the counts to ``facts/random-programs.json``.

    python -m tests.support.conformance.programs.record run --minutes 60 --into run.json
    python -m tests.support.conformance.programs.record add run.json

``run`` draws a new seed, unless ``--seed`` gives one, and writes its counts after every chunk, so that an interrupted
run counts as well. It goes through all sets of dtypes, policies and lengths in turn. ``add`` puts a run into the
record, once. A difference has to be mended; then ``mended`` in the record says how.
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
DTYPES = (
    ("float16",),
    ("bfloat16",),
    FLOATS,
    ("float64", *WHOLE),
    ("float16", *WHOLE),
    (*FLOATS, *WHOLE),
)
#: The least and the largest number of statements, and how many programs of them a chunk has.
LENGTHS = {(2, 9): 50, (4, 16): 20}
#: The counts of a run that the record adds up.
COUNTS = ("verdicts", "dtypes", "kinds")


def run(seed: str, minutes: float, into: Path) -> None:
    """Run programs for some minutes and keep the counts in a file."""
    began, total, dtypes, wrong = time.monotonic(), Report(), Counter(), []
    source = commit()
    for turn in count():
        for names, policy, (lengths, size) in product(DTYPES, POLICIES, LENGTHS.items()):
            part = run_batch(minitensor, seed, range(turn * size, (turn + 1) * size), policy, lengths, names)
            dtypes["+".join(names)] += part.programs
            wrong += [{"program": text, "mended": ""} for text in part.wrong]
            total.merge(part)
            into.write_text(
                json.dumps(described(seed, source, total, dtypes, wrong), indent=1) + "\n", encoding="utf-8"
            )
            if time.monotonic() - began > 60 * minutes:
                return


def described(seed: str, source: str, total: Report, dtypes: Counter, wrong: list[dict[str, str]]) -> dict[str, Any]:
    """Return the entry of a run."""
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
    """Return the commit of the working tree."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def summed(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of some runs."""
    total = {name: dict(sum((Counter(run[name]) for run in runs), Counter())) for name in COUNTS}
    return {
        "programs": sum(run["programs"] for run in runs),
        "statements": sum(run["statements"] for run in runs),
        **total,
        "runs": runs,
    }


def add(entry: dict[str, Any], record: Path = RECORD) -> dict[str, Any]:
    """Add a run to the record, in place of an earlier state of the same run, and return the record."""
    runs = json.loads(record.read_text(encoding="utf-8"))["runs"] if record.exists() else []
    same = [run for run in runs if (run["seed"], run["commit"]) == (entry["seed"], entry["commit"])]
    if any(run["programs"] > entry["programs"] for run in same):
        raise SystemExit(f"{record.name} has a longer run with seed {entry['seed']}")
    mended = {each["program"]: each["mended"] for run in same for each in run["differences"]}
    for each in entry["differences"]:
        each["mended"] = mended.get(each["program"], each["mended"])
    whole = summed([*(run for run in runs if run not in same), entry])
    record.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(prog="record", description=__doc__.partition("\n")[0])
    doing = parser.add_subparsers(dest="doing", required=True)
    running = doing.add_parser("run", help="run programs and write their counts")
    running.add_argument("--minutes", type=float, default=60)
    running.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)), help="default: a new one")
    running.add_argument("--into", type=Path, required=True, help="the file for the counts")
    adding = doing.add_parser("add", help="add runs to the record")
    adding.add_argument("runs", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.doing == "run":
        warnings.simplefilter("ignore")  # a program that leaves the domain of an operation ends there
        gc.collect()
        gc.freeze()  # a collection after a program looks at that program only
        run(chosen.seed, chosen.minutes, chosen.into)
    else:
        for file in chosen.runs:
            whole = add(json.loads(file.read_text(encoding="utf-8")))
            print(f"{whole['programs']} programs, differences: {whole['kinds'] or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
