"""Show a trace without scripts, as text for a terminal and as HTML for a page.

* The HTML has the program, a picture of the key step with its sentence, and a table with a row for each step. If there
  are several variants, a table that compares their bytes comes first.
* The program's text is always escaped.
* On a narrow screen programs and tables scroll in their own boxes, and the page does not.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

from memory_stage.recorder.key_step import key_step
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web import picture
from memory_stage.web.embed import as_data, prose

_BYTES = ("allocated", "peak", "reserved")
_NUMBER = re.compile(r"[\d,.]+ (?:B|[KMG]iB)")
_SENTENCES = "what happens"  # this column stays wide enough to read a sentence


# ---------- as text ----------


def as_text(trace: dict[str, Any]) -> str:
    """Return the programs and every sentence of a trace as text for a terminal."""
    parts = [f"Stage: {trace['title']}", *([trace["ask"]] if trace["ask"] else []), *_where(trace["device"])]
    variants = trace["variants"]
    if len(variants) > 1:
        head, rows = _comparison(trace)
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        last = len(head) - 1  # the verdict, which is text and is set flush left
        parts.append("")
        for row in (head, *rows):
            cells = [
                cell.ljust(width) if column in (0, last) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            parts.append("  " + "  ".join(cells).rstrip())
        parts.append(difference(trace))
    for variant in variants:
        if variant["label"]:
            parts.append(f"\n{variant['label']}" + (f" ({variant['verdict']})" if variant["verdict"] else ""))
        width = len(str(len(variant["code"])))
        parts += [f"  {number:>{width}}  {line}" for number, line in enumerate(variant["code"], 1)]
        for number, step in enumerate(variant["steps"], 1):
            parts.append(f"{number:>3}. {step['say']} [{bytes_shown(step['allocated'])}]")
            parts += [f"     | {line}" for line in step.get("out", "").splitlines()]
            parts += [f"     ! {line}" for error in _errors(step) for line in error.splitlines()]
        end = variant["steps"][-1]
        parts.append(
            ", ".join(f"{name} {bytes_shown(end[name])}" for name in _BYTES if name in end) + " after the last step."
        )
        if variant["truncated"]:
            parts.append(variant["truncated"])
    return "\n".join(parts)


def _where(device: str) -> list[str]:
    if device == "cpu":
        return []
    return [f"Memory of {device}{', a simulated GPU' if device.endswith(':sim') else ''}."]


def _errors(step: dict[str, Any]) -> list[str]:
    return [event["text"] for event in step["events"] if event["do"] == "raise"]


def _comparison(trace: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the table of the variants after their last steps: the column headings, and a row for each."""
    ends = [variant["steps"][-1] for variant in trace["variants"]]
    counters = [name for name in _BYTES if any(name in end for end in ends)]
    rows = [
        [
            variant["label"],
            *(bytes_shown(end[name]) if name in end else "" for name in counters),
            variant["verdict"] or "done",
        ]
        for variant, end in zip(trace["variants"], ends, strict=True)
    ]
    return [trace["compare"] or "variant", *counters, "in the end"], rows


def difference(trace: dict[str, Any]) -> str:
    """Compare the allocated bytes of the variants after their last steps with the first variant's, in a sentence."""
    first, *others = trace["variants"]
    before = first["steps"][-1]["allocated"]
    phrases = []
    for variant in others:
        more = variant["steps"][-1]["allocated"] - before
        much = f"{bytes_shown(abs(more))} {'more' if more > 0 else 'less'}" if more else "the same"
        phrases.append(f"“{variant['label']}” allocates {much}")
    return f"After the last step, compared with “{first['label']}”: {', '.join(phrases)}."


# ---------- as HTML ----------


def as_html(trace: dict[str, Any]) -> str:
    """Return the element with its data and with the HTML that is shown without JavaScript."""
    return (
        '<memory-stage class="mathjax_ignore">\n'
        f'<script type="application/json">{as_data(trace)}</script>\n'
        f"{_still(trace)}</memory-stage>"
    )


