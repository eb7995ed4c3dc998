"""A built page and the pieces of it that a class can use, such as a question, a stage or an exercise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

from bs4 import BeautifulSoup, Tag
from sphinx.errors import ExtensionError

PLAN = "book/class.json"
REMEMBER = "What to remember"  # the title of a section in each chapter

Say: TypeAlias = Callable[..., str]  # returns a text in the language of the pages, as `frame_words.say` does


@dataclass(frozen=True)
class BuiltPage:
    """A built page, with the pieces that slides can show."""

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
            del stage["loading"]  # started together with its slide, because slides do not scroll
        return body

    @property
    def language(self) -> str:
        """Return the language tag of the page, for example "zh-CN"; "en" if it names none."""
        named = re.search(r'<html[^>]* lang="([^"]+)"', self.text)
        return named.group(1) if named else "en"

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
        for blank in code.find_all(string=re.compile("\n{3,}")):
            blank.replace_with(re.sub("\n{3,}", "\n", blank))  # a slide has no room for blank lines
        return BeautifulSoup(f"<div>{text}{code}</div>", "html.parser").div

    def _exercise(self, title: str) -> tuple[Tag, Tag]:
        pieces = {bold.get_text(): bold.find_parent("p") for bold in self.body.select("p > strong:first-child")}
        text = self._one("exercise", title, pieces, lambda text: title in text)
        code = text.find_next("div", class_="highlight")
        if code is None:
            raise ExtensionError(f"{PLAN}: {self.name} has no code after the exercise {title!r}.")
        return text, code

    def paragraphs_of(self, title: str) -> list[Tag]:
        """Return the paragraphs after the stage with this title, up to the last one that refers to a step of it."""
        marks = [mark for mark in self.body.select(".step-mark") if mark.get("data-stage") == title]
        if not marks:
            return []
        last = marks[-1].find_parent("p")
        earlier = takewhile(lambda each: each.name in ("p", "noscript"), last.find_previous_siblings(True))
        return [*reversed([each for each in earlier if each.name == "p"]), last]

    def help(self, title: str) -> tuple[Tag, Tag]:
        """Return the hint for an exercise, and the code of its solution."""
        _, code = self._exercise(title)
        hint = code.find_next("details", class_="sd-dropdown").select_one(".sd-summary-content")
        return hint, code.find_next("details", class_="hide").find("div", class_="highlight")

    def to_remember(self, title: str = REMEMBER) -> Tag:
        """Return the list under "What to remember". The caller passes this title in the language of the page."""
        heading = self.body.find(["h2", "h3"], string=lambda text: text and text.strip() == title)
        if heading is None:
            raise ExtensionError(f"{PLAN}: {self.name} has no section {title!r}.")
        return heading.find_next("ul")

    def _one(self, kind: str, words: str, pieces: dict[str, Tag], fits: Any) -> Tag:
        found = [piece for text, piece in pieces.items() if fits(text)]
        if len(found) != 1:
            raise ExtensionError(
                f"{PLAN}: {self.name} has {len(found) or 'no'} {kind} {words!r}, not one. It has: "
                + "; ".join(repr(text[:90]) for text in pieces)
            )
        return found[0]


def kind_and_words(piece: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of a piece of the plan, such as "stage", and the words by which it is found on its page."""
    kind, words = next(iter(piece.items()))
    return kind, words
