"""The report of a program: its rows, totals and outcome, as texts and numbers, so that it keeps no tensor alive."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from memory_stage.explanation.report_rows import ReportRow, Totals
from memory_stage.explanation.text import as_text
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Language, Text, default_language, listed, message, speaking
from memory_stage.recorder.names import SHARES_NOTHING

#: The name and version of the format that ``to_json`` writes and ``report.schema.json`` describes.
SCHEMA = "explain/1"

MOST_ROWS = 1000  # the totals also count the rows after these

FEW = 3  # the number of rows that a reader sees at a glance


@dataclass
class Report:
    """A report of a program's in-place operations. Print it, show it in a notebook, or call ``to_json()``.

    Attributes:
        rows: one for each in-place operation and for an error, in the order in which they happened.
        totals: sums over all rows.
        left_out: the number of rows of a long program that are not in ``rows``; the totals count them.
        cut_short: the reason if the report ends before the program does, or cannot cover the program; otherwise "".
        language: the language of its sentences.
        error: with ``catch=True``, the error that ended the program, without its traceback; otherwise None.
    """

    rows: list[ReportRow] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    left_out: int = 0
    cut_short: str = ""
    error: BaseException | None = None
    language: Language = field(default_factory=default_language, repr=False, compare=False)

    def add(self, row: ReportRow) -> bool:
        """Number a row and add it to the totals. Return True if it is among the :data:`MOST_ROWS` that are shown."""
        row.number = len(self.rows) + self.left_out + 1
        self.totals.add(row)
        if len(self.rows) < MOST_ROWS:
            self.rows.append(row)
            return True
        self.left_out += 1
        return False

    def folded(self) -> list[tuple[ReportRow, ReportRow, int]]:
        """Return each group of equal rows, such as those of a loop: the first row, the last row and the number of rows.

        All writes of layers in one line count as equal rows unless they made a saved tensor stale. The same applies to
        writes of optimizers.
        """
        alike: dict[tuple[Any, ...], list[Any]] = {}
        for row in self.rows:
            harmless = row.by and not row.stale
            key: tuple[Any, ...] = (row.by, row.where.file, row.where.line, harmless) if harmless else _as_shown(row)
            group = alike.setdefault(key, [row, row, 0])
            group[1] = row
            group[2] += 1
        return [(first, last, number) for first, last, number in alike.values()]

    def dangerous(self) -> list[ReportRow]:
        """Return the rows to read first, because a reader easily overlooks them.

        These are the writes that make gradients wrong, except one in the first row. In a report of more than a few
        rows, they are also the writes that made a backward pass raise an error.
        """
        asked = {row.cause for row in self.rows} if len(self.rows) > FEW else set()
        once = [first for first, _, _ in self.folded()]  # a loop makes the same row in every iteration
        wrong = [row for row in once[1:] if row.verdict is Verdict.UNNOTICED]
        return wrong + [row for row in self.rows if row.number in asked and row not in wrong]

    def __str__(self) -> str:
        with speaking(self.language):
            return as_text(self.folded(), self.totals, self.left_out, self.cut_short, self.dangerous())

    __repr__ = __str__

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON for tools; ``report.schema.json`` in the repository describes it."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_dict(self) -> dict[str, Any]:
        """Return the same data as dicts, lists, strings, numbers and None."""
        return {
            "schema": SCHEMA,
            "verdicts": {verdict.word: verdict.meaning for verdict in Verdict},
            "totals": dataclasses.asdict(self.totals),
            "left_out": self.left_out,
            "cut_short": self.cut_short,
            "rows": [_row(row) for row in self.rows],
        }


def _as_shown(row: ReportRow) -> tuple[Any, ...]:
    """Return the part of a row that is the same in every iteration of a loop."""
    return row.op, row.where.line, row.where.text, row.verdicts, str(row.tensor), row.happened, row.error


def _row(row: ReportRow) -> dict[str, Any]:
    plain = dataclasses.asdict(row)
    plain["verdict"] = row.verdict.word
    plain["verdicts"] = [verdict.word for verdict in row.verdicts]
    for name in ("rules", "needs"):
        plain[name] = list(plain[name])
    return plain


def outcome(report: Report, failed: bool, shared: Text | None) -> Text | None:
    """Return the verdict on a whole run: its error, otherwise its extra bytes, otherwise the verdict on its writes.

    If no gradient was needed, every write is free, which says little. In that case the verdict is ``shared`` if
    names share memory.

    Args:
        failed: True if an error ended the run.
        shared: the recorder's sentence about names that share memory; None if there are none.
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
