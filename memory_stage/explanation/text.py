"""Format a report as text for a terminal of 120 columns."""

from __future__ import annotations

from collections.abc import Sequence

from memory_stage.explanation.report_rows import ReportRow, Totals
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, columns, listed, message, padded, plural, said, sentences, wrapped
from memory_stage.trace.amounts import bytes_message

WIDTH = 110
_PLACE, _TENSOR = 38, 30  # columns at most
MOST_FIRST = 3  # rows that are shown before all others
_INDENT = " " * 14
_HEADINGS = {
    "needs": message("needs"),
    "happened": message("happened"),
    "repeated": message("repeated"),
    "error": message("error"),
    "instead": message("instead"),
}


def as_text(
    folded: list[tuple[ReportRow, ReportRow, int]],
    totals: Totals,
    left_out: int,
    cut_short: str,
    first: Sequence[ReportRow] = (),
) -> str:
    """Return the text of a report: the rows to read ``first``, then every row with its reasons below it."""
    parts = wrapped(summary(totals), WIDTH)
    for row in first[:MOST_FIRST]:
        look = message("Read row {number} first, {line}.", number=row.number, line=str(row.where))
        sentence = said(sentences([look, row.happened]))
        parts += ["", *wrapped(sentence, WIDTH, breaks_words=False)]
    widths = [max(map(columns, column)) for column in zip(*(_cells(row) for row, _, _ in folded), strict=True)]
    for row, last, number in folded:
        line = "  ".join(padded(cell, width) for cell, width in zip(_cells(row), widths, strict=True))
        parts.append("\n" + line.rstrip())
        parts += _wrap(details(row, last, number))
    if left_out:
        parts.append(f"\n{left_out_text(left_out)}")
    if cut_short:
        parts.append(f"\n{cut_short}")
    return "\n".join(parts)


def left_out_text(count: int) -> str:
    """Return the sentence about rows that are not shown."""
    return said(message("{count} more operations are counted in the totals but not listed.", count=f"{count:,}"))


def summary(totals: Totals) -> str:
    """Return the totals in one sentence."""
    number = totals.operations
    if number == 0:
        return said(message("No in-place operation."))
    parts: Text = plural("{count} in-place operation", "{count} in-place operations", number, count=f"{number:,}")
    for text in sums(totals):
        if text:
            parts = message("{first}; {next}", first=parts, next=text)
    return said(message("{clauses}.", clauses=parts))


def sums(totals: Totals) -> list[Text]:
    """Return a phrase for each total, or "" if that total is zero."""
    marks, stale = totals.marked + totals.indexed, totals.stale
    return [
        message("{size} copied", size=bytes_message(totals.copied)) if totals.copied else "",
        message("{size} of marks", size=bytes_message(marks)) if marks else "",
        message("{size} preserved for others", size=bytes_message(totals.preserved)) if totals.preserved else "",
        plural(
            "{count} that makes gradients wrong without an error",
            "{count} that make gradients wrong without an error",
            totals.unnoticed,
            count=f"{totals.unnoticed:,}",
        )
        if totals.unnoticed
        else "",
        plural("{count} saved tensor made stale", "{count} saved tensors made stale", stale, count=f"{stale:,}")
        if stale
        else "",
        message("{count} unrecorded", count=f"{totals.unrecorded:,}") if totals.unrecorded else "",
        message("{count} refused", count=f"{totals.refused:,}") if totals.refused else "",
    ]


def versions(row: ReportRow) -> str:
    """Return the versions before and after the operation: ``0 -> 1``; ``1`` if they are equal; or ""."""
    if row.after is None:
        return ""
    return f"{row.before} -> {row.after}" if row.after != row.before else f"{row.after}"


def verdict(row: ReportRow) -> str:
    """Return the verdict and its bytes, if any: ``copies 12 bytes``."""
    nbytes = {
        Verdict.COPIES: row.copied,
        Verdict.MARKS: row.marked + row.indexed,
        Verdict.PRESERVES: row.preserved,
    }.get(row.verdict, 0)
    return said(row.verdict.cost(nbytes) if nbytes else row.verdict.said)


def needs(row: ReportRow) -> str:
    """Return the tensors that the operation's backward needs, with the rules and the reason."""
    if not row.rules and not row.needs:
        return row.why
    what: Text = listed(row.needs) if row.needs else message("nothing")
    needed = message("{tensors}.", tensors=what)
    if row.rules:
        needed = message("{tensors}: {rules}.", tensors=what, rules="; ".join(f"`{rule}`" for rule in row.rules))
    return said(sentences([needed, row.why] if row.why else [needed]))


def details(row: ReportRow, last: ReportRow, number: int) -> list[tuple[str, str]]:
    """Return the texts below ``row``, each with its heading. ``row`` is the first of ``number`` equal rows."""
    again = message("{count} times; row {row} is the last one.", count=f"{number:,}", row=f"{last.number:,}")
    repeated = said(again) if number > 1 else ""
    sections = [
        *(("needs", needs(row)), ("happened", row.happened), ("repeated", repeated)),
        *(("error", row.error), ("instead", row.instead)),
    ]
    return [(heading, text) for heading, text in sections if text]


def _cells(row: ReportRow) -> tuple[str, ...]:
    place = str(row.where) if row.where.text else f"{row.where} {row.operation}"
    tensor = str(row.tensor) if row.tensor is not None else ""
    version = said(message("version {versions}", versions=versions(row))) if versions(row) else ""
    return str(row.number).rjust(3), _cut(place, _PLACE), _cut(tensor, _TENSOR), version, verdict(row)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _wrap(sections: list[tuple[str, str]]) -> list[str]:
    lines = []
    for heading, text in sections:
        first = f"     {padded(said(_HEADINGS[heading]), 9)}"
        for paragraph in text.splitlines():
            lines += wrapped(paragraph, WIDTH, first, _INDENT, breaks_words=False)
            first = _INDENT
    return lines
