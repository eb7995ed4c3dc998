"""A report of ``explain`` as an HTML table. Text from the program never becomes markup.

Importing this module adds the HTML output to the class of reports, so that the package of that class needs no
code for notebooks.
"""

from __future__ import annotations

import html
from typing import Any

from memory_stage.explanation.report import Report
from memory_stage.explanation.report_rows import ReportRow, SourceLine
from memory_stage.explanation.text import details, left_out_text, summary, verdict, versions
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import message, said, speaking
from memory_stage.web.embed import page_assets, prose

#: Maps a verdict to a sign that is shown before its word, and to the end of the CSS class that colours the cell.
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

HEADS = (message("Line"), message("Tensor"), message("Version"), message("Verdict"), message("Why"))
_HEADINGS = {
    "needs": message("Needs"),
    "happened": message("Happened"),
    "repeated": message("Repeated"),
    "error": message("Error"),
    "instead": message("Instead"),
}


def as_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data: the totals, the rows, the notes below them, and the meanings of the verdicts.

    No text contains markup.
    """
    used = [each for each in Verdict if any(row.verdict is each for row in report.rows)]
    with speaking(report.language):
        return {
            "summary": summary(report.totals),
            "rows": [_row(*entry) for entry in report.folded()],
            "rest": _rest(report),
            "words": [[said(each.said), said(each.explained)] for each in used],
        }


def as_html(report: Report) -> str:
    """Return the report as HTML: the totals, the table, the notes below it, and the meanings of the verdicts."""
    data = as_data(report)
    with speaking(report.language):
        return _html_of(data)


def _html_of(data: dict[str, Any]) -> str:
    # This class keeps a page's MathJax from reading dollar signs as mathematics.
    head = f'<div class="mt-note mt-report mathjax_ignore">{_paragraph(data["summary"])}'
    rest = "".join(map(_paragraph, data["rest"]))
    if not data["rows"]:
        return f"{head}{rest}</div>"
    heads = "".join(f'<th scope="col" role="columnheader">{said(heading)}</th>' for heading in HEADS)
    body = "".join(map(_row_html, data["rows"]))
    return (
        # A narrow page shows the elements of the table as blocks, which hides the table from a screen reader. Therefore
        # the roles of the elements are written here again.
        f'{head}\n<table role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
        f'<tbody role="rowgroup">{body}</tbody></table>\n{rest}{_words_html(data["words"])}</div>'
    )


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _row(row: ReportRow, last: ReportRow, number: int) -> dict[str, Any]:
    sign, kind = SIGNS[row.verdict]
    tensor = row.tensor
    return {
        "place": f"{row.number}. {SourceLine(row.where.file, row.where.line, '')}",
        "code": row.where.text or row.operation,
        "name": tensor.name if tensor is not None else "",
        "tensor": f"{tensor.shape} {tensor.dtype}" if tensor is not None else "",
        "view_of": tensor.view_of if tensor is not None else "",
        "version": versions(row).replace("->", "→"),
        "sign": sign,
        "kind": kind,
        "verdict": verdict(row),
        "why": [[said(_HEADINGS[heading]), text] for heading, text in details(row, last, number)],
    }


def _row_html(row: dict[str, Any]) -> str:
    tensor = html.escape(row["tensor"])
    if row["name"]:
        tensor = f"<code>{html.escape(row['name'])}</code> {tensor}"
    if row["view_of"]:
        tensor += f"<br>{html.escape(row['view_of'])}"
    why = "".join(f"<dt>{heading}</dt><dd>{_detail(heading, text)}</dd>" for heading, text in row["why"])
    return (
        f'<tr role="row"><th scope="row" role="rowheader"><span class="mt-place">{html.escape(row["place"])}</span>'
        f'<br><code>{html.escape(row["code"])}</code></th><td role="cell">{tensor}</td>'
        f'<td role="cell" class="mt-version">{html.escape(row["version"])}</td>'
        f'<td role="cell" class="mt-{row["kind"]}"><span class="mt-sign" aria-hidden="true">{row["sign"]}</span> '
        f'{html.escape(row["verdict"])}</td><td role="cell"><dl>{why}</dl></td></tr>\n'
    )


def _detail(heading: str, text: str) -> str:
    if heading == said(_HEADINGS["error"]):
        return f"<pre>{html.escape(text)}</pre>"
    return prose(text)


def _rest(report: Report) -> list[str]:
    lines = []
    if report.left_out:
        lines.append(left_out_text(report.left_out))
    if report.cut_short:
        lines.append(report.cut_short)
    return lines


def _words_html(words: list[list[str]]) -> str:
    entries = "".join(f"<dt>{word}</dt><dd>{html.escape(meaning)}</dd>" for word, meaning in words)
    heading = said(message("What the verdicts mean"))
    return f"<details><summary data-lm-suppress-shortcuts>{heading}</summary><dl>{entries}</dl></details>\n"


def _mimebundle(report: Report, include: Any = None, exclude: Any = None) -> dict[str, str]:
    return {
        "text/plain": str(report),
        "text/html": page_assets("quiz.css", "explain.css", package="book_kit.web") + as_html(report),
    }


Report._repr_mimebundle_ = _mimebundle  # type: ignore[attr-defined]  # for notebooks only
