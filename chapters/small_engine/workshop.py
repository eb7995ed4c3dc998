"""The workshop of chapter 16: its cells have the lines of an engine, and the judge runs after each step.

    %load_ext small_engine.workshop

* ``%%engine PART``: the lines of the cell are a part of the first engine. If the cell runs again, it replaces its part.
* ``%%step NUMBER``: the cell is a diff, which changes the engine of the previous step. It shows the diff, and the
  verdicts of the judge on all steps so far.

There is no other copy of these lines: the lines that a cell shows are those that run. After the last step the text is
that of ``engine.py``, which readers can copy.

An edition in another language has its own ``engine.py`` and ``judge.py`` in a folder of this name beside its pages.
Python finds these first, because ``small_engine`` is a namespace package.
"""

from __future__ import annotations

import ast
import functools
import html
import linecache
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from book_kit.questions import verdicts
from book_kit.questions.verdicts import Verdicts

from . import judge

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

FINISHED = Path(__file__).with_name("engine.py")
HUNK = re.compile(r"^@@ -(\d+).*\n((?:[ +-].*\n|\n)+)", re.MULTILINE)
#: A cell of the chapter that begins with one of the two magics.
CELL = re.compile(r"^%%(engine|step) (.+)\n((?:(?!```$).*\n)*)```$", re.MULTILINE)
#: The heading of a step, in any language: its number, a colon, and its idea.
HEADING = re.compile(r"^## [^\d\n]*(\d+)[^\d\n:：]*[:：] *(.+)$", re.MULTILINE)


@dataclass
class Cells:
    """The parts of the first engine, the diffs of the later ones, and the ideas of all steps."""

    parts: dict[str, str] = field(default_factory=dict)
    diffs: dict[int, str] = field(default_factory=dict)
    ideas: dict[int, str] = field(default_factory=dict)

    def text(self, *steps: int) -> str:
        """Return the engine after these steps, in this order; the first step is always included.

        Raises:
            KeyError: if the cell of a step has not run.
            ValueError: if the lines of a diff are not in the engine.
        """
        text = "\n\n\n".join(self.parts.values()) + "\n"
        for step in steps:
            text = patched(text, self.diffs[step])
        return text

    def at(self, step: int) -> str:
        """Return the engine after all steps up to this one."""
        return self.text(*range(2, step + 1))

    def title(self, step: int) -> str:
        """Return the number of a step with its idea, as the label of its bar."""
        return f"{step}. {self.ideas[step]}" if step in self.ideas else f"{step}"


def read(chapter: str) -> Cells:
    """Return all cells of a chapter and the ideas of its steps, from its Markdown."""
    found = Cells(ideas={int(number): idea for number, idea in HEADING.findall(chapter)})
    for kind, name, cell in CELL.findall(chapter):
        if kind == "engine":
            found.parts[name] = cell.strip("\n")
        else:
            found.diffs[int(name)] = cell
    return found


def patched(text: str, diff: str) -> str:
    """Return the text with a diff applied. If lines occur twice, the diff changes those nearest to the stated line.

    Raises:
        ValueError: if there is no hunk, or if the lines of one are not in the text.
    """
    hunks = list(HUNK.finditer(diff.rstrip("\n") + "\n"))
    if not hunks:
        raise ValueError("a diff has lines that begin with @@, and after them lines that begin with ' ', '-' or '+'")
    lines, moved = text.splitlines(), 0
    for hunk in hunks:
        body = [line or " " for line in hunk[2].splitlines()]
        old = [line[1:] for line in body if line[0] != "+"]
        new = [line[1:] for line in body if line[0] != "-"]
        places = [place for place in range(len(lines)) if lines[place : place + len(old)] == old]
        if not places:
            raise ValueError("these lines are not in the engine:\n" + "\n".join(old))
        place = min(places, key=lambda place: abs(place + 1 - int(hunk[1]) - moved))
        lines[place : place + len(old)] = new
        moved += len(new) - len(old)
    return "\n".join(lines) + "\n"


