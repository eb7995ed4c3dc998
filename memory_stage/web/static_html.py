"""Show a trace without scripts, as text for a terminal and as HTML for a page.

The HTML has the program, a picture of the key step with its sentence, and a table with a row for each step. If there
are several variants, a table that compares their bytes comes first.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memory_stage.messages import Text, aligned, language, listed, message, render
from memory_stage.recorder.key_step import key_step
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web import picture
from memory_stage.web.embed import as_data, prose

_NUMBER = re.compile(r"[\d,.]+ (?:B|[KMG]iB)")
_SENTENCES = message("what happens")  # this column gets a minimum width, so that sentences can be read
_COUNTERS = {"allocated": message("allocated"), "peak": message("peak"), "reserved": message("reserved")}


# ---------- as text ----------


def as_text(trace: dict[str, Any]) -> str:
    """Return the programs and every sentence of a trace as text for a terminal."""
    speak = _speaker(trace)
    title = speak(message("Stage: {title}", title=trace["title"]))
    parts = [title, *([trace["ask"]] if trace["ask"] else []), *_where(trace)]
    variants = trace["variants"]
    if len(variants) > 1:
        head, rows = _comparison(trace)
        parts += ["", *aligned([head, *rows], left=(0, len(head) - 1))]  # the last column, the verdict, is text
        parts.append(difference(trace))
    for variant in variants:
        if variant["label"]:
            heading = variant["label"]
            if variant["verdict"]:
                heading = speak(message("{variant} ({verdict})", variant=heading, verdict=variant["verdict"]))
            parts.append(f"\n{heading}")
        width = len(str(len(variant["code"])))
        parts += [f"  {number:>{width}}  {line}" for number, line in enumerate(variant["code"], 1)]
        for number, step in enumerate(variant["steps"], 1):
            parts.append(f"{number:>3}. {step['say']} [{bytes_shown(step['allocated'])}]")
            parts += [f"     | {line}" for line in step.get("out", "").splitlines()]
            parts += [f"     ! {line}" for error in _errors(step) for line in error.splitlines()]
        end = variant["steps"][-1]
        sizes = [
            message("{counter} {size}", counter=said, size=bytes_shown(end[name]))
            for name, said in _COUNTERS.items()
            if name in end
        ]
        parts.append(speak(message("{sizes} after the last step.", sizes=listed(sizes))))
        if variant["truncated"]:
            parts.append(variant["truncated"])
    return "\n".join(parts)


def _speaker(trace: dict[str, Any]) -> Callable[[Text], str]:
    """Return the function that renders a text in the language of a trace."""
    spoken = language(trace.get("language", "en"))
    return lambda text: render(text, spoken)


def _where(trace: dict[str, Any]) -> list[str]:
    device = trace["device"]
    if device == "cpu":
        return []
    if device.endswith(":sim"):
        return [_speaker(trace)(message("Memory of {device}, a simulated GPU.", device=device))]
    return [_speaker(trace)(message("Memory of {device}.", device=device))]


def _errors(step: dict[str, Any]) -> list[str]:
    return [event["text"] for event in step["events"] if event["do"] == "raise"]


def _comparison(trace: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Compare the variants after their last steps. Return the column headings, and a row for each variant."""
    speak = _speaker(trace)
    ends = [variant["steps"][-1] for variant in trace["variants"]]
    counters = [name for name in _COUNTERS if any(name in end for end in ends)]
    rows = [
        [
            variant["label"],
            *(bytes_shown(end[name]) if name in end else "" for name in counters),
            variant["verdict"] or speak(message("done")),
        ]
        for variant, end in zip(trace["variants"], ends, strict=True)
    ]
    heads = [speak(_COUNTERS[name]) for name in counters]
    return [trace["compare"] or speak(message("variant")), *heads, speak(message("in the end"))], rows


def difference(trace: dict[str, Any]) -> str:
    """Return a sentence that compares the allocated bytes at the end of each variant with those of the first."""
    first, *others = trace["variants"]
    before = first["steps"][-1]["allocated"]
    clauses = []
    for variant in others:
        more = variant["steps"][-1]["allocated"] - before
        values: dict[str, Text | int] = {"variant": variant["label"], "size": bytes_shown(abs(more))}
        if more > 0:
            clauses.append(message("“{variant}” allocates {size} more", **values))
        elif more < 0:
            clauses.append(message("“{variant}” allocates {size} less", **values))
        else:
            clauses.append(message("“{variant}” allocates the same", **values))
    return _speaker(trace)(
        message(
            "After the last step, compared with “{first}”: {clauses}.", first=first["label"], clauses=listed(clauses)
        )
    )


# ---------- as HTML ----------


