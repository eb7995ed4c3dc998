"""A built page, and its pieces for the slides of a class of students: questions, stages and exercises."""

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

PLAN = "book/class.json"  # the plan of the class, which `teaching` describes
REMEMBER = "What to remember"  # the English title of a section in each chapter

Say: TypeAlias = Callable[..., str]  # translates a text into the language of the pages, as `frame_words.say` does


@dataclass(frozen=True)
class BuiltPage:
    """A built page, with the pieces that slides can show. A piece is an HTML element of the page."""

    name: str  # for example "chapters/03_views"
    text: str  # the HTML of the whole page

    @cached_property
    def body(self) -> Tag:
        """Return the `<article>` element, without the permalinks of headings, and with stages that start at once."""
        body = BeautifulSoup(self.text, "html.parser").article
        assert body is not None, self.name
        for link in body.select(".headerlink"):
            link.decompose()
        for stage in body.select("memory-stage, memory-figure"):
            # On a page, a lazy stage starts when the reader scrolls near to it. Slides do not scroll.
            del stage["loading"]
        return body

    @property
    def language(self) -> str:
        """Return the language tag of the page, for example "zh-CN"; "en" if the page has no tag."""
        named = re.search(r'<html[^>]* lang="([^"]+)"', self.text)
        return named.group(1) if named else "en"

    @property
    def title(self) -> str:
        """Return the heading of the page, for example "3. Views"."""
        return self.body.h1.get_text(strip=True)

    @cached_property
    def questions(self) -> list[Tag]:
        """Return all predictions of the page, in order."""
        return self.body.select("predict-first")

    def question(self, words: str) -> Tag:
        """Return the only question whose text contains these words."""
        pieces = {
            " ".join(question.select_one(".mt-question").get_text().split()): question for question in self.questions
        }
        return self._one("question with the words", words, pieces, lambda text: words in text)

    def stage(self, title: str) -> Tag:
        """Return the stage with this title, set to its first step, so that a class votes before it sees the answer."""
        pieces = {json.loads(stage.script.string)["title"]: stage for stage in self.body.select("memory-stage")}
        found = self._one("stage", title, pieces, lambda text: text == title)
        found["step"] = "1"
        return found

    def exercise(self, title: str) -> Tag:
        """Return the text and the unfinished code of the exercise whose bold title contains these words."""
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
        """Return the last paragraph that refers to a step of the stage with this title, and the paragraphs directly
        before it, in order. The list is empty if no paragraph refers to the stage.
        """
        marks = [mark for mark in self.body.select(".step-mark") if mark.get("data-stage") == title]
        if not marks:
            return []
        last = marks[-1].find_parent("p")
        earlier = takewhile(lambda each: each.name in ("p", "noscript"), last.find_previous_siblings(True))
        return [*reversed([each for each in earlier if each.name == "p"]), last]

    def help(self, title: str) -> tuple[Tag, Tag]:
        """Return the hint for the exercise whose bold title contains these words, and the code of its solution."""
        _, code = self._exercise(title)
        hint = code.find_next("details", class_="sd-dropdown").select_one(".sd-summary-content")
        return hint, code.find_next("details", class_="hide").find("div", class_="highlight")

    def to_remember(self, title: str = REMEMBER) -> Tag:
        """Return the list in the section with this title. For a page that is not English, pass the translated title."""
        heading = self.body.find(["h2", "h3"], string=lambda text: text and text.strip() == title)
        if heading is None:
            raise ExtensionError(f"{PLAN}: {self.name} has no section {title!r}.")
        return heading.find_next("ul")

    def _one(self, kind: str, words: str, pieces: dict[str, Tag], fits: Any) -> Tag:
        """Return the only piece for whose text ``fits`` returns True.

        Raises:
            ExtensionError: if no piece fits, or more than one.
        """
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
