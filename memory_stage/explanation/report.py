"""The report: one row for each in-place operation, and the sums. Plain texts and numbers: it keeps no tensor alive."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from memory_stage.explanation.rows import Row, Totals
from memory_stage.explanation.text import as_text
from memory_stage.explanation.verdicts import Verdict

#: The name and version of what ``to_json`` gives; ``report.schema.json`` describes it.
SCHEMA = "explain/1"

FEW = 3  # rows that are read at a glance


@dataclass
class Report:
    """What the in-place operations of a program did. Print it, show it in a notebook, or ask for ``to_json()``.

    Attributes:
        rows: one for each in-place operation and for an error, in the order in which they happened.
        totals: sums.
        left_out: how many rows were left out of a long program; the totals count them.
        cut_short: why the report ends before the program did, or has nothing to say of it; "" when neither is so.
        error: with ``catch=True``, the error that ended the program, without its traceback; else None.
    """

    rows: list[Row] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    left_out: int = 0
    cut_short: str = ""
    error: BaseException | None = None

    def folded(self) -> list[tuple[Row, Row, int]]:
        """The rows without repetitions, as a loop makes them: the first, the last, and how many are alike."""
        alike: dict[tuple[Any, ...], list[Any]] = {}
        for row in self.rows:
            harmless = row.by and not row.stale
            key: tuple[Any, ...] = (row.by, row.where.file, row.where.line, harmless) if harmless else _as_told(row)
            group = alike.setdefault(key, [row, row, 0])
            group[1] = row
            group[2] += 1
        return [(first, last, number) for first, last, number in alike.values()]

    def dangerous(self) -> list[Row]:
        """What to look at first, where it is easily overlooked.

        That is a write that makes gradients wrong, then, of more than a few rows, one that a backward raised for.
        """
        asked = {row.cause for row in self.rows} if len(self.rows) > FEW else set()
        once = [first for first, _, _ in self.folded()]  # a loop makes the same row in every turn
        wrong = [row for row in once[1:] if row.verdict is Verdict.UNNOTICED]
        return wrong + [row for row in self.rows if row.number in asked and row not in wrong]

    def __str__(self) -> str:
        return as_text(self.folded(), self.totals, self.left_out, self.cut_short, self.dangerous())

    __repr__ = __str__

    def to_json(self, indent: int | None = None) -> str:
        """The report for tools, as ``report.schema.json`` in this folder describes it."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, texts, numbers and None."""
        return {
            "schema": SCHEMA,
            "verdicts": {verdict.word: verdict.meaning for verdict in Verdict},
            "totals": dataclasses.asdict(self.totals),
            "left_out": self.left_out,
            "cut_short": self.cut_short,
            "rows": [_row(row) for row in self.rows],
        }


def _as_told(row: Row) -> tuple[Any, ...]:
    """What rows have in common that a loop makes."""
    return row.op, row.where.line, row.where.text, row.verdicts, str(row.tensor), row.happened, row.error


def _row(row: Row) -> dict[str, Any]:
    plain = dataclasses.asdict(row)
    plain["verdict"] = row.verdict.word
    plain["verdicts"] = [verdict.word for verdict in row.verdicts]
    for name in ("rules", "needs"):
        plain[name] = list(plain[name])
    return plain
