"""Run random programs from the command line: python -m tests.support.conformance.programs --programs 10000 --seed 7"""

from __future__ import annotations

import argparse
import sys
import time

import minitensor

from .batch import Report, run_batch

POLICIES = ("2.5", "2.6", "copy_on_write", "mixed")
STRIDE = 500  # the number of programs after which a terminal shows the progress


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.conformance.programs", description=__doc__.partition(":")[0]
    )
    parser.add_argument("--programs", type=int, default=1000, help="the number of programs")
    parser.add_argument("--seed", default="1", help="any text; another seed gives other programs")
    parser.add_argument("--policy", default="2.6", choices=POLICIES, help="the in-place policy")
    parser.add_argument("--length", default="2-9", help="statements after those that make the first tensors")
    parser.add_argument("--dtypes", default="", help="dtypes to draw from, as in float16,float32")
    parser.add_argument("--only", type=int, help="run only the program with this number")
    parser.add_argument("--tags", action="store_true", help="also print how often each kind of statement ran")
    chosen = parser.parse_args()
    least, _, most = chosen.length.partition("-")
    lengths = int(least), int(most or least)
    dtypes = tuple(filter(None, chosen.dtypes.split(",")))
    numbers = range(chosen.programs) if chosen.only is None else [chosen.only]

    report, began = Report(), time.monotonic()
    for first in range(0, len(numbers), STRIDE):
        part = run_batch(minitensor, chosen.seed, numbers[first : first + STRIDE], chosen.policy, lengths, dtypes)
        for text in part.wrong:
            print(text, end="\n\n", flush=True)
        report.merge(part)
        if sys.stderr.isatty():
            print(f"\r{report.programs} programs, {report.verdicts['wrong']} wrong", end="", file=sys.stderr)
    print(report)
    if chosen.tags:
        print("\n".join(f"{count:9}  {tag}" for tag, count in report.tags.most_common()))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
