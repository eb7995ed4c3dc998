"""Format a report as text for a terminal of 120 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from memory_stage.explanation.report_rows import ReportRow, Totals
from memory_stage.explanation.verdict import Verdict
from memory_stage.trace.amounts import bytes_text

WIDTH = 110
_PLACE, _TENSOR = 38, 30  # columns at most
MOST_FIRST = 3  # rows that are shown before all others
_INDENT = " " * 14


def as_text(
    folded: list[tuple[ReportRow, ReportRow, int]],
    totals: Totals,
    left_out: int,
    cut_short: str,
    first: Sequence[ReportRow] = (),
) -> str:
    """Return the text of a report: every row with its reasons below it, after the rows to read ``first``."""
    parts = [textwrap.fill(summary(totals), WIDTH)]
    for row in first[:MOST_FIRST]:
        sentence = f"Look first at row {row.number}, {row.where}. {row.happened}"
        parts += ["", textwrap.fill(sentence, WIDTH, break_long_words=False)]
    widths = [max(map(len, column)) for column in zip(*(_cells(row) for row, _, _ in folded), strict=True)]
    for row, last, number in folded:
        line = "  ".join(cell.ljust(width) for cell, width in zip(_cells(row), widths, strict=True))
        parts.append("\n" + line.rstrip())
        parts += _wrap(details(row, last, number))
    if left_out:
        parts.append(f"\n{left_out:,} operations more are in the sums and not shown.")
    if cut_short:
        parts.append(f"\n{cut_short}")
    return "\n".join(parts)


def summary(totals: Totals) -> str:
    """Return the totals as one or two lines."""
    number = totals.operations
    if number == 0:
        return "No in-place operation."
    parts = [f"{number:,} in-place operation{'' if number == 1 else 's'}"]
    parts += [text for text in sums(totals) if text]
    return "; ".join(parts) + "."


def sums(totals: Totals) -> list[str]:
    """Return a phrase for each total, or "" if that total is zero."""
    return [
        f"{bytes_text(totals.copied)} copied" if totals.copied else "",
        f"{bytes_text(totals.marked + totals.indexed)} of marks" if totals.marked + totals.indexed else "",
        f"{bytes_text(totals.preserved)} preserved for others" if totals.preserved else "",
        f"{totals.unnoticed:,} that no version tells and a backward needs" if totals.unnoticed else "",
        f"{totals.stale:,} saved tensor{'' if totals.stale == 1 else 's'} made stale" if totals.stale else "",
        f"{totals.unrecorded:,} unrecorded" if totals.unrecorded else "",
        f"{totals.refused:,} refused" if totals.refused else "",
    ]


def versions(row: ReportRow) -> str:
    """Return the versions before and after the operation: ``0 -> 1``, or ``1`` if it stayed the same."""
    if row.after is None:
        return ""
    return f"{row.before} -> {row.after}" if row.after != row.before else f"{row.after}"


def verdict(row: ReportRow) -> str:
    """Return the verdict and its bytes: ``copies 12 bytes``."""
    nbytes = {
        Verdict.COPIES: row.copied,
        Verdict.MARKS: row.marked + row.indexed,
        Verdict.PRESERVES: row.preserved,
    }.get(row.verdict, 0)
    return f"{row.verdict.word} {bytes_text(nbytes)}" if nbytes else row.verdict.word


def needs(row: ReportRow) -> str:
    """Return the tensors that the operation's backward needs, with the rules and the reason."""
    if not row.rules and not row.needs:
        return row.why
    what = ", ".join(row.needs) or "nothing"
    rules = "; ".join(f"`{rule}`" for rule in row.rules)
    return " ".join(part for part in (f"{what}: {rules}." if rules else f"{what}.", row.why) if part)


def details(row: ReportRow, last: ReportRow, number: int) -> list[tuple[str, str]]:
    """Return the reasons, each with its heading. ``number`` rows are equal, from ``row`` to ``last``."""
    repeated = f"{number:,} times, the last time as row {last.number:,}." if number > 1 else ""
    sections = [
        *(("needs", needs(row)), ("happened", row.happened), ("repeated", repeated)),
        *(("error", row.error), ("instead", row.instead)),
    ]
    return [(heading, text) for heading, text in sections if text]


def _cells(row: ReportRow) -> tuple[str, ...]:
    place = str(row.where) if row.where.text else f"{row.where} {row.op}"
    tensor = str(row.tensor) if row.tensor is not None else ""
    version = f"version {versions(row)}" if versions(row) else ""
    return str(row.number).rjust(3), _cut(place, _PLACE), _cut(tensor, _TENSOR), version, verdict(row)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _wrap(sections: list[tuple[str, str]]) -> list[str]:
    lines = []
    for heading, text in sections:
        first = f"     {heading:<9}"
        for paragraph in text.splitlines():
            lines += textwrap.wrap(
                paragraph, WIDTH, initial_indent=first, subsequent_indent=_INDENT, break_long_words=False
            )
            first = _INDENT
    return lines
