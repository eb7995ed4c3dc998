"""Write the material for a class: notebooks of the exercises, an nbgrader course, and a question bank.

    python tools/class_material.py [folder of the built book] [--to _build/class]

The folder gets `exercises` (for students), `solutions` (for teachers), `nbgrader` (a course with one assignment for
each chapter) and `questions` (Moodle XML, QTI 2.1 and CSV). The first three are also written for each edition with a
class, into a folder with its name, such as `zh`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # if this runs as a script, Python finds only the modules beside it
    sys.path.insert(0, str(ROOT))

from _ext.book_pages.built_page import BuiltPage  # noqa: E402
from _ext.book_pages.languages import editions  # noqa: E402
from tools.class_notebooks import read_sheets, write_notebooks  # noqa: E402
from tools.question_bank import read_exercises, read_predictions, write_bank  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the material for a class from the chapters.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "class")
    options = parser.parse_args()
    sheets = read_sheets()
    names = [f"chapters/{sheet.name}" for sheet in sheets]
    if missing := [name for name in names if not (options.folder / f"{name}.html").exists()]:
        parser.error(f"{options.folder} has no {missing[0]}.html: build the book first")
    files = sorted((options.folder / "chapters").glob("*.html"))
    pages = [BuiltPage(f"chapters/{file.stem}", file.read_text(encoding="utf-8")) for file in files]
    questions = read_predictions(pages)
    write_bank(options.to / "questions", [*questions, *read_exercises(sheets)])
    points = write_notebooks(options.to, sheets)
    for edition in editions(ROOT):
        if edition.data("class"):
            write_notebooks(options.to / edition.code, read_sheets(edition))
    count = sum(len(sheet.exercises) for sheet in sheets)
    print(f"{options.to}: {len(questions)} predictions; {count} exercises, {points} points; {len(sheets)} chapters.")


if __name__ == "__main__":
    main()
