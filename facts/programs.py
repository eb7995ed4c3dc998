"""Record in programs.json the results of the programs of facts/programs/ in PyTorch and Paddle.

python facts/programs.py torch      in an environment that has torch
python facts/programs.py paddle     with Paddle 2.6.2, and again with Paddle 3.3.1

Some programs read scikit-learn's digits, so scikit-learn has to be installed.

The record of a program has its output, the type, text and line of its error, and its warnings. A test compares the
recorded `sha256` of the program with that of the file.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from recording import apart, printed

PROGRAMS = Path(__file__).parent / "programs"


def digest(program: str) -> str:
    """Return the first 16 digits of the SHA-256 of a program's text, which are enough to identify it."""
    return hashlib.sha256(program.encode()).hexdigest()[:16]


def record(library: str) -> dict[str, Any]:
    """Run every program of the library's folder, each in a separate process."""
    module = importlib.import_module(library)
    programs = {file.stem: file.read_text(encoding="utf-8") for file in sorted((PROGRAMS / library).glob("*.py"))}
    return {
        "library": library,
        "version": module.__version__.partition("+")[0],
        "device": "CPU",
        "command": f"python facts/programs.py {library}",
        "answers": {
            name: {"sha256": digest(program), **apart(lambda program=program: printed(program, {}))}
            for name, program in programs.items()
        },
    }


if __name__ == "__main__":
    file = Path(__file__).with_name("programs.json")
    records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    new = record(sys.argv[1])
    records[f"{new['library']} {new['version']}"] = new
    file.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n", encoding="utf-8")
