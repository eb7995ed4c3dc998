"""Record in small-engine.json how the engine of chapter 16 is judged after each step of its construction.

    python facts/small_engine.py      about ten minutes

The judge of the chapter runs all programs of at most two or three statements on the engine that the chapter has built
so far. The script also removes each statement of the finished engine in turn, and records whether a program of at most
two statements fails.
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


def verdicts_by_step(length: int, vocabulary: str) -> dict[str, dict[str, int]]:
    """Return, for each step of the chapter, the number of programs with each verdict of the judge."""
    lines = workshop.read(CHAPTER.read_text(encoding="utf-8"))
    programs = list(judge.programs(length, judge.VOCABULARIES[vocabulary]))
    return {str(step): judge.judge(workshop.loaded(lines.at(step)), programs) for step in lines.ideas}


def removals() -> dict[str, object]:
    """Return the number of statements whose removal a short program detects, and the lines of the other statements."""
    text = workshop.FINISHED.read_text(encoding="utf-8")
    lines = text.splitlines()
    statements = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    unnoticed = [lines[node.lineno - 1].strip() for node in statements if not fails(without(lines, node))]
    return {"statements": len(statements), "noticed": len(statements) - len(unnoticed), "unnoticed": unnoticed}


def without(lines: list[str], node: ast.stmt) -> str:
    """Return the source with ``pass`` in place of a statement."""
    return "\n".join([*lines[: node.lineno - 1], " " * node.col_offset + "pass", *lines[node.end_lineno :], ""])


def fails(text: str) -> bool:
    """True if the engine with this source gives a wrong result for a short program, raises an error, or never ends."""
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


def raise_timeout(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    signal.signal(signal.SIGALRM, raise_timeout)
    record = {
        "command": "python facts/small_engine.py",
        "numpy": np.__version__,
        "programs": {title: verdicts_by_step(*chosen) for title, chosen in SETS.items()},
        "one statement taken out, programs of at most two statements": removals(),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
