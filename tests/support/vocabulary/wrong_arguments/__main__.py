"""Run a walk (random calls) or a sweep (one wrong argument a call) of any length, in a temporary folder."""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile

from tests.support.vocabulary.wrong_arguments.callables import VOCABULARIES
from tests.support.vocabulary.wrong_arguments.sweep import Sweep
from tests.support.vocabulary.wrong_arguments.walk import Walk

MEMORY = 6 << 30  # bytes of address space, so that a size which should be refused fails at once


def main() -> int:
    """Run the walk and print its faults."""
    parser = argparse.ArgumentParser(prog="wrong_arguments", description=__doc__)
    parser.add_argument("--calls", type=int, default=50_000, help="calls of each vocabulary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a new one")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, action="append")
    parser.add_argument("--show", type=int, default=40, help="kinds of faults to print")
    parser.add_argument("--sweep", action="store_true", help="one wrong argument a call, each at each parameter")
    parser.add_argument("--values", help="labels of the wrong values of a sweep, separated by |; default: all")
    given = parser.parse_args()
    # A call may close the standard streams, and the report must be printed nevertheless.
    sys.stdout = os.fdopen(os.dup(1), "w")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failed = False
    for package in given.vocabulary or VOCABULARIES:
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                labels = given.values.split("|") if given.values else None
                walk = Sweep(package, given.seed, labels) if given.sweep else Walk(package, given.seed)
                report = walk.run(given.calls, given.first)
            finally:
                os.chdir(here)
        print(f"{package}: {report.calls} calls with seed {given.seed}, {report.refused} refused, "
              f"{len(report.faults)} faults")  # fmt: skip
        for kind, count in report.kinds.most_common(given.show):
            print(f"{count:6} {report.examples[kind]}")
        failed = failed or bool(report.faults)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
