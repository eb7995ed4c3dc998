"""The sentences that the stage can say, as they stand in the source of ``wording``: the constant parts of its texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import minitensor.stage.wording

FOLDER = Path(minitensor.stage.wording.__file__).parent
FEWEST_WORDS = 4  # of a text that is (a part of) a sentence


def templates() -> dict[str, re.Pattern[str]]:
    """By ``file: text``, with ``{}`` for what differs: what a text looks like when it is said."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            pattern = ".*?".join(re.escape(part) for part in text.split("{}"))
            found[f"{path.stem}: {text}"] = re.compile(pattern, re.DOTALL)
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and _documents(node)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else "{}" for each in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside:
            text = node.value
        else:
            continue
        if len(re.findall(r"[a-z]{2,}", text.replace("{}", " "))) >= FEWEST_WORDS:
            yield text


def _documents(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return bool(node.body) and ast.get_docstring(node) is not None
