"""How a recorded run ended, in a few words.

Nothing is decided here. ``explain`` hears the events that the recorder hears and gives each in-place operation its
verdict; this module sums the verdicts up. Where they say nothing, what the names shared is the answer.
"""

from __future__ import annotations

from typing import Any

from memory_stage.explanation.minitensor import Listener, Verdict
from memory_stage.trace.amounts import bytes_text
from minitensor.engine.events import watch

#: What the names of a run share, in the words of the recorder, when that is nothing.
NOTHING = "shares nothing"


class Ending(Listener):
    """A context manager around a recording. It stops listening when the recorder does."""

    _covered = False  # whether the recorder has listened above it

    def on_event(self, kind: str, *arguments: Any) -> None:
        """The engine tells what has happened."""
        if watch.listener != self._receive:
            self._covered = True
        elif self._covered:
            self.close()  # the recorder has stopped before the end: the rest runs at full speed
            return
        super().on_event(kind, *arguments)

    def words(self, failed: bool, shared: str | None) -> str | None:
        """The verdict on the whole run; None where there is nothing to say.

        An operation that nobody wants a gradient of is always free: there what the names share says more, if they
        share anything.

        Args:
            failed: whether an error ended it.
            shared: what its names share, in words.
        """
        rows, totals = self.report.rows, self.report.totals
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
        told = [f"{verdict.word} {bytes_text(nbytes)}" for verdict, nbytes in kept.items() if nbytes]
        if told:
            return ", ".join(told)
        free = [row for row in rows if row.verdict is Verdict.FREE]
        if any(row.recorded for row in free):
            return Verdict.FREE.word
        if totals.unrecorded:
            return Verdict.UNRECORDED.word
        return Verdict.FREE.word if free and shared in (None, NOTHING) else shared
