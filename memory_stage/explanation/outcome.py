"""Sum up a recorded run in a few words, from the report of its in-place operations."""

from __future__ import annotations

from memory_stage.explanation.report import Report
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, listed, message
from memory_stage.recorder.names import SHARES_NOTHING


def outcome(report: Report, failed: bool, shared: Text | None) -> Text | None:
    """Return the verdict on a whole run: an error, extra bytes, or free writes, whichever applies first, or ``shared``.

    If no gradient was needed, every write is free, which says little. Then the verdict is ``shared`` if names share
    memory.

    Args:
        failed: True if an error ended the run.
        shared: the recorder's words on names that share memory; None without any.
    """
    rows, totals = report.rows, report.totals
    errors = [row for row in rows if row.verdict is Verdict.RAISES]
    if totals.refused:
        return Verdict.REFUSED.said
    if totals.stale:
        asked = any(row.op == "backward" for row in errors)
        return message("stale, backward raises") if asked else Verdict.STALE.said
    if errors or failed:
        return Verdict.RAISES.said
    kept = {
        Verdict.COPIES: totals.copied,
        Verdict.MARKS: totals.marked + totals.indexed,
        Verdict.PRESERVES: totals.preserved,
    }
    costs = [verdict.cost(nbytes) for verdict, nbytes in kept.items() if nbytes]
    if costs:
        return listed(costs)
    free = [row for row in rows if row.verdict is Verdict.FREE]
    if any(row.recorded for row in free):
        return Verdict.FREE.said
    if totals.unrecorded:
        return Verdict.UNRECORDED.said
    return Verdict.FREE.said if free and shared in (None, SHARES_NOTHING) else shared
