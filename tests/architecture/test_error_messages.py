"""An error about a wrong argument says what the argument must be, and not what it "is" or "holds"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tools.build import ROOT

FILES = sorted(file for folder in ("minitensor", "memory_stage", "book_kit") for file in (ROOT / folder).rglob("*.py"))

#: Matches a clause such as "p is a probability, not {}". A reader can take it for a statement about the given value.
STATEMENT = re.compile(r"[^.;:]*\b(?:is|are|holds?|has|goes?) [^.;:]*, (?:not|got) (?:\w+ )?\{\}")
RULE = re.compile(r"\b(?:must|may|can|should|takes?|supports?)\b|\bisn't\b")


def texts(source: str) -> Iterator[str]:
    """Yield the texts of the errors that a module creates, with ``{}`` for each value in them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("Error"):
            for text in ast.walk(node.args[0]):
                if isinstance(text, ast.JoinedStr):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in text.values)


def statements(source: str) -> list[str]:
    """Return the texts that state what an argument is instead of what it must be."""
    return [text for text in texts(source) if (found := STATEMENT.search(text)) and not RULE.search(found[0])]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{op}: p is a probability, not {p}", True),
        ("x holds floats, not {x.dtype}", True),
        ("{name} is at least 1, got {number}", True),
        ("{op}: p must be a probability, not {p}", False),
        ("x is a view, so it must be written through its base, not {x}", False),
        ("the tensor is on {x.place}", False),
    ],
)
def test_a_statement_about_an_argument_is_found(text: str, wrong: bool):
    assert bool(statements(f"raise ValueError(f{text!r})")) is wrong


def test_errors_say_what_an_argument_must_be():
    assert {str(file.relative_to(ROOT)): found for file in FILES if (found := statements(file.read_text()))} == {}
