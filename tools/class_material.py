"""Write the material for a class from the chapters: notebooks of the exercises, and an nbgrader course.

    python tools/class_material.py [--to _build/class]

The folder gets `exercises` (for students), `solutions` (for teachers) and `nbgrader` (a course with one assignment for
each chapter).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # run as a script, Python finds only the modules beside it
    sys.path.insert(0, str(ROOT))

from tools.class_notebooks import read_sheets, write_notebooks  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the material for a class from the chapters.")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "class")
    options = parser.parse_args()
    sheets = read_sheets()
    points = write_notebooks(options.to, sheets)
    count = sum(len(sheet.exercises) for sheet in sheets)
    print(f"{options.to}: {count} exercises of {len(sheets)} chapters, {points} points.")


if __name__ == "__main__":
    main()