def _still(trace: dict[str, Any]) -> str:
    parts = ['<div class="stage-fallback">\n', f"<p><strong>{html.escape(trace['title'])}</strong></p>\n"]
    if trace["ask"]:
        parts.append(f"<p>{prose(trace['ask'])}</p>\n")
    parts += [f"<p>{html.escape(where)}</p>\n" for where in _where(trace["device"])]
    if len(trace["variants"]) > 1:
        head, rows = _comparison(trace)
        parts.append(_table("The variants", head, ([html.escape(cell) for cell in row] for row in rows)))
        parts.append(f"<p>{html.escape(difference(trace))}</p>\n")
    drawn = picture.available()
    for number, variant in enumerate(trace["variants"]):
        steps = variant["steps"]
        key = key_step(variant)
        if variant["label"]:
            parts.append(f"<p><strong>{html.escape(variant['label'])}</strong></p>\n")
        code = f"<pre><code>{_verbatim(chr(10).join(variant['code']))}</code></pre>\n"
        parts.append(_box(f"Program {variant['label']}".rstrip(), code))
        if drawn:
            # A page's Markdown reader would end the HTML at an empty line.
            parts.append(_picture(re.sub(r"\n\s*\n", "\n", picture.svg(trace, number, key))))
            parts.append(f"<p>Step {key + 1} of {len(steps)}: {prose(steps[key]['say'])}</p>\n")
        caption = f"All steps of {variant['label']}" if variant["label"] else "All steps"
        counters = [name for name in _BYTES if any(name in step for step in steps)]
        rows = [_row(index, step, counters) for index, step in enumerate(steps, 1)]
        parts.append(_table(caption, ["step", "line", _SENTENCES, *counters], rows))
        if variant["truncated"]:
            parts.append(f"<p>{html.escape(variant['truncated'])}</p>\n")
    return "".join([*parts, "</div>\n"])


def _picture(svg: str) -> str:
    """Wrap a picture so that its labels take no space in an untrusted notebook, which removes the SVG tags only."""
    return f'<div style="font-size: 0px; margin-top: 12px">{svg}</div>\n'


def _row(number: int, step: dict[str, Any], counters: Sequence[str]) -> list[str]:
    line = str(step["line"]) if step["line"] == step["end"] else f"{step['line']} to {step['end']}"
    shown = [step["out"]] if "out" in step else []
    texts = "".join(f'<pre style="white-space: pre-wrap">{_verbatim(text)}</pre>' for text in (*shown, *_errors(step)))
    said = f'<div style="text-align: left">{prose(step["say"])}{texts}</div>'  # JupyterLab aligns cells to the right
    return [str(number), line, said, *(bytes_shown(step.get(name, 0)) for name in counters)]


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML. The cells are HTML; the caption and the headings are text."""
    wide = {_SENTENCES: ' style="min-width: 15em; text-align: left"'}
    heads = "".join(f'<th scope="col"{wide.get(name, "")}>{html.escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(map(_cell, others)) + "</tr>\n" for first, *others in rows
    )
    return _box(
        caption,
        f"<table><caption>{html.escape(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table>\n",
    )


def _cell(cell: str) -> str:
    """Return a cell of a table; a number and its unit are not wrapped."""
    whole = ' style="white-space: nowrap"' if _NUMBER.fullmatch(cell) else ""
    return f"<td{whole}>{cell}</td>"


def _box(label: str, inside: str) -> str:
    """Return a box that scrolls separately, also by keyboard."""
    return (
        f'<div style="overflow-x: auto" tabindex="0" role="group" aria-label="{html.escape(label)}">\n{inside}</div>\n'
    )


def _verbatim(text: str) -> str:
    """Escape a text of several lines; its empty lines are encoded because they would end the HTML in Markdown."""
    return re.sub(r"\n(?=[ \t]*\n)", "&#10;", html.escape(text))
