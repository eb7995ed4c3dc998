"""Make slides for a class from the chapters, and papers: notes, hand-outs and sheets of questions with their answers.

`book/class.json` lists the questions, stages and exercises of each part with their pages, and the minutes of a part.
They are copied from the built pages, so slides, sheet and chapters always agree. If the file names something that its
page lacks, the build fails with a list of the things that the page has.

The slides use reveal.js, from the package sphinx-revealjs.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.metadata import distribution
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from memory_stage.web.embed import prose

from . import class_papers, class_vocabulary
from .assets import BUNDLES

PLAN = "book/class.json"
FOLDER = "slides"  # in the built book
REVEAL = ("dist/reveal.css", "dist/reveal.js", "LICENSE")
TEMPLATES = Path(__file__).parent / "theme" / "teaching"
DECKS = {"": ("Paddle", "index.html"), "torch-": ("PyTorch", "torch.html")}  # by the prefix of their papers


@dataclass(frozen=True)
class BuiltPage:
    """A built page, and the pieces that slides can use."""

    name: str  # "chapters/03_views"
    text: str

    @cached_property
    def body(self) -> Tag:
        """Return the article, without the links of headings."""
        body = BeautifulSoup(self.text, "html.parser").article
        assert body is not None, self.name
        for link in body.select(".headerlink"):
            link.decompose()
        for stage in body.select("memory-stage, memory-figure"):
            del stage["loading"]  # it starts with its slide, because nothing scrolls there
        return body

    @property
    def title(self) -> str:
        """Return the heading of the page, for example "3. Views"."""
        return self.body.h1.get_text(strip=True)

    @property
    def questions(self) -> list[Tag]:
        """Return all predictions of the page, in order."""
        return self.body.select("predict-first")

    def question(self, words: str) -> Tag:
        """Return the only question with these words."""
        pieces = {
            " ".join(question.select_one(".mt-question").get_text().split()): question for question in self.questions
        }
        return self._one("question with the words", words, pieces, lambda text: words in text)

    def stage(self, title: str) -> Tag:
        """Return the stage with this title, opened at its first step, so that a class can vote before the answer."""
        pieces = {json.loads(stage.script.string)["title"]: stage for stage in self.body.select("memory-stage")}
        found = self._one("stage", title, pieces, lambda text: text == title)
        found["step"] = "1"
        return found

    def exercise(self, title: str) -> Tag:
        """Return the text and the unfinished code of the exercise with these words in its bold title."""
        text, code = self._exercise(title)
        return BeautifulSoup(f"<div>{text}{code}</div>", "html.parser").div

    def _exercise(self, title: str) -> tuple[Tag, Tag]:
        pieces = {bold.get_text(): bold.find_parent("p") for bold in self.body.select("p > strong:first-child")}
        text = self._one("exercise", title, pieces, lambda text: title in text)
        code = text.find_next("div", class_="highlight")
        if code is None:
            raise ExtensionError(f"{PLAN}: {self.name} has no code after the exercise {title!r}.")
        return text, code

    def paragraphs_of(self, title: str) -> list[Tag]:
        """Return the paragraphs after the stage with this title, up to the last one that names a step of it."""
        marks = [mark for mark in self.body.select(".step-mark") if mark.get("data-stage") == title]
        if not marks:
            return []
        last = marks[-1].find_parent("p")
        earlier = takewhile(lambda each: each.name in ("p", "noscript"), last.find_previous_siblings(True))
        return [*reversed([each for each in earlier if each.name == "p"]), last]

    def help(self, title: str) -> tuple[Tag, Tag]:
        """Return the hint of an exercise, and the code of its solution."""
        _, code = self._exercise(title)
        hint = code.find_next("details", class_="sd-dropdown").select_one(".sd-summary-content")
        return hint, code.find_next("details", class_="hide").find("div", class_="highlight")

    def to_remember(self) -> Tag:
        """Return the list under "What to remember"."""
        heading = self.body.find(["h2", "h3"], string=lambda text: text and text.strip() == "What to remember")
        if heading is None:
            raise ExtensionError(f"{PLAN}: {self.name} has no section 'What to remember'.")
        return heading.find_next("ul")

    def _one(self, kind: str, words: str, pieces: dict[str, Tag], fits: Any) -> Tag:
        found = [piece for text, piece in pieces.items() if fits(text)]
        if len(found) != 1:
            raise ExtensionError(
                f"{PLAN}: {self.name} has {len(found) or 'no'} {kind} {words!r}, not one. It has: "
                + "; ".join(repr(text[:90]) for text in pieces)
            )
        return found[0]


def write_class(app: Sphinx, exception: Exception | None) -> None:
    """Write the slides and the sheet of questions beside the pages."""
    if exception or app.builder.format != "html":
        return
    if app.config.edition or not (Path(app.srcdir) / PLAN).exists():
        return  # a book without a class, or in another language: the slides have English words
    plan = json.loads((Path(app.srcdir) / PLAN).read_text(encoding="utf-8"))
    book = {name: BuiltPage(name, _text(app, name)) for name in _pages(app)}
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    package = distribution("sphinx-revealjs")
    for name in REVEAL:
        source = Path(str(package.locate_file("sphinx_revealjs/_static/revealjs"))) / name
        shutil.copyfile(source, folder / f"reveal{Path(name).suffix or '.LICENSE'}")
    for source in (TEMPLATES / "deck.css", BUNDLES / "deck.js"):
        shutil.copyfile(source, folder / source.name)
    _write(folder / "questions.html", "questions.html", questions=_sheet(book, ""), answers=_sheet(book, "answers"))
    about = "One page of A4 for each chapter, to print."
    _write(folder / "handouts.html", "paper.html", title="Hand-outs", about=about, content=class_papers.hand_outs(book))
    _write_deck(folder, "", plan, book)
    _write_deck(folder, "torch-", *class_vocabulary.in_other_names(plan, book, Path(app.srcdir)))


def _write_deck(folder: Path, prefix: str, plan: dict[str, Any], book: dict[str, BuiltPage]) -> None:
    """Write the slides of a class, and the papers that belong to them: notes, sheet and key."""
    names, index = DECKS[prefix]
    others = [f"<a href='{file}'>{name}</a>" for name, file in DECKS.values() if name != names]
    opening = f"The programs have the names of {names}. The same class with those of {' or '.join(others)}."
    _write(folder / index, "deck.html", title=plan["title"], slides="\n".join(_slides(plan, book, opening)))
    _write(folder / f"{prefix}notes.html", "notes.html", notes="\n".join(_notes(plan, book)))
    papers = {
        "sheet": (
            "The questions of the class",
            "For students: tick one option of each.",
            class_papers.sheet(plan, book),
        ),
        "key": ("The key", "The letters of the sheet, and the mistake in each option.", class_papers.key(plan, book)),
    }
    for name, (title, about, content) in papers.items():
        _write(folder / f"{prefix}{name}.html", "paper.html", title=title, about=about, content=content)


def kind_and_words(piece: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of a piece of the plan, such as "stage", and the words that find it on its page."""
    kind, words = next(iter(piece.items()))
    return kind, words


