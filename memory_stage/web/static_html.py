"""The stage that stands still: what a trace shows where no script runs, in a terminal and on a page.

* On a page: the program, a picture of the step that says most, its sentence, and every step as a row of a table; of
  several variants first the variants as a table, with the difference in bytes.
* Text of the program never becomes markup.
* On a narrow screen programs and tables scroll in boxes of their own; the page does not.
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
_SENTENCES = "what happens"  # the column that keeps a width in which a sentence can be read


# ---------- as text ----------


def as_text(trace: dict[str, Any]) -> str:
    """Every sentence, for a terminal."""
    parts = [f"Stage: {trace['title']}", *([trace["ask"]] if trace["ask"] else []), *_where(trace["device"])]
    variants = trace["variants"]
    if len(variants) > 1:
        head, rows = _comparison(trace)
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        last = len(head) - 1  # the verdict, which is words
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
    """The variants at their ends: the heads of the columns, and a row for each."""
    ends = [variant["steps"][-1] for variant in trace["variants"]]
    told = [name for name in _BYTES if any(name in end for end in ends)]
    rows = [
        [
            variant["label"],
            *(bytes_shown(end[name]) if name in end else "" for name in told),
            variant["verdict"] or "done",
        ]
        for variant, end in zip(trace["variants"], ends, strict=True)
    ]
    return [trace["compare"] or "variant", *told, "in the end"], rows


def difference(trace: dict[str, Any]) -> str:
    """The variants' bytes at their ends, against those of the first, in one sentence."""
    first, *others = trace["variants"]
    before = first["steps"][-1]["allocated"]
    told = []
    for variant in others:
        more = variant["steps"][-1]["allocated"] - before
        much = f"{bytes_shown(abs(more))} {'more' if more > 0 else 'less'}" if more else "the same"
        told.append(f"{variant['label']} allocates {much}")
    return f"After the last step, against {first['label']}: {', '.join(told)}."


# ---------- as HTML ----------


def as_html(trace: dict[str, Any]) -> str:
    """The element with its data and, inside it, what is shown without JavaScript."""
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
        telling = key_step(variant)
        if variant["label"]:
            parts.append(f"<p><strong>{html.escape(variant['label'])}</strong></p>\n")
        code = f"<pre><code>{_verbatim(chr(10).join(variant['code']))}</code></pre>\n"
        parts.append(_box(f"Program {variant['label']}".rstrip(), code))
        if drawn:
            # A page's Markdown reader would end the HTML at an empty line.
            parts.append(_picture(re.sub(r"\n\s*\n", "\n", picture.svg(trace, number, telling))))
            parts.append(f"<p>Step {telling + 1} of {len(steps)}: {prose(steps[telling]['say'])}</p>\n")
        caption = f"All steps of {variant['label']}" if variant["label"] else "All steps"
        told = [name for name in _BYTES if any(name in step for step in steps)]
        rows = [_row(index, step, told) for index, step in enumerate(steps, 1)]
        parts.append(_table(caption, ["step", "line", _SENTENCES, *told], rows))
        if variant["truncated"]:
            parts.append(f"<p>{html.escape(variant['truncated'])}</p>\n")
    return "".join([*parts, "</div>\n"])


def _picture(svg: str) -> str:
    """Where a notebook is not trusted, its tags are taken away and its words are left: those take no room."""
    return f'<div style="font-size: 0px">{svg}</div>\n'


def _row(number: int, step: dict[str, Any], told: Sequence[str]) -> list[str]:
    line = str(step["line"]) if step["line"] == step["end"] else f"{step['line']} to {step['end']}"
    shown = [step["out"]] if "out" in step else []
    texts = "".join(f'<pre style="white-space: pre-wrap">{_verbatim(text)}</pre>' for text in (*shown, *_errors(step)))
    said = f'<div style="text-align: left">{prose(step["say"])}{texts}</div>'  # JupyterLab sets its tables to the right
    return [str(number), line, said, *(bytes_shown(step.get(name, 0)) for name in told)]


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The cells are HTML, caption and head are text."""
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
    """A number stays in one line with its unit."""
    whole = ' style="white-space: nowrap"' if _NUMBER.fullmatch(cell) else ""
    return f"<td{whole}>{cell}</td>"


def _box(label: str, inside: str) -> str:
    """A box that scrolls by itself, also by keyboard."""
    return (
        f'<div style="overflow-x: auto" tabindex="0" role="group" aria-label="{html.escape(label)}">\n{inside}</div>\n'
    )


def _verbatim(text: str) -> str:
    """Text of several lines as HTML without an empty line."""
    return re.sub(r"\n(?=[ \t]*\n)", "&#10;", html.escape(text))
