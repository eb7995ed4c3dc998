"""Write the exercises of the chapters as notebooks for a class: without solutions, with solutions, and for nbgrader.

An exercise in a chapter is three cells: its tests, the unfinished function with `check(function, **tests)`, and the
solution with `require` on the same tests. The notebooks contain these cells (those for students lack the solution), the
text around them, and the statements of earlier cells that the tests need. The nbgrader assignment grades with the same
tests. An exercise is worth one point for each of its cases. The hidden cell that grades an answer defines the tests
again before it calls `require`, so an answer cannot change them.

Before the notebooks are written, each solution has to pass its tests, and each unfinished function has to fail them.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # if this runs as a script, Python finds only the modules beside it
    sys.path.insert(0, str(ROOT))

from _ext.book_pages.built_page import PLAN  # noqa: E402
from _ext.book_pages.exercise_cells import exercises  # noqa: E402
from _ext.book_pages.languages import Edition  # noqa: E402

CHAPTERS = ROOT / "chapters"
IMPORTS = "from book_kit import check, require"
SPEAK = """from memory_stage import set_language

set_language({code!r})
"""
FACTS = re.compile(r"(?:\.\./)+facts/([\w-]+\.json)")
SECTION = re.compile(r"\A.*^## (?:Exercises?|练习)\s*$", re.MULTILINE | re.DOTALL)
DROPDOWN = re.compile(r"^(:{3,})\{dropdown\} (.*?)\n(.*?)\n\1\s*$", re.MULTILINE | re.DOTALL)
CITATION = re.compile(r"\{cite\}`\d+-([\w-]+)`")
PAGE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
STARTS = re.compile(r"^\*\*(?:\d+\. )?(.+?)\.?\*\*", re.MULTILINE)
# nbgrader replaces a solution by `code_stub`. The default stub raises NotImplementedError, so the `check` below it
# would not run.
CONFIG = '''"""The course for nbgrader: run its commands in this folder."""

c = get_config()  # noqa: F821, defined by nbgrader
c.CourseDirectory.course_id = "in_place"
c.ClearSolutions.code_stub = {"python": "# Complete the function above."}
'''
# This program runs in a separate process for one notebook, and prints the number of cases of each exercise.
COUNT_CASES = """
import json, sys

cases = []
for asked in json.load(sys.stdin):
    space = {"__name__": "__main__"}
    exec(asked["setup"], space)
    exec(asked["starter"], space)
    if eval(asked["check"], space).passed:
        sys.exit(f"{asked['name']}: the unfinished function passes its own tests")
    exec(asked["solution"], space)
    cases.append(eval(asked["check"].replace("check", "require", 1), space).cases)
print(json.dumps(cases))
"""


@dataclass(frozen=True)
class PortableExercise:
    """An exercise of a chapter, with everything that it needs to run outside the chapter."""

    name: str  # the name of the function
    title: str
    text: str  # Markdown before the code
    hint: str  # Markdown between the code and the solution
    setup: str  # imports and tests
    starter: str  # the unfinished function
    check: str  # the call, such as "check(windows, **window_tests)"
    solution: str  # code that defines the function again, under the same name

    @property
    def graded(self) -> str:
        """Return the code that raises AssertionError if the reader's function does not pass."""
        return f"{self.setup}\n{self.check.replace('check', 'require', 1)}"


