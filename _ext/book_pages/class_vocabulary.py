"""Make the slides of a class of students with PyTorch's names, although the chapters use Paddle's names.

`book/class_torch.json` has pairs of a text and its replacement. This module finds the cells that make the questions and
stages of the class, replaces the texts in their source, and runs the changed cells with `minitensor.torch` in a
separate process. So every answer is computed again, and every stage is recorded again. If the answer to a question is
none of its options, the build fails. The texts are also replaced in the prose and code that the slides quote from the
pages. If the text of a pair occurs nowhere, the build fails.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

from .built_page import BuiltPage, kind_and_words
from .exercise_cells import needed_before

VOCABULARY = "book/class_torch.json"
# functions with a lasting effect: they change how later cells run, or the output of later cells
SETTINGS = frozenset({"set_device", "set_depth", "empty_cache"})
START = """
%load_ext book_kit
import minitensor as mt
import minitensor.torch as torch
from book_kit import stage
"""
RESET = "mt.set_device('cpu')\nstage.set_depth(None)\n"
# This program reads a JSON list of cells, runs them in one shell, and prints a JSON list of the HTML that they display.
RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell, shown = InteractiveShell.instance(), []
shell.run_line_magic("colors", "nocolor")
for source in json.load(sys.stdin):
    with capture_output() as captured:
        done = shell.run_cell(source)
    if not done.success:
        sys.exit(source + "\\n" + captured.stdout)
    bundles = [each.data for each in captured.outputs]
    bundles += [] if done.result is None else [shell.display_formatter.format(done.result)[0]]
    shown.append("".join(each.get("text/html", "") for each in bundles))
print(json.dumps(shown))
"""
STAGE_TITLE = re.compile(r'^%%stage .*--title "([^"]+)"')


@dataclass
class TextPairs:
    """Pairs of a text and its replacement, for one page."""

    own: list[list[str]]  # the pairs only for this page
    general: list[list[str]]  # the pairs for all pages, which are applied after the others
    found: set[str] = field(default_factory=set)  # the texts that were replaced at least once

    def apply(self, text: str) -> str:
        """Return the text with all replacements, in their order."""
        for old, new in (*self.own, *self.general):
            if old in text:
                self.found.add(old)
                text = text.replace(old, new)
        return text


def in_other_names(
    plan: dict[str, Any], book: dict[str, BuiltPage], root: Path
) -> tuple[dict[str, Any], dict[str, BuiltPage]]:
    """Return the plan of a class, and its pages, with PyTorch's names.

    Args:
        plan: the class, in the form of `book/class.json`.
        book: the built pages.
        root: the folder of the book's sources.

    Raises:
        ExtensionError: if a text to replace occurs nowhere, if not exactly one cell makes a question or stage of the
            plan, or if a changed cell fails.
    """
    vocabulary = json.loads((root / VOCABULARY).read_text(encoding="utf-8"))
    pairs_of = {
        name: TextPairs(vocabulary["pages"].get(name, []), vocabulary["replace"]) for name in _pieces_by_page(plan)
    }
    changed = {
        name: [_with_names(source) for source in _sources(pieces, root, name)]
        for name, pieces in _pieces_by_page(plan).items()
    }
    changed = {name: list(map(pairs_of[name].apply, sources)) for name, sources in changed.items()}
    ran = iter(_run([source for sources in changed.values() for source in sources], root))
    pages = {}
    for name, sources in changed.items():
        made = [next(ran) for _ in sources]
        pages[name] = _page(book[name], "".join(made), pairs_of[name])
    parts = [_with_words(part, pairs_of[part["page"]]) for part in plan["parts"]]
    opening = {"opening": _with_words(plan["opening"], pairs_of[plan["opening"]["page"]])} if "opening" in plan else {}
    everywhere = TextPairs([], vocabulary["replace"])
    pictures = {title: list(map(everywhere.apply, lines)) for title, lines in plan.get("pictures", {}).items()}
    found = everywhere.found.union(*(each.found for each in pairs_of.values()))
    pairs = [*vocabulary["replace"], *(pair for own in vocabulary["pages"].values() for pair in own)]
    if unused := [old for old, _ in pairs if old not in found]:
        raise ExtensionError(f"{VOCABULARY}: these texts are found nowhere: {unused}")
    return {**plan, **opening, "parts": parts, "pictures": pictures}, pages


def _with_words(part: Any, pairs: TextPairs) -> Any:
    """Return a part of the plan with the pairs applied to all its texts."""
    match part:
        case str():
            return pairs.apply(part)
        case list():
            return [_with_words(each, pairs) for each in part]
        case dict():
            return {key: _with_words(each, pairs) for key, each in part.items()}
    return part


