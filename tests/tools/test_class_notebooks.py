"""Test the notebooks for a class: their exercises, and the nbgrader course that grades them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess

import jsonschema
import nbformat
import pytest

from _ext.book_pages.languages import editions
from tools import class_notebooks
from tools.build import ROOT
from tools.class_notebooks import CHAPTERS, read_sheet, read_sheets, write_notebooks

# The rules of nbgrader's cell metadata, version 3, as its contributor guide and its schema state them.
METADATA = {
    "type": "object",
    "properties": {
        "schema_version": {"const": 3},
        **{name: {"type": "boolean"} for name in ("grade", "locked", "solution", "task")},
        "grade_id": {"type": "string", "pattern": r"^[a-zA-Z0-9_\-]+$"},
        "points": {"type": "number", "minimum": 0},
    },
    "required": ["schema_version", "grade", "locked", "solution", "grade_id"],
    "additionalProperties": False,
    "if": {"properties": {"grade": {"const": True}}},
    "then": {"required": ["points"]},
}
CHANGED_TESTS = "window_tests = dict(cases=[()], that={'anything': lambda result: True})\nwindows = lambda: 0"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Write the notebooks of one chapter, and return the folder."""
    folder = tmp_path_factory.mktemp("class")
    write_notebooks(folder, [read_sheet(CHAPTERS / "03_views.md")])
    return folder


def read(file):
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    return notebook


def marks(notebook):
    return [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]


def test_every_exercise_of_every_chapter_has_a_title_a_text_a_start_and_a_solution():
    sheets = read_sheets()
    checks = sum(len(re.findall(r"^check\(", file.read_text("utf-8"), re.M)) for file in CHAPTERS.glob("[0-9]*.md"))
    found = [each for sheet in sheets for each in sheet.exercises]
    assert len(found) == checks > 20
    for each in found:
        assert each.text.startswith("**") and each.title in each.text
        assert f"def {each.name}(" in each.starter
        assert re.search(rf"\b{each.name}\b", each.solution) and "_solution" not in each.solution
        assert not re.search(r"\{(dropdown|cite)\}|:::", each.text + each.hint)


@pytest.mark.parametrize("edition", [each for each in editions(ROOT) if each.data("class")], ids=lambda each: each.code)
def test_the_notebooks_of_an_edition_have_the_exercises_and_points_of_the_english_ones(edition, tmp_path):
    english, translated = read_sheets(), read_sheets(edition)
    names = [[each.name for each in sheet.exercises] for sheet in english]
    assert [[each.name for each in sheet.exercises] for sheet in translated] == names
    for sheet in translated:
        for each in sheet.exercises:
            assert each.text.startswith("**") and not each.text.isascii()
    chosen = [sheet for sheet in translated if sheet.name == "03_views"]
    (same,) = (sheet for sheet in english if sheet.name == "03_views")
    assert write_notebooks(tmp_path, chosen) == sum(same.count_cases(CHAPTERS))
    students = read(tmp_path / "exercises" / "03_views.ipynb")
    assert any(
        f"set_language('{edition.code}')" in cell.source or f'set_language("{edition.code}")' in cell.source
        for cell in students.cells
    )


def test_students_notebooks_have_no_solution_and_teachers_notebooks_have_all(course):
    students, teachers = (
        "\n".join(cell.source for cell in read(course / kind / "03_views.ipynb").cells)
        for kind in ("exercises", "solutions")
    )
    for each in read_sheet(CHAPTERS / "03_views.md").exercises:
        assert each.starter in students and each.starter in teachers
        assert each.solution not in students and each.solution in teachers
        assert f"check({each.name}" in students


def test_the_metadata_of_an_assignment_matches_the_schema_of_nbgrader(course):
    notebook = read(course / "nbgrader/source/03_views/03_views.ipynb")
    found = marks(notebook)
    for mark in found:
        jsonschema.validate(mark, METADATA)
    assert len({mark.grade_id for mark in found}) == len(found) == 3 * 2
    assert all(mark.locked and not mark.solution for mark in found if mark.grade)


def test_an_exercise_is_worth_one_point_for_each_case_of_its_check(course):
    points = [mark.points for mark in marks(read(course / "nbgrader/source/03_views/03_views.ipynb")) if mark.grade]
    assert points == [4, 2]  # window_tests and keep_tests of the chapter


