"""Records in programs.json what PyTorch and Paddle do with the programs of facts/programs/.

python facts/programs.py torch      in an environment that has torch
python facts/programs.py paddle     the same for 2.6.2 and for 3.3.1

Some programs read scikit-learn's digits: its folder has to be found by `import sklearn`.

Of each program: what it printed, the type and the text of its error and the line that raised it, its warnings; and
`sha256`, of its text, by which a test knows that it was recorded as it stands.
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
    """Of the text as it stands; the first 16 figures tell one text from another."""
    return hashlib.sha256(program.encode()).hexdigest()[:16]


def record(library: str) -> dict[str, Any]:
    """Every program of the library's folder, each run in a process of its own."""
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
