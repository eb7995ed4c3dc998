"""Bars that show how many programs are right, refused, or wrong without an error.

verdicts.show({"PyTorch 2.13.0": {"right": 324, "refused": 176, "wrong": 0}}, of="programs")
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_stage.messages import Text, message, said
from memory_stage.web.embed import page_assets

_WORDS = {"right": message("right"), "refused": message("refused"), "wrong": message("wrong")}
#: The three verdicts and their styles (empty, striped and full), which differ even without colour.
LOOKS = {
    "right": "background:var(--mt-paper)",
    "refused": "background:repeating-linear-gradient(135deg,var(--mt-line) 0 2px,var(--mt-wash) 2px 6px)",
    "wrong": "background:var(--mt-red)",
}
_BAR = "flex:2 1 9em;display:flex;height:16px;border:1px solid var(--mt-line)"
_KEY = "display:block;width:11px;height:11px;margin:0 0 2px auto;border:1px solid var(--mt-line)"
_NUMBER = "padding:3px 5px;border:0;text-align:right;white-space:nowrap"
_NAME = "padding:3px 5px;border:0;text-align:left;font-weight:400;width:100%"
# The name and the bar are side by side if there is room, otherwise one below the other. Only long words are broken.
_BOTH = "display:flex;flex-wrap:wrap;align-items:center;gap:0 10px"
_LABEL = "flex:1 1 11em;min-width:0;overflow-wrap:anywhere"


@dataclass(frozen=True)
class Verdicts:
    """Rows for a table, with a bar and three numbers in each. A screen reader reads only the numbers."""

    rows: Mapping[str, Mapping[str, int]]
    of: str

    def __str__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(
            f"{label:{width}}" + "".join(f"  {said(_WORDS[kind])} {row[kind]:>6,}" for kind in LOOKS)
            for label, row in self.rows.items()
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = page_assets("quiz.css", package="book_kit.web") + self._table()
        return {"text/plain": str(self), "text/html": page}

    def _table(self) -> str:
        heads = "".join(
            f'<th scope="col" style="{_NUMBER}"><span aria-hidden="true" style="{_KEY};{look}"></span>'
            f"{said(_WORDS[kind])}</th>"
            for kind, look in LOOKS.items()
        )
        counts: Text = ""
        for count in sorted({f"{sum(row.values()):,}" for row in self.rows.values()}):
            counts = message("{count} or {other}", count=counts, other=count) if counts else count
        caption = html.escape(said(message("of {count} {things}", count=counts, things=self.of)))
        return (
            '<div class="mt-note mathjax_ignore" style="overflow-x:auto">\n'
            '<table style="width:100%;border-collapse:collapse;font-size:14px;margin:0">\n'
            f'<caption style="caption-side:top;text-align:left;padding:3px 5px">{caption}</caption>\n'
            f'<thead><tr><td style="{_NAME}"></td>{heads}</tr></thead>\n'
            f"<tbody>{''.join(_row(*each) for each in self.rows.items())}</tbody>\n</table>\n</div>"
        )


def _row(label: str, row: Mapping[str, int]) -> str:
    whole = sum(row.values())
    bar = "".join(
        f'<span style="width:{100 * row[kind] / whole:.2f}%;min-width:{2 if row[kind] else 0}px;{look}"></span>'
        for kind, look in LOOKS.items()
    )
    numbers = "".join(f'<td style="{_NUMBER}">{row[kind]:,}</td>' for kind in LOOKS)
    return (
        f'<tr><th scope="row" style="{_NAME}"><div style="{_BOTH}"><span style="{_LABEL}">{html.escape(label)}</span>'
        f'<div aria-hidden="true" style="{_BAR}">{bar}</div></div></th>{numbers}</tr>'
    )


def show(rows: Mapping[str, Mapping[str, int]], *, of: str | None = None) -> Verdicts:
    """Return the bars, in the order of ``rows``.

    Args:
        rows: maps the label of each row to a dict with how many programs are `right`, `refused` and `wrong`.
        of: the noun for what is counted, by default "programs".

    Raises:
        ValueError: if there is no row, or if a row has other keys or only zeros.
    """
    for label, row in rows.items():
        if set(row) != set(LOOKS) or not sum(row.values()):
            raise ValueError(f"the programs of {label!r} must be counted as {', '.join(LOOKS)}, not {dict(row)!r}")
    if not rows:
        raise ValueError("verdicts takes at least one row")
    return Verdicts(dict(rows), of or said(message("programs")))
