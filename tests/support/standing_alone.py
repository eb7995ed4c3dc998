"""Find references of a question to the page around it, which a question bank or a printed sheet does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.question_bank import BankQuestion

#: Words that refer to another part of the page.
ELSEWHERE = re.compile(
    r"\b(?:above|below|as before|(?:this|the last|the next) (?:page|chapter|section|step)|"
    r"the (?:first|second|third|last|next) (?:program|question)|steps? \d)\b|\) again\."
)
#: First words that continue an earlier text.
CONTINUES = re.compile(r"^(?:Again|Now|Then|Each of the two|The (?:two|network))\b")
LINE = re.compile(r"\blines? (\d+)(?: (?:and|to|or) (\d+))?")


def references(question: BankQuestion) -> Iterator[str]:
    """Yield each part of a prediction that refers to the page around it, or to a line that its program lacks."""
    asked = [block.plain for block in question.text]
    explained = [block.plain for option in question.options for block in (*option.text, *option.feedback)]
    lines = max(len(block.splitlines()) for block in asked)
    if found := CONTINUES.search(asked[0]):
        yield f"{found.group()!r} begins {asked[0]!r}"
    for text in (*asked, *explained):
        for found in ELSEWHERE.finditer(text):
            yield f"{found.group()!r} in {text!r}"
        for found in LINE.finditer(text):
            if any(int(number) > lines for number in found.groups() if number):
                yield f"{found.group()!r} of a program with {lines} lines in {text!r}"
