"""Record in small-engine.json the verdicts of the judge of chapter 16 on its engine, step by step, on long programs.

    python facts/small_engine.py      about ten minutes

The lines of the engine are those of the chapter. The script also removes each statement of the finished engine in turn,
and records if a program of at most two statements fails.
"""

from __future__ import annotations

import ast
import json
import signal
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from chapters.small_engine import judge, workshop  # noqa: E402

RECORD = Path(__file__).with_name("small-engine.json")
CHAPTER = ROOT / "chapters" / "16_an_engine_in_an_afternoon.md"
SETS = {
    "at most two statements of thirteen kinds": (2, "small"),
    "at most three statements of thirteen kinds": (3, "small"),
    "at most three statements of sixteen kinds": (3, "wide"),
}
SECONDS = 5  # seconds after which an engine without one of its statements is assumed to run forever


def ladder(length: int, vocabulary: str) -> dict[str, dict[str, int]]:
    """Return the verdicts of the judge on each step."""
    lines = workshop.read(CHAPTER.read_text(encoding="utf-8"))
    programs = list(judge.programs(length, judge.VOCABULARIES[vocabulary]))
    return {str(step): judge.judge(workshop.loaded(lines.at(step)), programs) for step in lines.ideas}


def deleted() -> dict[str, object]:
    """Return the number of statements whose removal a short program detects, and the lines of the other statements."""
    text = workshop.FINISHED.read_text(encoding="utf-8")
    lines = text.splitlines()
    statements = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    unnoticed = [lines[node.lineno - 1].strip() for node in statements if not is_missed(without(lines, node))]
    return {"statements": len(statements), "noticed": len(statements) - len(unnoticed), "unnoticed": unnoticed}


def without(lines: list[str], node: ast.stmt) -> str:
    return "\n".join([*lines[: node.lineno - 1], " " * node.col_offset + "pass", *lines[node.end_lineno :], ""])


def is_missed(text: str) -> bool:
    """True if an engine gives a wrong result for a short program, raises an error, or does not end."""
    signal.alarm(SECONDS)
    try:
        engine = workshop.loaded(text)
        return any(
            judge.verdict(engine, program, exact) != ("refused" if exact is None else "right")
            for program, exact in workshop.short_programs()
        )
    except Exception:
        return True
    finally:
        signal.alarm(0)


def stopped(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    signal.signal(signal.SIGALRM, stopped)
    record = {
        "command": "python facts/small_engine.py",
        "numpy": np.__version__,
        "programs": {title: ladder(*chosen) for title, chosen in SETS.items()},
        "one statement taken out, programs of at most two statements": deleted(),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