def _aim(part: dict[str, Any]) -> str:
    """Return the aim of a part as the continuation of a sentence."""
    return escape(part["aim"][0].lower() + part["aim"][1:])


def _slides(plan: dict[str, Any], book: dict[str, BuiltPage], opening: str) -> Iterator[str]:
    shown = f"<h1>{escape(plan['title'])}</h1><p>{escape(plan['about'])}</p><p class='from'>{opening}</p>"
    yield _slide(shown, kind="opening")
    for number, part in enumerate(plan["parts"], 1):
        page = book[part["page"]]
        yield _slide(
            f"<p class='count'>{number} of {len(plan['parts'])}, {part['minutes']} minutes</p>"
            f"<h2>{escape(part['title'])}</h2><p>Afterwards you can {_aim(part)}</p>"
            f"<p class='from'><a href='../{page.name}.html'>Chapter {escape(page.title)}</a></p>",
            kind="part",
        )
        for piece in part["show"]:
            kind, words = kind_and_words(piece)
            drawn = class_papers.draw_program(plan.get("pictures", {}).get(words, []))
            yield _slide(_own_links(getattr(page, kind)(words), page) + drawn, kind=kind)
    for name in plan["remember"]["pages"]:
        page = book[name]
        yield _slide(f"<h2>What to remember</h2>{_own_links(page.to_remember(), page)}", kind="remember")