def _pieces_by_page(plan: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Return the pieces that a class shows, in order, keyed by the name of their page.

    The list is empty for a page of which the class shows only the section "What to remember".
    """
    shown = {plan["opening"]["page"]: [{"stage": plan["opening"]["stage"]}]} if "opening" in plan else {}
    for part in plan["parts"]:
        shown.setdefault(part["page"], []).extend(part["show"])
    return shown | {name: [] for name in plan["remember"]["pages"] if name not in shown}


def _sources(pieces: list[dict[str, str]], root: Path, name: str) -> Iterator[str]:
    """Yield each cell that makes one of these questions or stages, preceded by the earlier statements that it needs."""
    cells = [
        each.source for each in jupytext.read(root / f"{name}.md", fmt="md:myst").cells if each.cell_type == "code"
    ]
    for piece in pieces:
        kind, words = kind_and_words(piece)
        if kind in ("question", "stage"):
            number = _cell_of(cells, kind, words, name)
            yield RESET + needed_before(cells, number, SETTINGS)
            yield cells[number]


def _run(sources: list[str], root: Path) -> list[str]:
    """Run cells one after the other in a separate process, in the folder of the chapters, and return their HTML."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([START, *sources]),
        cwd=root / "chapters",
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise ExtensionError(f"{VOCABULARY}: a cell with other names fails.\n{ran.stdout}\n{ran.stderr}")
    shown: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return shown[1:]


def _cell_of(cells: list[str], kind: str, words: str, name: str) -> int:
    """Return the index of the only cell that asks a question with these words, or makes a stage with this title."""
    if kind == "question":
        found = [number for number, cell in enumerate(cells) if words in _question_of(cell)]
    else:
        found = [number for number, cell in enumerate(cells) if words in _titles(cell)]
    if len(found) != 1:
        raise ExtensionError(f"{name}: {len(found) or 'no'} cells make the {kind} {words!r}, not one")
    return found[0]


def _question_of(cell: str) -> str:
    """Return the question that a cell asks, without backticks and on one line, as on a page; an empty text if the cell
    asks none.
    """
    for call in _calls(cell):
        match call:
            case ast.Call(func=ast.Name("predict"), args=[ast.Constant(str(question)), *_]):
                return " ".join(question.replace("`", "").split())
    return ""


def _titles(cell: str) -> set[str]:
    """Return the titles of the stages that a cell makes."""
    if magic := STAGE_TITLE.match(cell):
        return {magic.group(1)}
    titles = (keyword.value for call in _calls(cell) for keyword in call.keywords if keyword.arg == "title")
    return {title.value for title in titles if isinstance(title, ast.Constant)}


def _calls(cell: str) -> list[ast.Call]:
    return [node for node in ast.walk(_tree(cell)) if isinstance(node, ast.Call)]


def _tree(cell: str) -> ast.Module:
    """Return the syntax tree of a cell without IPython's commands; an empty tree if the cell has a cell magic."""
    if cell.startswith("%%"):
        return ast.Module([], [])
    return ast.parse("\n".join("" if line.startswith("%") else line for line in cell.splitlines()))


def _with_names(cell: str) -> str:
    """Return a cell in which the programs of stages can use the name `torch`.

    Parsing joins a string that is written as several adjacent literals, so a pair with the whole string matches the
    result.
    """
    if cell.startswith("%%"):
        return cell
    tree = _tree(cell)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("stage"), attr="compare" | "record")):
                names = ast.Dict([ast.Constant("torch")], [ast.Name("torch")])
                others = [keyword for keyword in node.keywords if keyword.arg != "namespace"]
                node.keywords = [*others, ast.keyword("namespace", names)]
    return ast.unparse(tree)


def _page(page: BuiltPage, made: str, pairs: TextPairs) -> BuiltPage:
    """Return a copy of a page with the replaced texts, and with the questions and stages from the HTML ``made``."""
    body = BeautifulSoup(str(page.body), "html.parser")
    for old in body.select("predict-first, memory-stage, memory-figure, noscript, svg"):
        old.decompose()
    for code in body.select(":not(pre) > code"):
        # The text of a pair may span several coloured tokens, so each <code> gets one text node without markup.
        code.string, code.attrs = code.get_text(), {}
    changed = BeautifulSoup(pairs.apply(str(body)), "html.parser")
    assert changed.article is not None, page.name
    changed.article.extend(BeautifulSoup(made, "html.parser").select("predict-first, memory-stage"))
    return type(page)(page.name, str(changed))
