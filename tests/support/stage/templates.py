"""List the message templates in the source of ``memory_stage.sentences``, and find the templates that a sentence was
made of.

While ``marked()`` is active, each text contains an invisible mark, so that the texts in a sentence can be recognized.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import memory_stage.sentences
from memory_stage.recorder import steps  # noqa: F401  this import loads all of memory_stage.sentences

PACKAGE = memory_stage.sentences.__name__
FOLDER = Path(memory_stage.sentences.__file__).parent
#: The texts of this module are left out, because only the programs in ``tests/memory_stage/peers`` produce them.
OF_FRAMEWORKS = "frameworks"
FEWEST_WORDS = 4  # texts with fewer words are names or amounts, and are not listed
FIRST_MARK = 0xE000  # the first character of Unicode's private use area


@cache
def texts() -> list[str]:
    """Return all texts as ``file: text``, with ``{}`` for the variable parts. A text with a plural is listed in the
    singular.
    """
    found = (f"{path.stem}: {_text(forms)}" for path in _files() for forms in _said(_tree(path)))
    return list(dict.fromkeys(found))


@contextmanager
def marked() -> Iterator[None]:
    """Mark every text while the context is active."""
    order = texts()
    modules = {path: sys.modules[f"{PACKAGE}.{path.stem}"] for path in _files()}
    before = {path: dict(vars(module)) for path, module in modules.items()}
    try:
        for path in [*modules, *modules]:  # the second pass also marks texts that other modules have imported
            tree = _tree(path)
            for forms in _said(tree):
                mark = chr(FIRST_MARK + order.index(f"{path.stem}: {_text(forms)}"))
                for node in forms:
                    _mark(node, mark)
            exec(compile(tree, str(path), "exec", dont_inherit=True), vars(modules[path]))
        yield
    finally:
        for path, module in modules.items():
            vars(module).update(before[path])


def texts_in(sentence: str) -> list[str]:
    """Return the texts that make up a sentence produced under ``marked()``."""
    order = texts()
    return [order[ord(each) - FIRST_MARK] for each in sentence if _is_mark(each)]


def plain(sentence: str) -> str:
    """Return the sentence without marks."""
    return "".join(each for each in sentence if not _is_mark(each))


def _is_mark(character: str) -> bool:
    return FIRST_MARK <= ord(character) < FIRST_MARK + 0x1000


def _files() -> list[Path]:
    return [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("__init__", OF_FRAMEWORKS)]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _said(tree: ast.Module) -> list[list[ast.Constant]]:
    """Return, for each message with at least FEWEST_WORDS words, a list with its text, or with its singular and its
    plural.
    """
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    counts = {"message": 1, "plural": 2}  # how many of the first arguments are texts
    said = [[each for each in call.args[: counts.get(call.func.id, 0)]] for call in calls]
    return [forms for forms in said if forms and _count_words(_text(forms)) >= FEWEST_WORDS]


def _count_words(text: str) -> int:
    """Return the number of words outside of code."""
    return len(re.findall("[a-z]{2,}", re.sub("`[^`]*`", "", text)))


def _text(forms: list[ast.Constant]) -> str:
    return re.sub(r"\{\w+\}", "{}", forms[0].value)


def _mark(node: ast.Constant, mark: str) -> None:
    """Insert the mark after the first space, because the first letter may be changed to a capital."""
    node.value = node.value.replace(" ", f" {mark}", 1)
