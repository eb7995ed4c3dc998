"""Reading times and addresses of the book's pages, for the pages on learning paths in each language."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from memory_stage.messages import language, message, said

# Mean rate of silent reading of non-fiction in 190 studies: https://doi.org/10.1016/j.jml.2019.104047
PUBLISHED_RATE = 238
# The prose of a chapter needs pauses, so it is read at half the published rate. The words of a question need none.
WORDS_A_MINUTE = PUBLISHED_RATE // 2
LINES_A_MINUTE = 20  # lines of code that the page shows
MINUTES_AN_OUTPUT = 1  # a table, a figure or a printed output
SECONDS_A_STEP = 10  # a step of a stage
MINUTES_A_QUESTION = 1  # to choose an answer, after reading the question
MINUTES_AN_EXERCISE = 8

_QUESTION = re.compile(r"^predict\(", re.MULTILINE)
_EXERCISE = re.compile(r"^check\(", re.MULTILINE)
_STAGE = re.compile(r"^(?:%%stage\b|(?:\w+ = )?stage\.(?:compare|record)\()", re.MULTILINE)
_SKIPPED = re.compile(r"^(?:\*\*\d\. Project: |:::\{container\} optional\n).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_FOLDED = re.compile(r"^(:{3,})\{dropdown\}.*?^\1$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^(`{3,})\{code-cell\}(.*?)^\1", re.MULTILINE | re.DOTALL)
_OPTIONS = re.compile(r"\A[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)", re.DOTALL)
_UNSEEN = re.compile(r"tags: *\[[^]]*(?:remove-cell|hide-cell|hide-input)")
_HIDDEN = re.compile(r"tags: *\[[^]]*remove-input")
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\S*\w\S*")


def minutes(page: str) -> int:
    """Return the minutes to read a page, to answer its questions and to step its stages, rounded to a multiple of 5.

    Folded boxes, sections that a reader may skip, and exercises are not counted.

    Args:
        page: the page's file without a suffix, for example "03_views".

    Raises:
        FileNotFoundError: if there is no such page.
    """
    found = parts(_english(page))
    return max(5, 5 * round((sum(found.values()) - found["exercises"]) / 5))


def exercise_minutes(page: str) -> int:
    """Return the minutes to solve the exercises of a page (but not its project), rounded to a multiple of 5.

    Args:
        page: the page's file without a suffix.

    Raises:
        FileNotFoundError: if there is no such page.
    """
    return 5 * round(parts(_english(page))["exercises"] / 5)


def _english(page: str) -> str:
    """Return the English text of a page of this folder. A translated page shows the times of the English page."""
    file = Path(f"{page}.md")
    original = file if language().code == "en" else Path("../../chapters", file)
    return original.read_text(encoding="utf-8").partition("\n---\n")[2]


def parts(text: str) -> dict[str, float]:
    """Return the minutes for each part of an English page: prose, code, outputs, questions, stages and exercises."""
    found = dict.fromkeys(("prose", "code", "outputs", "questions", "stages", "exercises"), 0.0)
    text = _FOLDED.sub("", text)
    skipped = [part.span() for part in _SKIPPED.finditer(text)]
    found["prose"] = len(_WORD.findall(_FENCED.sub("", _SKIPPED.sub("", text)))) / WORDS_A_MINUTE
    programs: dict[str, int] = {}  # maps a variable to the number of lines of the programs in its value
    for whole in _CELL.finditer(text):
        cell = whole[2]
        source = _OPTIONS.sub("", cell)
        tree = _parse(source)
        if not any(start <= whole.start() < end for start, end in skipped):
            if _QUESTION.search(source):
                found["questions"] += MINUTES_A_QUESTION + len(_WORD.findall(_question(tree))) / PUBLISHED_RATE
            elif _STAGE.search(source):
                found["stages"] += _steps(source, tree, programs) * SECONDS_A_STEP / 60
            elif _EXERCISE.search(source):
                found["exercises"] += MINUTES_AN_EXERCISE
            elif not _UNSEEN.search(cell):
                found["outputs"] += MINUTES_AN_OUTPUT
                if not _HIDDEN.search(cell):
                    found["code"] += len(source.strip("\n").splitlines()) / LINES_A_MINUTE
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                programs[node.targets[0].id] = _lines_of_programs(node.value)
    return found


def _parse(source: str) -> ast.Module:
    code = "\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines())
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.Module([], [])


def _question(tree: ast.Module) -> str:
    """Return the text of a question: the strings in the positional arguments and the options of ``predict``."""
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "predict":
            read = [*call.args, *(part.value for part in call.keywords if part.arg == "options")]
            found += [
                node.value
                for each in read
                for node in ast.walk(each)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    return " ".join(found)


def _steps(source: str, tree: ast.Module, programs: dict[str, int]) -> int:
    """Return the number of steps of a cell's stage, estimated as the number of lines of its programs."""
    if "%%stage" in source:
        return len([line for line in source.splitlines() if line.strip() and not line.startswith("%")])
    steps = 0
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("stage.compare", "stage.record") and call.args:
            names = [node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)]
            steps += _lines_of_programs(call.args[0]) + sum(programs.get(name, 0) for name in names)
    return steps


def _lines_of_programs(node: ast.expr) -> int:
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return sum(len([line for line in text.splitlines() if line.strip()]) for text in texts if "\n" in text)


def rule() -> str:
    """Return the rule by which the minutes are computed, in the notebook's language."""
    sentence = message(
        "{pace} words a minute, which is half of {published}, or {lines} lines of code; {output} minute for each "
        "table, figure or output; {step} seconds for each step of a stage; {question} minute for each question, "
        "besides its words; {exercise} minutes for each exercise. Folded boxes, sections that you can skip, and "
        "projects are not counted.",
        pace=WORDS_A_MINUTE,
        lines=LINES_A_MINUTE,
        published=PUBLISHED_RATE,
        output=MINUTES_AN_OUTPUT,
        step=SECONDS_A_STEP,
        question=MINUTES_A_QUESTION,
        exercise=MINUTES_AN_EXERCISE,
    )
    return said(sentence)


def address(link: str) -> str:
    """Return the address of a built page for a link to the page's source, such as "03_views.md#a-part".

    If the page is not in this folder, it has no translation, and the address is that of the English page.
    """
    page, _, place = link.partition("#")
    built = page.removesuffix(".md") + ".html" + (f"#{place}" if place else "")
    return built if Path(page).is_file() else f"../../chapters/{built}"
