"""Shorten a failing program as far as possible, and return it as a script that can be run by hand."""

from __future__ import annotations

from .compare import Outcome, replay


def shrink(engine, outcome: Outcome, policy: str) -> Outcome:
    """Remove statements, one or several at a time, as long as the program fails in the same way."""
    best = Outcome(outcome.program[: outcome.statements_run + 1], "wrong", outcome.kind, outcome.message)
    best.tolerance = outcome.tolerance
    size = max(1, len(best.program) // 2)
    while size:
        position, shortened = len(best.program) - size, False
        while position >= 0:
            candidate = best.program[:position] + best.program[position + size :]
            found = replay(engine, candidate, policy, outcome.tolerance)
            if found.verdict == "wrong" and found.kind == outcome.kind:
                found.program = candidate[: found.statements_run + 1]
                best, shortened = found, True
            position = min(position, len(best.program)) - size
        size = size if shortened else size // 2
    return best


def runnable(outcome: Outcome, policy: str) -> str:
    """Return the program as a script. It catches the errors of refused statements; the last statement is the wrong
    one.
    """
    start = "2.6" if policy == "mixed" else policy
    lines = ["import numpy as np", "import minitensor as mt", f'mt.set_inplace_policy("{start}")']
    for number, text in enumerate(outcome.program):
        if number in outcome.refused_at:
            lines += ["try:", *("    " + line for line in text.split("\n"))]
            lines.append("except Exception as error: print(type(error).__name__, error)")
        else:
            lines.append(text)
    return "\n".join([*lines, f"# {outcome.kind}: {outcome.message}"])
