"""Make the handouts for a class: the sheet of its questions, the answers, and a page for each chapter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from string import ascii_uppercase
from typing import Any

from bs4 import Tag
from sphinx.errors import ExtensionError

import memory_stage
import minitensor.torch
from memory_stage.web import picture

from .built_page import PLAN, BuiltPage, Say

LINES_TO_KEEP = 3  # the lines of "What to remember" on a handout
CELLS = 6  # of the tensor that an exercise on paper is about
WIDTH = 700  # the width in px of a picture on a handout


def sheet(plan: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> str:
    """Return the questions of the slides, in order, and the exercises with room to draw."""
    items = "\n".join(f"<li>{_question_html(question)}</li>" for _, question in _questions(plan, book))
    return f"<ol>\n{items}\n</ol>\n" + "\n".join(_on_paper(plan, book, say))


def key(plan: dict[str, Any], book: dict[str, BuiltPage]) -> str:
    """Return the letter and the answer of each question of a class, and the mistake in each wrong option."""
    items = []
    for page, question in _questions(plan, book):
        options = [option.decode_contents() for option in question.select(".mt-options > li")]
        right = int(question["data-right"])
        wrong = "".join(
            f"<dt>{ascii_uppercase[number]}. {option}</dt><dd>{_mistake(question, number)}</dd>"
            for number, option in enumerate(options)
            if number != right
        )
        items.append(
            f"<li><p><strong>{ascii_uppercase[right]}. {options[right]}</strong> "
            f"(<a href='../{page.name}.html'>{escape(page.title)}</a>)</p>"
            f"<p>{question.select_one('.mt-why').decode_contents()}</p><dl>{wrong}</dl></li>"
        )
    return "<ol>\n" + "\n".join(items) + "\n</ol>"


def hand_outs(book: dict[str, BuiltPage], say: Say) -> str:
    """Return a page for each chapter: a question, the picture after the program's first line, three lines to remember,
    and room for the address of the book.
    """
    chapters = [page for page in book.values() if re.search(r"/\d\d_", page.name) and page.questions]
    return "\n".join(_hand_out(page, say) for page in chapters)


def draw_program(lines: list[str]) -> str:
    """Return the picture after the last line of a program; an empty text if it has no line or mini-racer is not
    installed.
    """
    if not lines or not picture.available():
        return ""
    recorded = memory_stage.record("\n".join(lines), {"torch": minitensor.torch}, depth="tensors")
    drawing = picture.svg(recorded.data, width=WIDTH)
    program = "; ".join(lines)
    return f"<figure>{drawing}<figcaption><code>{escape(program)}</code></figcaption></figure>"


def message_of(lines: list[str]) -> str:
    """Return the first line of the message with which a program stops.

    Raises:
        ExtensionError: if the program runs to its end.
    """
    try:
        exec("\n".join(lines), {"mt": minitensor, "torch": minitensor.torch})
    except RuntimeError as error:
        return str(error).splitlines()[0]
    raise ExtensionError(f"{PLAN}: this program raises no error: {'; '.join(lines)}")


def stage_of(page: BuiltPage, question: Tag) -> tuple[dict[str, Any], int] | None:
    """Return the trace of the stage that shows the answer to a question, and the number of its variant; None if no
    stage does.
    """
    proof = question.select_one(".mt-proof")
    if proof is None:
        return None
    title, label = proof.get("data-stage"), proof.get("data-variant")
    # as in quiz.js, a question that names no stage belongs to the next one
    stages = page.body.select("memory-stage") if title else question.find_all_next("memory-stage", limit=1)
    for trace in filter(None, map(_trace, stages)):
        if not title or trace["title"] == title:
            labels = [each["label"] for each in trace["variants"]]
            return trace, labels.index(label) if label in labels else 0
    return None


def draw_start(trace: dict[str, Any], variant: int) -> str:
    """Return the picture of a variant's first step, which shows no answer; an empty text if mini-racer is not
    installed.
    """
    return picture.svg(trace, variant, 0, WIDTH) if picture.available() else ""


def _questions(plan: dict[str, Any], book: dict[str, BuiltPage]) -> Iterator[tuple[BuiltPage, Tag]]:
    for part in plan["parts"]:
        for piece in part["show"]:
            if "question" in piece:
                yield book[part["page"]], book[part["page"]].question(piece["question"])


def _on_paper(plan: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> Iterator[str]:
    """Yield each exercise that has a program in the plan: its text, the cells of that program, and blanks."""
    blank = "<span class='blank'></span>"
    for part in plan["parts"]:
        for title in (piece["exercise"] for piece in part["show"] if "exercise" in piece):
            if lines := plan.get("pictures", {}).get(title):
                task = book[part["page"]].exercise(title).p
                cells = "".join(f"<span>{number}</span>" for number in range(CELLS))
                fill = say("shape [{blank}, {blank}], strides [{blank}, {blank}], offset {blank}", blank=blank)
                yield (
                    f"<section class='on-paper'>\n{task}\n<p><code>{escape('; '.join(lines[:2]))}</code></p>\n"
                    f"<p class='cells'>{cells}</p>\n<p>{fill}</p>\n</section>"
                )


def _question_html(question: Tag) -> str:
    options = "".join(f"<li>{option.decode_contents()}</li>" for option in question.select(".mt-options > li"))
    return f"<p>{question.select_one('.mt-question').decode_contents()}</p>\n<ol class='letters'>{options}</ol>"


def _mistake(question: Tag, number: int) -> str:
    return question.select_one(f'.mt-others > dd[data-option="{number}"]').decode_contents()


def _hand_out(page: BuiltPage, say: Say) -> str:
    proved = ((question, stage_of(page, question)) for question in page.questions)
    question, stage = next((pair for pair in proved if pair[1]), (page.questions[0], None))
    lines = page.to_remember(say("What to remember")).find_all("li", recursive=False)[:LINES_TO_KEEP]
    figure = _picture(question, *stage, say) if stage else ""
    return (
        f"<section class='hand-out'>\n<h2>{escape(page.title)}</h2>\n{_question_html(question)}\n{figure}\n"
        f"<h3>{say('Three lines to keep')}</h3>\n<ul>{''.join(map(str, lines))}</ul>\n"
        f"<p class='address'><span>{say('Address of the book, or a QR code:')}</span></p>\n</section>"
    )


def _trace(stage: Tag) -> dict[str, Any] | None:
    return json.loads(stage.script.string) if stage.script else None


def first_line(trace: dict[str, Any], variant: int) -> str:
    """Return the source of the first step of a variant."""
    program = trace["variants"][variant]
    step = program["steps"][0]
    return "\n".join(program["code"][step["line"] - 1 : step["end"]])


def _picture(question: Tag, trace: dict[str, Any], variant: int, say: Say) -> str:
    """Return the picture of a variant's first step, into which students draw the other steps; nothing if mini-racer is
    not installed.
    """
    drawing = draw_start(trace, variant)
    if not drawing:
        return ""
    line = first_line(trace, variant)
    values = {"line": f"<code>{escape(line)}</code>"}
    if line in question.select_one(".mt-question").get_text():
        caption = say("The memory after {line}. Draw what the other lines change.", **values)
    else:
        caption = say(
            "The memory of a similar program, after {line}. Draw what the lines above would change.", **values
        )
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"
