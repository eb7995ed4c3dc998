"""Record in alias-programs.json.gz the results of the random programs of tests/support/vocabulary/aliases in PyTorch.

python facts/alias_programs.py      in an environment that has torch

If PyTorch refuses a line, the generator also knows a spelling of it that PyTorch accepts. A program with such a line
runs with the written lines (`as written`) and with the accepted spellings (`as accepted`). The second result is
recorded only if it differs from the first.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("alias-programs.json.gz")
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.vocabulary.aliases.generator import COUNT, SEED, program  # noqa: E402
from tests.support.vocabulary.aliases.running import run  # noqa: E402


def digest() -> str:
    """Return the hash of the text of all programs."""
    lines = [line for number in range(COUNT) for line in program(number)]
    return hashlib.sha256("\n".join(f"{line.text}|{line.accepted}" for line in lines).encode()).hexdigest()


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    answers = []
    for number in range(COUNT):
        lines = program(number)
        answer = {"as written": run(torch, [line.text for line in lines])}
        if any(line.accepted for line in lines):
            accepted = run(torch, [line.accepted or line.text for line in lines])
            if accepted != answer["as written"]:
                answer["as accepted"] = accepted
        answers.append(answer)
    record = {
        "library": "torch",
        "version": torch.__version__.partition("+")[0],
        "device": "CPU",
        "command": "python facts/alias_programs.py",
        "seed": SEED,
        "programs": COUNT,
        "sha256": digest(),
        "answers": answers,
    }
    text = json.dumps(record, separators=(",", ":")).encode()
    FILE.write_bytes(gzip.compress(text, 9, mtime=0))
