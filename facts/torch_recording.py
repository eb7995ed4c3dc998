"""Records in torch-recording.json how well programs of real PyTorch are recorded, on many random programs.

python facts/torch_recording.py      in an environment that has torch; about ten minutes

* `stale`: what the recorder holds for stale beside what torch's backward raises on.
* `undisturbed`: programs whose results, errors, versions or allocations are others when they are watched.
* `both engines`: the same programs here and there, and the kinds of what differs between the traces.
* `overhead`: seconds for a line of a chain of operations, unwatched and recorded, in PyTorch and with this package's
  own tensors; of three runs, the fastest.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("torch-recording.json")
sys.path.insert(0, str(Path(__file__).parents[1]))

STALE, UNDISTURBED, BOTH = 2_000, 300, 500
LINES = 200


def line_of_a_chain(start: str, names: dict[str, Any]) -> dict[str, float]:
    """Seconds for a line."""
    from minitensor import stage

    source = start + "y = y * 1.5\n" * LINES
    code = compile(source, "<program>", "exec")
    plain, recorded = [], []
    for _ in range(3):
        begun = time.perf_counter()
        exec(code, dict(names))
        plain.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        stage.record(source, dict(names), steps=10 * LINES)
        recorded.append(time.perf_counter() - begun)
    return {"unwatched": min(plain) / LINES, "recorded": min(recorded) / LINES}


def overhead() -> dict[str, dict[str, float]]:
    """Of both engines."""
    import torch

    import minitensor as mt

    own = "x = mt.ones([4])\nx.stop_gradient = False\ny = x * 1\n"
    return {
        "torch": line_of_a_chain("y = torch.ones(4, requires_grad=True) * 1\n", {"torch": torch}),
        "minitensor": line_of_a_chain(own, {"mt": mt}),
    }


if __name__ == "__main__":
    import torch

    from tests.peers import both_engines, predicting, undisturbed
    from tests.vocabulary.aliases.generator import program

    torch.set_num_threads(1)
    counts, wrong = predicting.run(0, STALE)
    undisturbed.outcome(undisturbed.unwatched, "x = torch.ones(2)", True)  # the profiler's own first allocations
    other = {
        number: found
        for number in range(UNDISTURBED)
        if (found := undisturbed.differences(undisturbed.source_of(number)))
    }
    kinds = {number: both_engines.kind(program(number)) for number in range(BOTH)}
    record = {
        "library": "torch",
        "version": torch.__version__.partition("+")[0],
        "device": "CPU",
        "command": "python facts/torch_recording.py",
        "stale": {"programs": STALE, **counts, "wrong in": wrong},
        "undisturbed": {"programs": UNDISTURBED, "other when watched": other},
        "both engines": {
            "programs": BOTH,
            **Counter(kinds.values()),
            "unknown in": [number for number, kind in kinds.items() if kind == both_engines.UNKNOWN],
        },
    }
    record["overhead"] = overhead()
    FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
