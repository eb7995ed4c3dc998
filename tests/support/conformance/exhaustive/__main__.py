"""Judge all short programs, or some of them: python -m tests.support.conformance.exhaustive --length 4 --policy 2.6"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import minitensor
from minitensor.engine.modes import POLICIES

from .alphabet import evenly, total
from .judge import Plan, Report, judge_all, table

STRIDE = 2000  # the number of programs in one task of a process


def engine():
    return minitensor


def part(plan: str, numbers: Sequence[int], length: int) -> tuple[str, Report]:
    """Judge some programs under one plan of policies; called in a separate process."""
    return plan, judge_all(engine, Plan.of(plan), numbers, length)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.conformance.exhaustive", description=__doc__.partition(":")[0]
    )
    parser.add_argument("--length", type=int, default=3, help="the largest number of statements after the opening")
    parser.add_argument(
        "--policy",
        action="append",
        help="2.5, 2.6 or copy_on_write; or READS:WRITES[,WRITES...], one policy for statements that only read, and "
        "policies used in turn for statements that write. May be given several times; default: each of the three",
    )
    parser.add_argument("--limit", type=int, help="judge only this many programs, spread evenly over all")
    parser.add_argument("--only", type=int, help="judge only the program with this number")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--record", type=Path, help="a JSON file to which the counts are added")
    chosen = parser.parse_args()

    plans = chosen.policy or list(POLICIES)
    unknown = {name for plan in plans for name in (Plan.of(plan).reads, *Plan.of(plan).writes)} - set(POLICIES)
    if unknown:
        parser.error(f"no such policy: {', '.join(sorted(unknown))}; there are {', '.join(POLICIES)}")
    every = total(chosen.length)
    numbers = evenly(chosen.limit or every, chosen.length) if chosen.only is None else [chosen.only]
    print(f"{len(numbers)} of {every} programs of up to {chosen.length} statements")
    reports, began = {plan: Report() for plan in plans}, time.monotonic()
    with ProcessPoolExecutor(chosen.jobs) as pool:
        tasks = [
            pool.submit(part, plan, numbers[first : first + STRIDE], chosen.length)
            for plan in plans
            for first in range(0, len(numbers), STRIDE)
        ]
        for done, task in enumerate(as_completed(tasks), 1):
            plan, report = task.result()
            reports[plan].merge(report)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(tasks)} parts", end="", file=sys.stderr)
    for report in reports.values():
        for text in report.wrong:
            print(f"\n{text}")
    print(table(reports))
    for plan, report in reports.items():
        if report.kinds:
            print(f"wrong under {plan}: " + ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common()))
    print(f"{time.monotonic() - began:.0f} s")
    if chosen.record:
        record(chosen.record, reports, len(numbers), every)
    return 1 if any(report.wrong for report in reports.values()) else 0


def record(file: Path, reports: dict[str, Report], judged: int, every: int) -> None:
    """Write the counts into a file, under the arguments that produced them."""
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    arguments = sys.argv[1 : sys.argv.index("--record")]
    runs[" ".join(["python -m tests.support.conformance.exhaustive", *arguments])] = {
        "version": minitensor.__version__,
        "judged": judged,
        "of": every,
        "policies": {
            plan: {v: report.verdicts[v] for v in ("right", "refused", "wrong")} for plan, report in reports.items()
        },
    }
    file.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
