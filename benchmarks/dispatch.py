"""Times the cases of one library in this process and prints them as JSON: seconds per statement."""

from __future__ import annotations

import json
import sys
import timeit

from benchmarks.programs import CASES, IMPORTS

#: Bursts per case: the fastest of them is the one that nothing interrupted.
BURSTS = 150


def seconds(library: str) -> dict[str, float]:
    """The fastest burst of every case that ``library`` can run."""
    scope: dict[str, object] = {}
    exec(IMPORTS[library], scope)  # fixed text from programs.py
    times = {}
    for case in CASES:
        statement = getattr(case, library)
        if statement is not None:
            bursts = timeit.repeat(statement, case.setup, globals=scope, number=case.burst, repeat=BURSTS)
            times[case.name] = min(bursts) / case.burst
    return times


if __name__ == "__main__":
    print(json.dumps(seconds(sys.argv[1])))
