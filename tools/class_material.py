"""Write the material for a class: notebooks of the exercises, an nbgrader course, and a question bank.

    python tools/class_material.py [folder of the built book] [--to _build/class]

The folder gets `exercises` (for students), `solutions` (for teachers), `nbgrader` (a course with one assignment for
each chapter) and `questions` (Moodle XML, QTI 2.1 and CSV). If an edition in another language has a plan of the class,
the same is written for it into a folder with the edition's name, such as `zh`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # if this runs as a script, Python finds only the modules beside it
    sys.path.insert(0, str(ROOT))

from _ext.book_pages.built_page import PLAN, BuiltPage  # noqa: E402
from _ext.book_pages.languages import editions  # noqa: E402
from tools.class_notebooks import ExerciseSheet, read_sheets, write_notebooks  # noqa: E402
from tools.question_bank import read_exercises, read_predictions, write_bank  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the material for a class from the chapters.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "class")
    options = parser.parse_args()
    sheets = read_sheets()
    count = sum(len(sheet.exercises) for sheet in sheets)
    try:
        questions = _write(options.folder, options.to, sheets, json.loads((ROOT / PLAN).read_text(encoding="utf-8")))
        points = write_notebooks(options.to, sheets)
        for edition in editions(ROOT):
            if plan := edition.data("class"):
                translated = read_sheets(edition)
                _write(options.folder / edition.code, options.to / edition.code, translated, plan, edition.code)
                write_notebooks(options.to / edition.code, translated)
    except FileNotFoundError as missing:
        parser.error(f"{missing.filename} is missing: build the book first")
    print(f"{options.to}: {questions} predictions; {count} exercises, {points} points; {len(sheets)} chapters.")


def _write(built: Path, folder: Path, sheets: list[ExerciseSheet], plan: dict[str, Any], language: str = "en") -> int:
    """Write the question bank in one language, and return the number of predictions in the bank.

    Raises:
        FileNotFoundError: if the page of a chapter with exercises was not built.
    """
    names = {f"{sheet.name}.html" for sheet in sheets} | {file.name for file in (built / "chapters").glob("*.html")}
    texts = {name: (built / "chapters" / name).read_text(encoding="utf-8") for name in sorted(names)}
    pages = [BuiltPage(f"chapters/{Path(name).stem}", text) for name, text in texts.items()]
    questions = read_predictions(pages, plan["bank"])
    write_bank(folder / "questions", [*questions, *read_exercises(sheets, plan["bank"], language)])
    return len(questions)


if __name__ == "__main__":
    main()
