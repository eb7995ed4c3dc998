"""Make the slides and papers for a class of students: the speaker's notes, handouts, a sheet of questions, and its key.

`book/class.json` is the plan of the class. It lists, for each part of the class, a page, the minutes, and the pieces to
show: questions, stages and exercises of the page, and programs that raise an error. The build copies the pieces from
the built pages, so slides, papers and chapters always agree. If a page lacks a piece of the plan, the build fails, and
the message lists the pieces that the page has.

The slides use reveal.js, from the package sphinx-revealjs.

An edition in another language has the same class if its folder contains a translation of the plan, such as
`zh/book/class.json`. The pieces are then copied from the pages of the edition. An edition has no slides with PyTorch's
names, and links to the English ones instead.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any

from bs4 import Tag
from jinja2 import Environment, FileSystemLoader
from sphinx.application import Sphinx

from memory_stage.web.embed import prose

from . import class_papers, class_vocabulary, frame_words
from .assets import BUNDLES, WORDS
from .built_page import PLAN, REMEMBER, BuiltPage, Say, kind_and_words
from .languages import Edition
from .translated import edition_of

FOLDER = "slides"  # the folder of the slides in the built book
REVEAL = ("dist/reveal.css", "dist/reveal.js", "LICENSE")
TEMPLATES = Path(__file__).parent / "theme" / "teaching"
# The decks of slides. A key is the prefix in the file names of the deck's papers. A value is the library from which the
# deck's programs have their names, and the file of the deck.
DECKS = {"": ("Paddle", "index.html"), "torch-": ("PyTorch", "torch.html")}


def write_class(app: Sphinx, exception: Exception | None) -> None:
    """Write the slides and papers of the class into a folder of the built book."""
    if exception or app.builder.format != "html":
        return
    plan = _plan(Path(app.srcdir), edition_of(app))
    if not plan:
        return
    say = partial(frame_words.say, app)
    book = {name: BuiltPage(name, _text(app, name)) for name in _pages(app)}
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    package = distribution("sphinx-revealjs")
    for name in REVEAL:
        source = Path(str(package.locate_file("sphinx_revealjs/_static/revealjs"))) / name
        shutil.copyfile(source, folder / f"reveal{Path(name).suffix or '.LICENSE'}")
    for source in (TEMPLATES / "deck.css", BUNDLES / "deck.js"):
        shutil.copyfile(source, folder / source.name)
    write = partial(_write, folder, _words_of_templates(edition_of(app), say))
    questions, answers = (_questions_of_chapters(book, answers=each) for each in (False, True))
    write("questions.html", "questions.html", questions=questions, answers=answers)
    if app.config.edition:
        torch = say("The English class has slides with those of PyTorch")
        _write_deck(write, "", plan, book, say, f"<a href='../../{FOLDER}/torch.html'>{torch}</a>")
    else:
        to_paddle, to_torch = (
            f"<a href='{file}'>The same class with those of {name}</a>" for name, file in DECKS.values()
        )
        _write_deck(write, "", plan, book, say, to_torch)
        _write_deck(write, "torch-", *class_vocabulary.in_other_names(plan, book, Path(app.srcdir)), say, to_paddle)


def _plan(source: Path, edition: Edition | None) -> dict[str, Any]:
    """Return the plan of the class in the language of the pages; an empty dict if this language has no plan."""
    if edition:
        return edition.data("class")
    path = source / PLAN
    plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return plan


def _words_of_templates(edition: Edition | None, say: Say) -> dict[str, Any]:
    """Return the values that depend on the language and that every template gets."""
    return {"say": say, "tag": edition.settings["tag"] if edition else "en", "words": WORDS if edition else ""}


def _write_deck(
    write: Callable[..., None], prefix: str, plan: dict[str, Any], book: dict[str, BuiltPage], say: Say, other: str
) -> None:
    """Write the slides of a class and their papers: notes, a sheet of questions, its key, and handouts.

    Args:
        write: a function that writes a file from a template.
        prefix: the beginning of the names of the papers' files, a key of `DECKS`.
        plan: the plan of the class.
        book: the pages that the class shows.
        say: a function that translates a text into the language of the pages.
        other: a link to the slides with the names of the other library.
    """
    names, index = DECKS[prefix]
    opening = say("The programs have the names of {names}. {other}.", names=names, other=other)
    write(index, "deck.html", title=plan["title"], slides="\n".join(_slides(plan, book, opening, say)))
    write(f"{prefix}notes.html", "notes.html", notes="\n".join(_notes(plan, book, say)))
    about = say("For students: tick one option of each.")
    sheet = class_papers.sheet(plan, book, say)
    write(f"{prefix}sheet.html", "paper.html", title=say("The questions of the class"), about=about, content=sheet)
    about = say("The letters of the sheet, and the mistake in each option.")
    key = class_papers.key(plan, book)
    write(f"{prefix}key.html", "paper.html", title=say("The key"), about=about, content=key)
    about = say("One page of A4 for each chapter, to print.")
    content = class_papers.hand_outs(book, say)
    write(f"{prefix}handouts.html", "paper.html", title=say("Hand-outs"), about=about, content=content)


def _aim(part: dict[str, Any]) -> str:
    """Return the aim of a part with a lower-case first letter, so that it can end a sentence."""
    return escape(part["aim"][0].lower() + part["aim"][1:])


def _slides(plan: dict[str, Any], book: dict[str, BuiltPage], opening: str, say: Say) -> Iterator[str]:
    shown = f"<h1>{escape(plan['title'])}</h1><p>{escape(plan['about'])}</p><p class='from'>{opening}</p>"
    yield _slide(shown, kind="opening")
    first = plan["opening"]
    yield _piece(book[first["page"]], "stage", book[first["page"]].stage(first["stage"]))
    asked = count(1)
    for number, part in enumerate(plan["parts"], 1):
        page = book[part["page"]]
        of = say(
            "{number} of {count}, {minutes} minutes", number=number, count=len(plan["parts"]), minutes=part["minutes"]
        )
        aim = say("Afterwards you can {aim}", aim=_aim(part))
        chapter = say("Chapter {title}", title=escape(page.title))
        yield _slide(
            f"<p class='count'>{of}</p><h2>{escape(part['title'])}</h2><p>{aim}</p>"
            f"<p class='from'><a href='../{page.name}.html'>{chapter}</a></p>",
            kind="part",
        )
        for piece in part["show"]:
            kind, words = kind_and_words(piece)
            if kind == "error":
                yield _slide(_error(words, piece["program"]), kind=kind)
                continue
            drawn = class_papers.draw_program(plan.get("pictures", {}).get(words, []), page.language)
            piece_of_page = getattr(page, kind)(words)
            if kind == "question":  # a question has the same number as on the sheet of questions
                piece_of_page.select_one(".mt-kind").string = say("Question {number}", number=next(asked))
            yield _piece(page, kind, piece_of_page, drawn)
    for name in plan["remember"]["pages"]:
        page = book[name]
        kept = page.to_remember(say(REMEMBER))
        yield _slide(f"<h2>{say(REMEMBER)}</h2>{_own_links(kept, page)}", kind="remember")
    home = "".join(f"<li>{prose(line)}</li>" for line in plan["remember"]["home"])
    yield _slide(f"<h2>{say('To take home')}</h2><ul>{home}</ul>", kind="remember")


def _error(words: str, program: list[str]) -> str:
    """Return a question about an error, with the numbered lines of the program that raises it and the error message."""
    lines = "".join(f"<li><code>{escape(line)}</code></li>" for line in program)
    message = f"<p class='message'><code>{escape(class_papers.message_of(program))}</code></p>"
    return f"<h2>{prose(words)}</h2><ol class='program'>{lines}</ol>{message}"


def _notes(plan: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> Iterator[str]:
    """Yield the notes for the speaker: for each slide the minutes, the words to say, and the task of the class."""
    slides, minute = count(3), 0  # the first part begins with slide 3, after the title and the opening stage

    def headed(kind: str, minutes: float, content: str, quiet: float = 0) -> str:
        nonlocal minute
        span = {"first": minute, "last": minute + minutes}
        heading = say("Slide {number}, minutes {first} to {last}: {kind}", number=next(slides), kind=kind, **span)
        minute += minutes
        return f"<section data-minutes='{minutes}' data-quiet='{quiet}'>\n<h3>{heading}</h3>\n{content}\n</section>"

    def over(part: dict[str, Any], title: str) -> str:
        span = {"first": minute, "last": minute + part["minutes"]}
        return say("Minutes {first} to {last}: {title}", title=escape(title), **span)

    kinds = {"say": say("say"), "question": say("question"), "stage": say("stage"), "exercise": say("exercise")}
    kinds["error"] = say("error")
    yield _opening_note(plan["opening"], book, say)
    for part in plan["parts"]:
        page = book[part["page"]]
        yield f"<h2>{over(part, part['title'])}</h2>\n<p>{say('Afterwards students can {aim}', aim=_aim(part))}</p>"
        yield headed(
            kinds["say"],
            part["minutes"] - sum(piece["minutes"] for piece in part["show"]),
            f"<p>{escape(part['say'])}</p>",
        )
        for number, piece in enumerate(part["show"], 1):
            kind, words = kind_and_words(piece)
            quiet = plan["quiet"][kind]
            if kind == "error":
                note = _error_note(words, piece["program"], quiet, say)
            else:
                is_before_stage = "stage" in next(iter(part["show"][number:]), {})
                note = _note(page, kind, words, quiet, say, before_stage=is_before_stage)
            if "note" in piece:
                note = f"{note}\n<p>{prose(piece['note'])}</p>"
            yield headed(kinds[kind], piece["minutes"], _own_links(note, page), quiet)
    last, quiet = plan["remember"], plan["quiet"]["remember"]
    yield f"<h2>{over(last, say(REMEMBER))}</h2>"
    values = {"count": len(last["pages"]) + 1, "minutes": _minutes(quiet, say)}
    done = _do(say("The last {count} slides. They read, mark and talk for {minutes}.", **values))
    yield headed(kinds["say"], last["minutes"], f"<p>{escape(last['say'])}</p>\n{done}", quiet)


def _opening_note(opening: dict[str, Any], book: dict[str, BuiltPage], say: Say) -> str:
    """Return the note for the opening stage. It is shown while people arrive, so it takes no minutes of the class."""
    trace = json.loads(book[opening["page"]].stage(opening["stage"]).script.string)
    task = _do(say("While people arrive. Let everybody write down an answer before you step."))
    heading = say("Slide 2, before the class: {kind}", kind=say("stage"))
    return f"<p><strong>{heading}</strong></p>\n<p>{prose(trace['ask'])}</p>\n{task}\n<p>{prose(opening['say'])}</p>"


def _error_note(words: str, program: list[str], quiet: float, say: Say) -> str:
    """Return the note for an error: the question about it, the program that raises it, and the task of the class."""
    lines = f"<pre>{escape(chr(10).join(program))}</pre>"
    task = say("Let them guess for {minutes}, and do not say who is right.", minutes=_minutes(quiet, say))
    return f"<p>{prose(words)}</p>\n{lines}\n{_do(task)}"


def _note(page: BuiltPage, kind: str, words: str, quiet: float, say: Say, before_stage: bool = False) -> str:
    """Return the note for a question, a stage or an exercise.

    Args:
        page: the page with the piece.
        kind: the kind of the piece: "question", "stage" or "exercise".
        words: the words by which the piece is found on the page.
        quiet: the minutes in which the speaker does not speak, because the class works or guesses.
        say: a function that translates a text into the language of the pages.
        before_stage: True if the next slide has a stage. If the piece is a question, this stage shows its answer.
    """
    if kind == "question":
        question = page.question(words)
        vote = say("They vote, compare with a neighbour, and vote again: {minutes}.", minutes=_minutes(quiet, say))
        if before_stage:
            then = say("Do not open <em>Answer</em> yet: step the next slide, and then come back for it.")
        else:
            then = say("Then open <em>Answer</em>.")
        vote = f"{vote} {then} {say('Read out the mistake that most of them chose.')}"
        return f"{_question_html(question)}\n{_do(vote)}\n{_answer(question)}"
    if kind == "exercise":
        hint, solution = page.help(words)
        done = _do(say("They work in pairs for {minutes}. Half-way, give the hint:", minutes=_minutes(quiet, say)))
        return f"{page.exercise(words)}\n{done}\n{hint}\n{_do(say('At the end, show a solution:'))}\n{solution}"
    trace = json.loads(page.stage(words).script.string)
    programs = "; ".join(f"<code>{escape(each['label'])}</code>" for each in trace["variants"] if each["label"])
    values = {"title": escape(words), "minutes": _minutes(quiet, say)}
    note = say("The stage <em>{title}</em>. Let them guess for {minutes}, then step it.", **values)
    if programs:
        choose = say(
            "Choose its programs one after the other, in the line of the code that differs: {programs}.",
            programs=programs,
        )
        note = f"{note} {choose}"
    ask = f"<p>{prose(trace['ask'])}</p>\n" if trace["ask"] else ""
    return (
        ask + _do(note) + "\n" + "\n".join(re.sub(r":</p>$", ".</p>", str(each)) for each in page.paragraphs_of(words))
    )


def _do(text: str) -> str:
    return f"<p class='do'>{text}</p>"


def _minutes(number: float, say: Say) -> str:
    short = {0.5: say("half a minute"), 1: say("one minute")}
    return short.get(number) or say("{count} minutes", count=number)


def _piece(page: BuiltPage, kind: str, piece: Tag, drawn: str = "") -> str:
    """Return the slide of a piece of a page. ``drawn`` is the HTML of a picture below the piece.

    If a program of a stage records operations for backward, the stage also draws their history. The slide then has the
    attribute `data-history`, and the style sheet enlarges the stage less, so that the history fits.
    """
    slide = _slide(_own_links(piece, page) + drawn, kind)
    if kind != "stage":
        return slide
    steps = [step for variant in json.loads(piece.script.string)["variants"] for step in variant["steps"]]
    has_history = any(event["do"] == "node" for step in steps for event in step["events"])
    return slide.replace("<section ", "<section data-history ", 1) if has_history else slide


def _slide(content: str, kind: str) -> str:
    return f'<section class="{kind}">\n{content}\n</section>'


def _own_links(piece: Tag | str, page: BuiltPage) -> str:
    """Return the HTML of a piece, with its links changed so that they work from the slides."""
    folder = "../" + page.name.rpartition("/")[0]
    return re.sub(r'(<a [^>]*href=")(?!https?:)([^"#]*)', rf"\g<1>{folder}/\g<2>", str(piece))


def _questions_of_chapters(book: dict[str, BuiltPage], *, answers: bool) -> str:
    """Return the questions of all numbered chapters with their options or, if ``answers`` is True, their answers."""
    sections = []
    for page in book.values():
        if re.search(r"/\d\d_", page.name) and (asked := page.questions):
            items = "\n".join(f"<li>{_answer(one) if answers else _question_html(one)}</li>" for one in asked)
            sections.append(f"<h3><a href='../{page.name}.html'>{escape(page.title)}</a></h3>\n<ol>\n{items}\n</ol>")
    return "\n".join(sections)


def _question_html(question: Tag) -> str:
    options = "".join(f"<li>{option.decode_contents()}</li>" for option in question.select(".mt-options > li"))
    return f"<p>{question.select_one('.mt-question').decode_contents()}</p>\n<ul class='options'>{options}</ul>"


def _answer(question: Tag) -> str:
    right = question.select_one(".mt-answer").decode_contents()
    why = question.select_one(".mt-why").decode_contents()
    others = question.select_one(".mt-others").decode_contents()
    proof = question.select_one(".mt-proof")
    shown = f" {proof.decode_contents()}" if proof else ""
    return f"<p><strong>{right}</strong></p><p>{why}{shown}</p>\n<dl>{others}</dl>"


def _write(folder: Path, known: dict[str, Any], name: str, template: str, **parts: str) -> None:
    """Write the file ``name`` from a template. ``known`` has values for all templates, ``parts`` those for this one."""
    loaded = Environment(loader=FileSystemLoader(TEMPLATES), keep_trailing_newline=True).get_template(template)
    (folder / name).write_text(loaded.render(**known, **parts), encoding="utf-8")


def _pages(app: Sphinx) -> list[str]:
    """Return the names of all pages but the first, in the order of the table of contents."""
    order, page = [], app.config.root_doc
    while page:
        order.append(page)
        _, _, page = app.builder.relations.get(page, (None, None, None))
    return order[1:]


def _text(app: Sphinx, page: str) -> str:
    return (Path(app.outdir) / f"{page}.html").read_text(encoding="utf-8")
