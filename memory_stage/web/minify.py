"""Scripts of a page: several files as one, and less what only their authors read.

Comments, indentation and ends of lines that end no statement go; of spaces between two words one stays. Names stay
names, and no text in quotes, template or regular expression is touched: what an error message or a debugger quotes is
still the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from memory_stage.web.embed import asset

_WORD = re.compile(r"[\w$]+")
_SPACE = re.compile(r"[ \t]+")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/\w*")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(`|\$\{)", re.DOTALL)

# Before these no value has ended, so a slash begins a regular expression; after a value it divides.
_VALUE_TO_COME = frozenset("(,=:[!&|?{};+-*%<>~^")
_GOES_ON = frozenset(";{,(&|?:")
_WORDS_BEFORE_VALUE = frozenset(
    ("await", "case", "delete", "do", "else", "in", "instanceof", "new", "of", "return", "throw", "typeof", "yield")
)


def one_script(title: str, name: str, parts: Sequence[str], style: str, exports: str) -> str:
    """Assets as one classic script that leaves ``exports`` in the global ``name``; a second copy does nothing.

    Args:
        title: what the first line, which tells the licence, calls it.
        parts: files of the assets; in this order they are one program.
        style: the style sheet, a file of the assets; it goes where a part says ``const STYLE = '';``.
    """
    body = lighten("\n".join(asset(part) for part in parts))
    placeholder = "const STYLE='';"
    if body.count(placeholder) != 1:
        raise RuntimeError(f"{parts[-1]} must hold \"const STYLE = '';\" exactly once: the style sheet goes there")
    body = body.replace(placeholder, f"const STYLE={json.dumps(lighten_style(asset(style)))};")
    return (
        f"/* {title} of the book In Place. Licence: Apache-2.0. */\n"
        f"globalThis.{name} ??= (() => {{\n'use strict';\n{body}return {{ {exports} }};\n}})();\n"
    )


def lighten_style(sheet: str) -> str:
    """``sheet`` without comments and without the space around its punctuation; in quotes none may stand."""
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    sheet = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", sheet))
    return re.sub(r"(?<=[\w-]): ", ":", sheet).replace(";}", "}").strip()


def lighten(source: str) -> str:
    """``source`` without comments and indentation; every statement means what it meant.

    Args:
        source: a script whose quotes, templates and brackets are closed. A regular expression may not follow a
            closing parenthesis, where this module would take its slash for a division.

    Raises:
        ValueError: for a text, a comment or a template that does not end.
    """
    out: list[str] = []
    open_braces: list[int] = []  # for each template that is open, the braces open inside its ${...}
    last = ""  # the last token that is neither space nor comment
    at = 0
    while at < len(source):
        here = source[at]
        if here in " \t":
            at = _match(_SPACE, source, at).end()
            # Kept where it separates two words, or two signs that would read as one ("a + +b").
            if out and at < len(source) and _sticks(out[-1][-1:], source[at]):
                out.append(" ")
            continue
        if here == "\n":
            while out and out[-1] == " ":
                out.pop()
            # What ends so goes on, or has ended, without a new line.
            if out and not out[-1].endswith("\n") and out[-1] not in _GOES_ON:
                out.append("\n")
            at += 1
            continue
        if source.startswith(("//", "/*"), at):
            comment = _match(_COMMENT, source, at)
            at = comment.end()
            between = "\n" if "\n" in comment[0] else " "
            if out and not out[-1].endswith(("\n", " ")) and at < len(source) and source[at] not in " \t\n":
                out.append(between)
            continue
        if here in "'\"":
            token = _match(_STRING, source, at)[0]
        elif here == "/" and (not last or last[-1] in _VALUE_TO_COME or last in _WORDS_BEFORE_VALUE):
            token = _match(_PATTERN, source, at)[0]
        elif here == "`" or (here == "}" and open_braces and open_braces[-1] == 0):
            # a template begins, or goes on after ${...}
            if here == "}":
                open_braces.pop()
            token = here + _match(_TEMPLATE, source, at + 1)[0]
            if token.endswith("${"):
                open_braces.append(0)
        elif word := _WORD.match(source, at):
            token = word[0]
        else:
            token = here
            if open_braces and here in "{}":
                open_braces[-1] += 1 if here == "{" else -1
        out.append(token)
        at += len(token)
        last = token
    return "".join(out).strip() + "\n"


def _sticks(left: str, right: str) -> bool:
    """Whether two neighbours would read as something else without the space between them."""
    wordlike = (left.isalnum() or left in "_$") and (right.isalnum() or right in "_$")
    return wordlike or (left in "+-/" and right in "+-/*") or (left == "?" and right in ".0123456789")


def _match(pattern: re.Pattern[str], source: str, at: int) -> re.Match[str]:
    found = pattern.match(source, at)
    if found is None:
        line = source.count("\n", 0, at) + 1
        raise ValueError(f"line {line} of the script begins something that does not end: {source[at : at + 30]!r}")
    return found
