"""List the texts in the source of ``memory_stage.sentences``, and find the texts in a sentence.

While ``marked()`` is active, each text carries an invisible mark, so that a sentence shows which texts it is made of.
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
#: No program of this package produces the texts of this module. The programs in ``tests/memory_stage/peers`` do.
OF_FRAMEWORKS = "frameworks"
FEWEST_WORDS = 4  # of a text that is (a part of) a sentence
FIRST_MARK = 0xE000  # Unicode's private use


@cache
def texts() -> list[str]:
    """Return all texts as ``file: text``, with ``{}`` for the variable parts."""
    found = (f"{path.stem}: {_text(node)}" for path in _files() for node in _said(_tree(path)))
    return list(dict.fromkeys(found))


@contextmanager
def marked() -> Iterator[None]:
    """Mark every text while the context is active."""
    order = texts()
    modules = {path: sys.modules[f"{PACKAGE}.{path.stem}"] for path in _files()}
    before = {path: dict(vars(module)) for path, module in modules.items()}
    try:
        for path in [*modules, *modules]:  # the second pass also marks imported texts
            tree = _tree(path)
            for node in _said(tree):
                _mark(node, chr(FIRST_MARK + order.index(f"{path.stem}: {_text(node)}")))
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


def _said(tree: ast.Module) -> list[ast.JoinedStr | ast.Constant]:
    """Yield the texts that a sentence may contain: no docstring, no compared string, no message of an assertion."""
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            assert isinstance(node.body[0], ast.Expr)
            silent.add(id(node.body[0].value))
        elif isinstance(node, ast.Compare):
            silent.update(id(part) for each in (node.left, *node.comparators) for part in ast.walk(each))
        elif isinstance(node, ast.Assert):
            silent.update(id(part) for part in ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            silent.update(id(part) for part in node.values)
    strings = (node for node in ast.walk(tree) if id(node) not in silent)
    return [node for node in strings if isinstance(node, (ast.JoinedStr, ast.Constant)) and _is_long(node)]


def _is_long(node: ast.JoinedStr | ast.Constant) -> bool:
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return False
    return len(re.findall(r"[a-z]{2,}", _text(node).replace("{}", " "))) >= FEWEST_WORDS


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)


def _mark(node: ast.JoinedStr | ast.Constant, mark: str) -> None:
    """Put the mark after the first space, because sentences are cut and continued at their ends."""
    parts = [node] if isinstance(node, ast.Constant) else node.values
    part = next(each for each in parts if isinstance(each, ast.Constant) and " " in str(each.value))
    part.value = str(part.value).replace(" ", f" {mark}", 1)