@dataclass(frozen=True)
class ExerciseSheet:
    """The exercises of one chapter, which become one notebook."""

    name: str  # such as "03_views"
    title: str  # such as "Views"
    exercises: list[PortableExercise]
    words: dict[str, str]  # texts around the exercises, in the notebook's language (`notebooks` in the plan)

    def count_cases(self, folder: Path) -> list[int]:
        """Run every exercise, with `folder` as the working directory, and return the number of cases of each.

        Raises:
            RuntimeError: if a solution fails, or an unfinished function passes.
        """
        asked = [
            {key: getattr(each, key) for key in ("name", "setup", "starter", "check", "solution")}
            for each in self.exercises
        ]
        ran = subprocess.run(
            [sys.executable, "-c", COUNT_CASES],
            input=json.dumps(asked),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            raise RuntimeError(f"{self.name}: an exercise does not run by itself.\n{ran.stderr}")
        return json.loads(ran.stdout.splitlines()[-1])

    def notebook(self, *, solutions: bool) -> nbformat.NotebookNode:
        """Return the notebook for students, or with `solutions` the notebook for teachers."""
        cells = [self._opening()]
        for each in self.exercises:
            code = f"{each.starter}\n\n\n{each.check}"
            cells += [new_markdown_cell(each.text), new_code_cell(each.setup), new_code_cell(code)]
            cells += [new_markdown_cell(each.hint)] if each.hint else []
            if solutions:
                cells += [
                    new_markdown_cell(self.words["solution"].format(title=each.title)),
                    new_code_cell(f"{each.solution}\n\n{each.check}"),
                ]
        return _notebook(cells, self.name)

    def assignment(self, points: list[int]) -> nbformat.NotebookNode:
        """Return the notebook from which nbgrader makes the students' version.

        Args:
            points: the points of each exercise.
        """
        cells = [self._opening()]
        for number, (each, worth) in enumerate(zip(self.exercises, points, strict=True), 1):
            key = f"{self.name}-{number}-{each.name}"
            answer = f"{each.starter}\n\n\n### BEGIN SOLUTION\n{each.solution}\n### END SOLUTION\n\n\n{each.check}"
            hidden = f"# Points: {worth}\n### BEGIN HIDDEN TESTS\n{each.graded}\n### END HIDDEN TESTS"
            cells += [
                new_markdown_cell(each.text + (f"\n\n{each.hint}" if each.hint else "")),
                _nbgrader_cell(each.setup, f"{key}-setup", locked=True),
                _nbgrader_cell(answer, f"{key}-answer", solution=True),
                _nbgrader_cell(hidden, f"{key}-tests", grade=True, locked=True, points=worth),
            ]
        return _notebook(cells, self.name)

    def copy_files(self, folder: Path) -> None:
        """Copy the recorded facts and the modules that the exercises use into the folder of the notebook."""
        code = "\n".join(each.setup for each in self.exercises)
        for fact in set(re.findall(r"[\"']facts/([\w-]+\.json)", code)):
            (folder / "facts").mkdir(exist_ok=True)
            shutil.copyfile(ROOT / "facts" / fact, folder / "facts" / fact)
        for module in (path for path in CHAPTERS.iterdir() if path.is_dir()):
            if re.search(rf"^(from|import) {module.name}\b", code, re.MULTILINE):
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(module, folder / module.name, ignore=ignored, dirs_exist_ok=True)

    def _opening(self) -> nbformat.NotebookNode:
        title = self.words["title"].format(title=self.title)
        return new_markdown_cell(f"# {title}\n\n{self.words['opening']}")


def read_sheet(file: Path, edition: Edition | None = None) -> ExerciseSheet:
    """Return the exercises in the source of a chapter of the book or, if `edition` is given, of that edition.

    Raises:
        ValueError: if a `check` has no solution with `require` after it.
    """
    cells = jupytext.read(file, fmt="md:myst").cells
    title = re.search(r"^# (.+)$", "\n".join(cell.source for cell in cells), re.MULTILINE)
    assert title is not None, file
    found, text, hint = [], "", ""
    before = iter(exercises([cell.source for cell in cells if cell.cell_type == "code"]))
    asked = None  # the exercise whose solution has not been found yet
    for cell in cells:
        if cell.cell_type == "markdown":
            if asked:
                hint += cell.source
            else:
                text = cell.source
            continue
        call = _last_call(cell.source)
        if call and call[0] == "check":
            asked, name, check = cell.source, call[1], call[2]
        elif call and call[0] == "require" and asked:
            setup = (
                IMPORTS
                + "\n"
                + (SPEAK.format(code=edition.code) if edition else "")
                + FACTS.sub(r"facts/\1", next(before).before)
            )
            solution = re.sub(rf"\b{call[1]}\b", name, cell.source[: cell.source.rindex("require(")]).strip()
            statement = _statement(text)
            heading = STARTS.search(statement)
            found.append(
                PortableExercise(
                    name=name,
                    title=heading.group(1) if heading else name,
                    text=statement,
                    hint=_plain(hint),
                    setup=_format(setup),
                    starter=asked[: asked.rindex("check(")].strip(),
                    check=check,
                    solution=solution,
                )
            )
            asked, hint = None, ""
    if asked:
        raise ValueError(f"{file.name}: the exercise {name!r} has no solution with require(...) after it")
    plan = edition.data("class") if edition else json.loads((ROOT / PLAN).read_text(encoding="utf-8"))
    return ExerciseSheet(file.stem, title.group(1), found, plan["notebooks"])


def read_sheets(edition: Edition | None = None) -> list[ExerciseSheet]:
    """Return the exercises of the chapters of the book, or of an edition, without chapters that have none."""
    chapters = edition.folder / "chapters" if edition else CHAPTERS
    sheets = [read_sheet(file, edition) for file in sorted(chapters.glob("[0-9][0-9]_*.md"))]
    return [sheet for sheet in sheets if sheet.exercises]


def write_notebooks(folder: Path, sheets: list[ExerciseSheet]) -> int:
    """Write `exercises`, `solutions` and the course folder `nbgrader` into `folder`; return the sum of the points."""
    sources = {sheet.name: folder / "nbgrader" / "source" / sheet.name for sheet in sheets}
    for sheet in sheets:
        for place in (folder / "exercises", folder / "solutions", sources[sheet.name]):
            place.mkdir(parents=True, exist_ok=True)
            sheet.copy_files(place)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each sheet runs in its own process
        counted = list(pool.map(lambda sheet: sheet.count_cases(sources[sheet.name]), sheets))
    for sheet, points in zip(sheets, counted, strict=True):
        nbformat.write(sheet.notebook(solutions=False), folder / "exercises" / f"{sheet.name}.ipynb")
        nbformat.write(sheet.notebook(solutions=True), folder / "solutions" / f"{sheet.name}.ipynb")
        nbformat.write(sheet.assignment(points), sources[sheet.name] / f"{sheet.name}.ipynb")
    (folder / "nbgrader" / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    return sum(map(sum, counted))


def _last_call(source: str) -> tuple[str, str, str] | None:
    """Return the call of `check` or `require` that ends a cell: its function, its first argument, and its source.

    Return None if the cell does not end with such a call.
    """
    if not re.search(r"^(check|require)\(", source, re.MULTILINE):
        return None  # such a cell is not parsed, because it may have commands of IPython
    body = ast.parse(source).body
    call = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("check", "require")):
        return None
    return call.func.id, ast.unparse(call.args[0]), ast.unparse(call)


def _format(code: str) -> str:
    """Format code that was generated from a syntax tree, so that its lines have a readable length."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "100", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout.strip()


def _statement(text: str) -> str:
    """Return the text of an exercise. A comment before it, on the solution of the previous exercise, is removed."""
    start = STARTS.search(text)
    if start:
        text = text[start.start() :]
    return _plain(SECTION.sub("", text))


def _plain(text: str) -> str:
    """Return Markdown for Jupyter: folds become HTML; links into the book and citations become text without a link."""
    text = DROPDOWN.sub(r"<details><summary>\2</summary>\n\n\3\n\n</details>", text)
    text = CITATION.sub(lambda cited: f"*{_cited_title(cited.group(1))}*", text)
    return PAGE_LINK.sub(r"\1", text).strip()


def _cited_title(key: str) -> str:
    entry = (ROOT / "references.bib").read_text(encoding="utf-8").partition("{" + key + ",")[2]
    found = re.search(r"^\s*title = \{(.+)\},?$", entry, re.MULTILINE)
    if found is None:
        raise ValueError(f"references.bib has no title for {key!r}")
    return found.group(1).replace("{", "").replace("}", "")


def _nbgrader_cell(
    code: str, key: str, *, grade: bool = False, solution: bool = False, locked: bool = False, points: int | None = None
) -> nbformat.NotebookNode:
    """Return a code cell with the metadata that nbgrader reads."""
    mark: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": key,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
    }
    return new_code_cell(code, metadata={"nbgrader": mark if points is None else {**mark, "points": points}})


def _notebook(cells: list[nbformat.NotebookNode], name: str) -> nbformat.NotebookNode:
    """Return a notebook whose cells have the same ids in every build."""
    for number, cell in enumerate(cells):
        cell["id"] = f"{name[:2]}-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
