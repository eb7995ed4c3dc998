"""A report as text for a terminal, at most 110 columns wide."""

from __future__ import annotations

import textwrap

from minitensor.explaining.advice import count
from minitensor.explaining.report import Report, Row, Totals
from minitensor.explaining.verdicts import Verdict

WIDTH = 110
_PLACE, _TENSOR = 42, 32  # columns at most
_INDENT = " " * 14


def as_text(report: Report) -> str:
    """Every row, its reasons below it."""
    parts = [summary(report)]
    widths = [
        max((len(cells[i]) for cells in map(_cells, report.rows)), default=0) for i in range(len(_cells(_EMPTY)))
    ]
    for row in report.rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(_cells(row), widths, strict=True))
        parts.append("\n" + line.rstrip())
        parts += _details(row)
    if report.left_out:
        parts.append(f"\n{report.left_out:,} operations more are in the sums and not shown.")
    if report.cut_short:
        parts.append(f"\n{report.cut_short}")
    return "\n".join(parts)


def summary(report: Report) -> str:
    """One or two lines of sums."""
    totals = report.totals
    number = totals.operations
    if number == 0:
        return "No in-place operation."
    parts = [f"{number:,} in-place operation{'' if number == 1 else 's'}"]
    parts += [text for text in sums(totals) if text]
    return "; ".join(parts) + "."


def sums(totals: Totals) -> list[str]:
    """What there is to say of the totals, in words."""
    return [
        f"{count(totals.copied)} copied" if totals.copied else "",
        f"{count(totals.marked + totals.indexed)} of marks" if totals.marked + totals.indexed else "",
        f"{count(totals.preserved)} preserved for others" if totals.preserved else "",
        f"{totals.stale:,} saved tensor{'' if totals.stale == 1 else 's'} made stale" if totals.stale else "",
        f"{totals.unrecorded:,} unrecorded" if totals.unrecorded else "",
        f"{totals.refused:,} refused" if totals.refused else "",
    ]


def versions(row: Row) -> str:
    """``version 0 -> 1``."""
    if row.after is None:
        return ""
    return f"version {row.before} -> {row.after}" if row.after != row.before else f"version {row.after}"


def verdict(row: Row) -> str:
    """The verdict and its bytes: ``copies 12 bytes``."""
    nbytes = {
        Verdict.COPIES: row.copied,
        Verdict.MARKS: row.marked + row.indexed,
        Verdict.PRESERVES: row.preserved,
    }.get(row.verdict, 0)
    words = f"{row.verdict.word} {count(nbytes)}" if nbytes else row.verdict.word
    return ", ".join([words, *(each.word for each in row.verdicts[1:])])


def needs(row: Row) -> str:
    """What its backward needs, the rules and the reason."""
    if not row.rules and not row.needs:
        return row.why
    what = ", ".join(row.needs) or "nothing"
    rules = "; ".join(f"`{rule}`" for rule in row.rules)
    return f"{what} ({rules}). {row.why}".strip() if rules else f"{what}. {row.why}".strip()


def details(row: Row) -> list[tuple[str, str]]:
    """The reasons, each with its heading."""
    told = [("needs", needs(row)), ("happened", row.happened), ("error", row.error), ("instead", row.instead)]
    return [(heading, text) for heading, text in told if text]


_EMPTY = Row(0, "", None, "")  # type: ignore[arg-type]


def _cells(row: Row) -> tuple[str, ...]:
    if row is _EMPTY:
        return ("",) * 5
    tensor = str(row.tensor) if row.tensor is not None else ""
    place = f"{row.where}" if row.where.text else f"{row.where} {row.op}"
    return str(row.number).rjust(3), _cut(place, _PLACE), _cut(tensor, _TENSOR), versions(row), verdict(row)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _details(row: Row) -> list[str]:
    lines = []
    for heading, text in details(row):
        first = f"     {heading:<9}"
        paragraphs = text.splitlines() or [""]
        for paragraph in paragraphs:
            lines += textwrap.wrap(
                paragraph, WIDTH, initial_indent=first, subsequent_indent=_INDENT, break_long_words=False
            )
            first = _INDENT
    return lines