def without(text: str, line: str) -> str:
    """Return the text without the statement that begins with this line, and without the statements inside it.

    Raises:
        ValueError: if no line, or more than one, begins with ``line``.
    """
    lines = text.splitlines()
    numbers = [number for number, each in enumerate(lines, 1) if each.strip().startswith(line)]
    if len(numbers) != 1:
        raise ValueError(f"one line has to begin with {line!r}, not {len(numbers)}")
    (number,) = numbers
    statement = next(node for node in ast.walk(ast.parse(text)) if getattr(node, "lineno", 0) == number)
    indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
    return "\n".join([*lines[: number - 1], indent + "pass", *lines[statement.end_lineno :], ""])


def lines_of_code(text: str) -> int:
    """Count the lines without empty ones, comments and docstrings."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in left_out for number, line in lines)


def loaded(text: str, name: str = "engine") -> ModuleType:
    """Return the text as a module, with its lines registered for tracebacks."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(name)
    exec(compile(text, file, "exec"), vars(module))
    return module


@functools.cache
def short_programs() -> list[tuple[tuple[str, ...], Any]]:
    """Return all programs of at most two statements, with their exact numbers."""
    return list(judge.programs(2))


@functools.cache
def counts(text: str) -> dict[str, int]:
    """Return the counts of the judge for an engine over all short programs, and print the first that crashes."""
    engine, first = loaded(text), {}
    counted = judge.judge(engine, short_programs(), first)
    if "crashed" in first:
        print(judge.FIRST.format(judge.FAULTS["crashed"], judge.shown(engine, *first["crashed"])))
    return counted


def said(text: str, program: str) -> str:
    """Return the answer of an engine to a program: the gradient of `x`, or "refused" and the reason."""
    names = {**vars(loaded(text))}
    try:
        exec(program, names)
    except (ValueError, RuntimeError) as error:
        return f"refused: {error}"
    gradient = names["x"].grad
    return "None" if gradient is None else "[" + ", ".join(f"{number:.4g}" for number in gradient) + "]"


def bars(rows: Mapping[str, Mapping[str, int]], **words: str) -> Verdicts:
    """Return the verdicts on some engines as bars. Programs that overwrite the leaf are not counted."""
    counted = {label: {kind: row[kind] for kind in verdicts.LOOKS} for label, row in rows.items()}
    return verdicts.show(counted, **words)


CODE = "margin:0;padding:0;border:0;background:none;color:inherit;font:14px/1.5 var(--mt-mono);white-space:pre-wrap"


@dataclass(frozen=True)
class Step:
    """A diff, and the verdicts after it."""

    diff: str
    verdicts: Verdicts

    def __str__(self) -> str:
        return f"{self.diff}\n\n{self.verdicts}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bars = self.verdicts._repr_mimebundle_()["text/html"]
        lines = "\n".join(map(_marked, self.diff.splitlines()))
        diff = f'<div class="mt-note mt-diff mathjax_ignore"><pre style="{CODE}">{lines}</pre></div>\n'
        return {"text/plain": str(self), "text/html": f"<div>{diff}{bars}</div>"}


def _marked(line: str) -> str:
    """Return a line of a diff as HTML: its first character, element and colour show its kind."""
    text = html.escape(line)
    if line.startswith("@@"):
        return f'<span style="color:var(--mt-muted)">{text}</span>'
    if line.startswith("-"):
        return f'<del style="color:var(--mt-red);text-decoration:none">{text}</del>'
    if line.startswith("+"):
        return f'<ins style="background:var(--mt-wash);font-weight:600;text-decoration:none">{text}</ins>'
    return text


def ladder(texts: Sequence[str]) -> Verdicts:
    """Return the bars of the engines after the first steps, in order."""
    return bars({cells.title(step): counts(text) for step, text in enumerate(texts, 1)})


cells = Cells()


def label_bars(written: Cells) -> None:
    """Label the bars of each step with its idea in a chapter."""
    cells.ideas = written.ideas


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the magics; IPython calls this for `%load_ext small_engine.workshop`."""
    from IPython.core.error import UsageError
    from IPython.display import display

    def engine(line: str, cell: str) -> None:
        if not line.strip():
            raise UsageError("%%engine: say which part of the engine this is, as in `%%engine the table`")
        cells.parts[line.strip()] = cell.strip("\n")

    def step(line: str, cell: str) -> None:
        number = int(line)
        cells.diffs[number] = cell
        texts = [cells.at(each) for each in range(1, number + 1)]
        display(Step(cell.rstrip(), ladder(texts)))

    ipython.register_magic_function(engine, "cell")
    ipython.register_magic_function(step, "cell")