def as_html(trace: dict[str, Any]) -> str:
    """Return the element with its data and with the HTML that is shown without JavaScript."""
    return (
        '<memory-stage class="mathjax_ignore">\n'
        f'<script type="application/json">{as_data(trace)}</script>\n'
        f"{_still(trace)}</memory-stage>"
    )


def _still(trace: dict[str, Any]) -> str:
    speak = _speaker(trace)
    parts = ['<div class="stage-fallback">\n', f"<p><strong>{html.escape(trace['title'])}</strong></p>\n"]
    if trace["ask"]:
        parts.append(f"<p>{prose(trace['ask'])}</p>\n")
    parts += [f"<p>{html.escape(where)}</p>\n" for where in _where(trace)]
    if len(trace["variants"]) > 1:
        head, rows = _comparison(trace)
        parts.append(
            _table(speak(message("The variants")), head, ([html.escape(cell) for cell in row] for row in rows))
        )
        parts.append(f"<p>{html.escape(difference(trace))}</p>\n")
    drawn = picture.available()
    for number, variant in enumerate(trace["variants"]):
        steps = variant["steps"]
        key = key_step(variant)
        if variant["label"]:
            parts.append(f"<p><strong>{html.escape(variant['label'])}</strong></p>\n")
        code = f"<pre><code>{_verbatim(chr(10).join(variant['code']))}</code></pre>\n"
        program = message("Program {variant}", variant=variant["label"]) if variant["label"] else message("Program")
        parts.append(_box(speak(program), code))
        if drawn:
            # An empty line would end the HTML for the page's Markdown reader.
            parts.append(_picture(re.sub(r"\n\s*\n", "\n", picture.svg(trace, number, key))))
            said = speak(
                message(
                    "Step {step} of {count}: {sentence}", step=key + 1, count=len(steps), sentence=steps[key]["say"]
                )
            )
            parts.append(f"<p>{prose(said)}</p>\n")
        caption = (
            message("All steps of {variant}", variant=variant["label"]) if variant["label"] else message("All steps")
        )
        counters = [name for name in _COUNTERS if any(name in step for step in steps)]
        rows = [_row(index, step, counters, speak) for index, step in enumerate(steps, 1)]
        heads = [message("step"), message("line"), _SENTENCES, *(_COUNTERS[name] for name in counters)]
        parts.append(_table(speak(caption), [speak(head) for head in heads], rows, wide=2))
        if variant["truncated"]:
            parts.append(f"<p>{html.escape(variant['truncated'])}</p>\n")
    return "".join([*parts, "</div>\n"])


def _picture(svg: str) -> str:
    """Wrap a picture in text of size 0, because an untrusted notebook removes SVG tags and keeps the labels as text."""
    return f'<div style="font-size: 0px; margin-top: 12px">{svg}</div>\n'


def _row(number: int, step: dict[str, Any], counters: Sequence[str], speak: Callable[[Text], str]) -> list[str]:
    first, last = step["line"], step["end"]
    line = str(first) if first == last else speak(message("{first} to {last}", first=first, last=last))
    shown = [step["out"]] if "out" in step else []
    texts = "".join(f'<pre style="white-space: pre-wrap">{_verbatim(text)}</pre>' for text in (*shown, *_errors(step)))
    # Without this style, JupyterLab aligns the cells to the right.
    said = f'<div style="text-align: left">{prose(step["say"])}{texts}</div>'
    return [str(number), line, said, *(bytes_shown(step.get(name, 0)) for name in counters)]


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], wide: int | None = None) -> str:
    """Return a table as HTML. The cells are HTML; the caption and the headings are text.

    Args:
        wide: the number of the column with sentences, counted from 0; None if there is none.
    """
    style = ' style="min-width: 15em; text-align: left"'
    heads = "".join(
        f'<th scope="col"{style if column == wide else ""}>{html.escape(name)}</th>' for column, name in enumerate(head)
    )
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(map(_cell, others)) + "</tr>\n" for first, *others in rows
    )
    return _box(
        caption,
        f"<table><caption>{html.escape(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table>\n",
    )


def _cell(cell: str) -> str:
    """Return a cell of a table, in which a number and its unit stay on one line."""
    whole = ' style="white-space: nowrap"' if _NUMBER.fullmatch(cell) else ""
    return f"<td{whole}>{cell}</td>"


def _box(label: str, inside: str) -> str:
    """Return a box that scrolls independently of the page, also by keyboard."""
    return (
        f'<div style="overflow-x: auto" tabindex="0" role="group" aria-label="{html.escape(label)}">\n{inside}</div>\n'
    )


def _verbatim(text: str) -> str:
    """Escape a text of several lines. Its empty lines are encoded, because they would end the HTML in Markdown."""
    return re.sub(r"\n(?=[ \t]*\n)", "&#10;", html.escape(text))