def _notes(plan: dict[str, Any], book: dict[str, BuiltPage]) -> Iterator[str]:
    """Return the notes for the speaker: for each slide its minutes, the words to say, and what the class does."""
    slides, minute = count(2), 0

    def headed(kind: str, minutes: float, content: str, quiet: float = 0) -> str:
        nonlocal minute
        heading = f"Slide {next(slides)}, minutes {minute} to {minute + minutes}: {kind}"
        minute += minutes
        return f"<section data-minutes='{minutes}' data-quiet='{quiet}'>\n<h3>{heading}</h3>\n{content}\n</section>"

    for part in plan["parts"]:
        page = book[part["page"]]
        shown = [(kind_and_words(piece), piece["minutes"]) for piece in part["show"]]
        yield (
            f"<h2>Minutes {minute} to {minute + part['minutes']}: {escape(part['title'])}</h2>\n"
            f"<p>Afterwards students can {_aim(part)}</p>"
        )
        yield headed("say", part["minutes"] - sum(minutes for _, minutes in shown), f"<p>{escape(part['say'])}</p>")
        for (kind, words), minutes in shown:
            quiet = plan["quiet"][kind]
            yield headed(kind, minutes, _own_links(_note(page, kind, words, quiet), page), quiet)
    last, quiet = plan["remember"], plan["quiet"]["remember"]
    yield f"<h2>Minutes {minute} to {minute + last['minutes']}: What to remember</h2>"
    done = _do(f"The last {len(last['pages'])} slides. They read, mark and talk for {_minutes(quiet)}.")
    yield headed("say", last["minutes"], f"<p>{escape(last['say'])}</p>\n{done}", quiet)


def _note(page: BuiltPage, kind: str, words: str, quiet: float) -> str:
    """Return the note on a question, a stage or an exercise."""
    if kind == "question":
        question = page.question(words)
        vote = f"They vote, compare with a neighbour, and vote again: {_minutes(quiet)}. Then open <em>Answer</em>."
        return f"{_asked(question)}\n{_do(vote)}\n{_answer(question)}"
    if kind == "exercise":
        hint, solution = page.help(words)
        done = _do(f"They work in pairs for {_minutes(quiet)}. Half-way, give the hint:")
        return f"{page.exercise(words)}\n{done}\n{hint}\n{_do('At the end, show a solution:')}\n{solution}"
    trace = json.loads(page.stage(words).script.string)
    programs = ", ".join(f"<code>{escape(each['label'])}</code>" for each in trace["variants"] if each["label"])
    choose = f" Choose its programs one after the other: {programs}." if programs else ""
    ask = f"<p>{prose(trace['ask'])}</p>\n" if trace["ask"] else ""
    pause = _do(f"The stage <em>{escape(words)}</em>. Let them guess for {_minutes(quiet)}, then step it.{choose}")
    return ask + pause + "\n" + "\n".join(re.sub(r":</p>$", ".</p>", str(each)) for each in page.paragraphs_of(words))


def _do(text: str) -> str:
    return f"<p class='do'>{text}</p>"


def _minutes(number: float) -> str:
    return {0.5: "half a minute", 1: "one minute"}.get(number, f"{number} minutes")


def _slide(content: str, kind: str) -> str:
    return f'<section class="{kind}">\n{content}\n</section>'


def _own_links(piece: Tag | str, page: BuiltPage) -> str:
    """Return the HTML of a piece, with its links changed so that they work from the slides."""
    folder = "../" + page.name.rpartition("/")[0]
    return re.sub(r'(<a [^>]*href=")(?!https?:)([^"#]*)', rf"\g<1>{folder}/\g<2>", str(piece))


def _sheet(book: dict[str, BuiltPage], kind: str) -> str:
    """Return all questions of all chapters; ``"answers"`` adds the right option and the mistakes in the others."""
    sections = []
    for page in book.values():
        if re.search(r"/\d\d_", page.name) and (asked := page.questions):
            items = "\n".join(f"<li>{_answer(one) if kind else _asked(one)}</li>" for one in asked)
            sections.append(f"<h3><a href='../{page.name}.html'>{escape(page.title)}</a></h3>\n<ol>\n{items}\n</ol>")
    return "\n".join(sections)


def _asked(question: Tag) -> str:
    options = "".join(f"<li>{option.decode_contents()}</li>" for option in question.select(".mt-options > li"))
    return f"<p>{question.select_one('.mt-question').decode_contents()}</p>\n<ul class='options'>{options}</ul>"


def _answer(question: Tag) -> str:
    right = question.select_one(".mt-answer").decode_contents()
    why = question.select_one(".mt-why").decode_contents()
    others = question.select_one(".mt-others").decode_contents()
    proof = question.select_one(".mt-proof")
    shown = f" {proof.decode_contents()}" if proof else ""
    return f"<p><strong>{right}</strong></p><p>{why}{shown}</p>\n<dl>{others}</dl>"


def _write(file: Path, template: str, **parts: str) -> None:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    file.write_text(text, encoding="utf-8")


def _pages(app: Sphinx) -> list[str]:
    """Return the chapters in the order of the table of contents."""
    order, page = [], app.config.root_doc
    while page:
        order.append(page)
        _, _, page = app.builder.relations.get(page, (None, None, None))
    return order[1:]


def _text(app: Sphinx, page: str) -> str:
    return (Path(app.outdir) / f"{page}.html").read_text(encoding="utf-8")
