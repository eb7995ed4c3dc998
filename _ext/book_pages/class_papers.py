"""Make the papers for a class of students: a sheet of questions, the key with the answers, and a handout per chapter.

All functions that make papers return HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from string import ascii_uppercase
from typing import Any

from bs4 import Tag
from sphinx.errors import ExtensionError

import memory_stage
import minitensor.torch
from memory_stage.web import picture

from .built_page import PLAN, BuiltPage, Say

LINES_TO_KEEP = 3  # the number of lines of "What to remember" that a handout repeats
CELLS = 6  # the number of cells of the storage that is drawn for an exercise on paper
WIDTH = 700  # the width in px of a picture on paper


@dataclass(frozen=True)
class QuestionStart:
    """The moment in the picture of a question: a step of a recorded program, before the answer can be seen."""

    trace: dict[str, Any]
    variant: int
    step: int
    is_example: bool  # True if the program was written for the picture and belongs to no stage

    @property
    def line(self) -> str:
        """Return the lines of the program that the step runs or, for an example, the whole program on one line."""
        program = self.trace["variants"][self.variant]
        if self.is_example:
            return "; ".join(program["code"])
        step = program["steps"][self.step]
        return "\n".join(program["code"][step["line"] - 1 : step["end"]])

    @property
    def sentence(self) -> str:
        """Return the sentence of the step without backticks."""
        sentence: str = self.trace["variants"][self.variant]["steps"][self.step]["say"]
        return sentence.replace("`", "")

    def draw(self) -> str:
        """Return the picture; an empty text if mini-racer is not installed."""
        return picture.svg(self.trace, self.variant, self.step, WIDTH) if picture.available() else ""


def sheet(plan: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> str:
    """Return the questions of the slides, in order, and after them the exercises with room to draw."""
    items = "\n".join(f"<li>{_question_html(question)}</li>" for _, question in _questions(plan, book))
    return f"<ol>\n{items}\n</ol>\n" + "\n".join(_on_paper(plan, book, say))


def key(plan: dict[str, Any], book: dict[str, BuiltPage]) -> str:
    """Return the right option of each question of a class with its letter, and the mistake in each wrong option."""
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
    """Return a page to print for each chapter with questions: one question, a picture of the memory before the answer,
    three lines to remember, and room for the address of the book.
    """
    chapters = [page for page in book.values() if re.search(r"/\d\d_", page.name) and page.questions]
    return "\n".join(_hand_out(page, say) for page in chapters)


def draw_program(lines: list[str], language: str) -> str:
    """Return a picture of the memory after the last line of a program, with its words in ``language``.

    The result is an empty text if the program has no line or if mini-racer is not installed.
    """
    if not lines or not picture.available():
        return ""
    start = start_of_program(lines, language)
    return f"<figure>{start.draw()}<figcaption><code>{escape(start.line)}</code></figcaption></figure>"


def start_of_program(lines: list[str], language: str = "en") -> QuestionStart:
    """Record a program that makes the tensors of a question, and return the moment after its last step.

    Raises:
        ExtensionError: if the program raises an error.
    """
    source = "\n".join(lines)
    recorded = memory_stage.record(source, {"torch": minitensor.torch}, depth="tensors", language=language)
    if recorded.error is not None:
        raise ExtensionError(f"the program of a picture raises an error: {'; '.join(lines)}\n{recorded.error}")
    return QuestionStart(recorded.data, 0, len(recorded.data["variants"][0]["steps"]) - 1, is_example=True)


def message_of(lines: list[str]) -> str:
    """Run a program that raises a RuntimeError, and return the first line of the error message.

    Raises:
        ExtensionError: if the program raises no error.
        Exception: any other error of the program.
    """
    try:
        exec("\n".join(lines), {"mt": minitensor, "torch": minitensor.torch})
    except RuntimeError as error:
        return str(error).splitlines()[0]
    raise ExtensionError(f"{PLAN}: this program raises no error: {'; '.join(lines)}")


def start_of(page: BuiltPage, question: Tag) -> QuestionStart | None:
    """Return the moment that the picture of a question shows; None if the question has no picture.

    If the question has a program for its picture, the moment is the end of this program. Otherwise, if a stage shows
    the answer to the question, the moment is the first step of this stage.
    """
    if program := question.get("data-picture"):
        return start_of_program(str(program).splitlines(), page.language)
    proof = question.select_one(".mt-proof")
    if proof is None:
        return None
    title, label = proof.get("data-stage"), proof.get("data-variant")
    # as in quiz.js, a question that names no stage belongs to the next stage on the page
    stages = page.body.select("memory-stage") if title else question.find_all_next("memory-stage", limit=1)
    for trace in filter(None, map(_trace, stages)):
        if not title or trace["title"] == title:
            labels = [each["label"] for each in trace["variants"]]
            return QuestionStart(trace, labels.index(label) if label in labels else 0, 0, is_example=False)
    return None


def _questions(plan: dict[str, Any], book: dict[str, BuiltPage]) -> Iterator[tuple[BuiltPage, Tag]]:
    for part in plan["parts"]:
        for piece in part["show"]:
            if "question" in piece:
                yield book[part["page"]], book[part["page"]].question(piece["question"])


def _on_paper(plan: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> Iterator[str]:
    """Yield each exercise that has a program for a picture in the plan.

    An exercise on paper has its text, the first two lines of the program, the cells of a storage to draw in, and blanks
    for a shape, strides and an offset.
    """
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
    question = next((one for one in page.questions if one.select_one(".mt-proof")), page.questions[0])
    start = start_of(page, question)
    lines = page.to_remember(say("What to remember")).find_all("li", recursive=False)[:LINES_TO_KEEP]
    figure = _picture(question, start, say) if start else ""
    return (
        f"<section class='hand-out'>\n<h2>{escape(page.title)}</h2>\n{_question_html(question)}\n{figure}\n"
        f"<h3>{say('Three lines to keep')}</h3>\n<ul>{''.join(map(str, lines))}</ul>\n"
        f"<p class='address'><span>{say('Address of the book, or a QR code:')}</span></p>\n</section>"
    )


def _trace(stage: Tag) -> dict[str, Any] | None:
    return json.loads(stage.script.string) if stage.script else None


def _picture(question: Tag, start: QuestionStart, say: Say) -> str:
    """Return the picture of a question, in which students draw the next steps; an empty text if mini-racer is not
    installed.
    """
    drawing = start.draw()
    if not drawing:
        return ""
    values = {"line": f"<code>{escape(start.line)}</code>"}
    if start.is_example:
        caption = say("For example, the memory after {line}.", **values)
    elif start.line in question.select_one(".mt-question").get_text():
        caption = say("The memory after {line}. Draw what the other lines change.", **values)
    else:
        caption = say(
            "The memory of a similar program, after {line}. Draw what the lines above would change.", **values
        )
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"
