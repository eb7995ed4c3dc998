"""Record in torch-recording.json how well the recorder handles many random programs in the real PyTorch.

python facts/torch_recording.py      in an environment that has torch; about ten minutes

* `stale`: saved tensors that the recorder calls stale, compared with those for which torch's backward raises.
* `undisturbed`: whether results, errors, versions and allocations of programs stay the same if they are recorded.
* `both engines`: the same programs in torch and in minitensor.torch, and how their traces differ.
* `overhead`: seconds that one line of a chain of operations takes with and without a recording, in PyTorch and in
minitensor, in the fastest of three runs.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_name("torch-recording.json")
sys.path.insert(0, str(Path(__file__).parents[1]))

STALE, UNDISTURBED, BOTH = 2_000, 300, 500

if __name__ == "__main__":
    import torch

    from benchmarks.rows import recording
    from tests.support.peers import both_engines, predicting, undisturbed
    from tests.support.vocabulary.aliases.generator import program

    torch.set_num_threads(1)
    counts, wrong = predicting.run(0, STALE)
    undisturbed.outcome(undisturbed.unwatched, "x = torch.ones(2)", True)  # the profiler allocates at its first use
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
    record["overhead"] = {"torch": recording.torch(), "minitensor": recording.minitensor()}
    FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
