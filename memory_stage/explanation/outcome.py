"""Sum up a recorded run in a few words, from the report of its in-place operations."""

from __future__ import annotations

from memory_stage.explanation.report import Report
from memory_stage.explanation.verdict import Verdict
from memory_stage.trace.amounts import bytes_text

#: The recorder's words for a run whose names share no memory.
NOTHING = "shares nothing"


def outcome(report: Report, failed: bool, shared: str | None) -> str | None:
    """Return the verdict on a whole run: an error, extra bytes, or free writes, whichever applies first, or ``shared``.

    If no gradient was needed, every write is free, which says little. Then the verdict is ``shared`` if names share
    memory.

    Args:
        report: the in-place operations of the run.
        failed: True if an error ended the run.
        shared: the recorder's words on names that share memory; None without any.
    """
    rows, totals = report.rows, report.totals
    errors = [row for row in rows if row.verdict is Verdict.RAISES]
    if totals.refused:
        return Verdict.REFUSED.word
    if totals.stale:
        asked = any(row.op == "backward" for row in errors)
        return f"{Verdict.STALE.word}, backward raises" if asked else Verdict.STALE.word
    if errors or failed:
        return Verdict.RAISES.word
    kept = {
        Verdict.COPIES: totals.copied,
        Verdict.MARKS: totals.marked + totals.indexed,
        Verdict.PRESERVES: totals.preserved,
    }
    costs = [f"{verdict.word} {bytes_text(nbytes)}" for verdict, nbytes in kept.items() if nbytes]
    if costs:
        return ", ".join(costs)
    free = [row for row in rows if row.verdict is Verdict.FREE]
    if any(row.recorded for row in free):
        return Verdict.FREE.word
    if totals.unrecorded:
        return Verdict.UNRECORDED.word
    return Verdict.FREE.word if free and shared in (None, NOTHING) else shared
