"""A report of ``explain`` as an HTML table. Text of the program never becomes markup.

Reports get their HTML when this package is imported; the engine knows of no notebook.
"""

from __future__ import annotations

import html
from typing import Any

from minitensor.explaining.report import Report
from minitensor.explaining.rows import Row
from minitensor.explaining.text import details, summary, verdict, versions
from minitensor.explaining.verdicts import Verdict
from minitensor.stage.embed import page_assets, prose

#: How a verdict is marked, besides its word: a sign, and the class that colours it.
SIGNS = {
    Verdict.UNNOTICED: ("×", "bad"),
    Verdict.REFUSED: ("×", "bad"),
    Verdict.RAISES: ("×", "bad"),
    Verdict.STALE: ("!", "bad"),
    Verdict.UNRECORDED: ("?", "look"),
    Verdict.COPIES: ("+", "cost"),
    Verdict.MARKS: ("+", "cost"),
    Verdict.PRESERVES: ("+", "cost"),
    Verdict.METADATA: ("·", "none"),
    Verdict.FREE: ("·", "none"),
}

_HEADINGS = {"needs": "Needs", "happened": "Happened", "repeated": "Repeated", "error": "Error", "instead": "Instead"}


def as_html(report: Report) -> str:
    """The table, its sums before it and its words after it."""
    if not report.rows:
        return (
            f'<div class="mt-note mt-report mathjax_ignore">{_paragraph(summary(report.totals))}{_rest(report)}</div>'
        )
    heads = "".join(
        f'<th scope="col" role="columnheader">{head}</th>' for head in ("Line", "Tensor", "Version", "Verdict", "Why")
    )
    body = "".join(_row(*entry) for entry in report.folded())
    return (
        # The class keeps a page's MathJax away from dollar signs.
        '<div class="mt-note mt-report mathjax_ignore">\n'
        f"{_paragraph(summary(report.totals))}\n"
        # The roles say again what the elements are: a narrow page shows them as blocks, which are no table to a reader.
        f'<table role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
        f'<tbody role="rowgroup">{body}</tbody></table>\n'
        f"{_rest(report)}{_words(report)}</div>"
    )


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _row(row: Row, last: Row, number: int) -> str:
    sign, kind = SIGNS[row.verdict]
    where = f"{row.number}. " + ("" if row.where.file is None else f"{row.where.file}, ") + f"line {row.where.line}"
    code = f"<code>{html.escape(row.where.text or row.op)}</code>"
    tensor = ""
    if row.tensor is not None:
        name = f"<code>{html.escape(row.tensor.name)}</code> " if row.tensor.name else ""
        tensor = f"{name}{html.escape(f'{row.tensor.shape} {row.tensor.dtype}')}"
        if row.tensor.view_of:
            tensor += f"<br>{html.escape(row.tensor.view_of)}"
    version = html.escape(versions(row).replace("->", "→"))
    why = "".join(
        f"<dt>{_HEADINGS[heading]}</dt><dd>{_detail(heading, text)}</dd>"
        for heading, text in details(row, last, number)
    )
    return (
        f'<tr role="row"><th scope="row" role="rowheader"><span class="mt-place">{html.escape(where)}</span>'
        f'<br>{code}</th><td role="cell">{tensor}</td><td role="cell" class="mt-version">{version}</td>'
        f'<td role="cell" class="mt-{kind}"><span class="mt-sign" aria-hidden="true">{sign}</span> '
        f'{html.escape(verdict(row))}</td><td role="cell"><dl>{why}</dl></td></tr>\n'
    )


def _detail(heading: str, text: str) -> str:
    if heading == "error":
        return f"<pre>{html.escape(text)}</pre>"
    return prose(text)


def _rest(report: Report) -> str:
    told = []
    if report.left_out:
        told.append(f"{report.left_out:,} operations more are in the sums and not shown.")
    if report.cut_short:
        told.append(report.cut_short)
    return "".join(_paragraph(text) for text in told)


def _words(report: Report) -> str:
    used = [each for each in Verdict if any(row.verdict is each for row in report.rows)]
    words = "".join(f"<dt>{each.word}</dt><dd>{html.escape(each.meaning)}</dd>" for each in used)
    return f"<details><summary data-lm-suppress-shortcuts>What the verdicts mean</summary><dl>{words}</dl></details>\n"


def _mimebundle(report: Report, include: Any = None, exclude: Any = None) -> dict[str, str]:
    return {
        "text/plain": str(report),
        "text/html": page_assets("quiz.css", "explain.css", package="minitensor.notebook") + as_html(report),
    }


Report._repr_mimebundle_ = _mimebundle  # type: ignore[attr-defined]  # for notebooks only