def test_graded_cells_hide_the_tests_of_the_check(course):
    for cell in read(course / "nbgrader/source/03_views/03_views.ipynb").cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            shown, hidden = cell.source.split("### BEGIN HIDDEN TESTS\n")
            assert "require" not in shown
            assert re.search(r"^(window|keep)_tests = .*^require\(\w+, \*\*\1_tests\)$", hidden, re.M | re.S)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("as_strided([x.shape[0] - k + 1, k], [1, 1])", "as_strided([x.shape[0] - k + 1, k], [1, 0])", "is wrong"),
        ("return x[i]  # your code", "return x[i].clone()  # your code", "unfinished function passes"),
    ],
)
def test_a_wrong_solution_or_a_starting_code_that_passes_is_refused_before_anything_is_written(
    tmp_path, old, new, message
):
    text = (CHAPTERS / "03_views.md").read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "03_views.md"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RuntimeError, match=message):
        write_notebooks(tmp_path / "class", [read_sheet(changed)])
    assert not list((tmp_path / "class").rglob("*.ipynb"))


def test_the_error_names_an_exercise_without_a_solution(tmp_path):
    chapter = tmp_path / "03_views.md"
    text = (CHAPTERS / "03_views.md").read_text(encoding="utf-8")
    chapter.write_text(text.replace("require(best_row_solution, **keep_tests)", "pass"), encoding="utf-8")
    with pytest.raises(ValueError, match="'best_row' has no solution"):
        read_sheet(chapter)


READS_A_FACT = """# Facts

```{code-cell} ipython3
tests = dict(cases=[(open("../facts/three-kinds.json").read(),)], against=len)
```

**1. Count.** Count the characters.

```{code-cell} ipython3
def count(text):
    ...


check(count, **tests)
```

```{code-cell} ipython3
def count_solution(text):
    return len(text)


require(count_solution, **tests)
```
"""


def test_files_that_an_exercise_reads_are_copied_beside_its_notebook(tmp_path):
    chapter = tmp_path / "facts.md"
    chapter.write_text(READS_A_FACT, encoding="utf-8")
    for path in (chapter, CHAPTERS / "16_an_engine_in_an_afternoon.md"):
        read_sheet(path).copy_files(tmp_path)
    assert (tmp_path / "facts" / "three-kinds.json").exists()
    assert (tmp_path / "small_engine" / "workshop.py").exists()


def test_a_citation_without_an_entry_is_an_error():
    assert "BatchNorm" in class_notebooks._plain("The layer of {cite}`12-inplace-abn`.")
    with pytest.raises(ValueError, match="no title for 'no-such'"):
        class_notebooks._plain("{cite}`12-no-such`")


@pytest.mark.skipif(not shutil.which("nbgrader"), reason="the command nbgrader is not installed; see docs/contributing")
def test_nbgrader_grades_right_wrong_and_tampered_submissions(course):
    folder = course / "nbgrader"

    def nbgrader(*words):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(["nbgrader", *words], cwd=folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr

    nbgrader("generate_assignment", "03_views")
    released = read(folder / "release/03_views/03_views.ipynb")
    text = "\n".join(cell.source for cell in released.cells)
    assert "return x[i]  # your code" in text
    assert not re.search(r"NotImplementedError|clone\(\)|SOLUTION|HIDDEN|as_strided\(\[", text)

    wrong = read(folder / "release/03_views/03_views.ipynb")
    answers = [cell for cell in wrong.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    answers[0].source += "\n" + CHANGED_TESTS  # passes only the tests that the student has changed
    answers[1].source = answers[1].source.replace("return x[i]", "return x[i].clone()")
    submissions = {"right": read(folder / "source/03_views/03_views.ipynb"), "half": wrong, "untouched": released}
    for student, notebook in submissions.items():
        place = folder / "submitted" / student / "03_views"
        place.mkdir(parents=True)
        nbformat.write(notebook, place / "03_views.ipynb")
    nbgrader("autograde", "03_views")
    nbgrader("export")
    with (folder / "grades.csv").open(newline="") as file:
        scores = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(file)}
    assert scores == {"right": 6.0, "half": 2.0, "untouched": 0.0}
