"""`python -m facts check` compares the records with the installed library, and a chapter shows the result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from book_kit.widgets import installed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a copy of the records and of the text of the chapters."""
    shutil.copytree(ROOT / "facts", tmp_path / "facts", ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    shutil.copytree(ROOT / "chapters", tmp_path / "chapters", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "minitensor" / "paddle").mkdir(parents=True)
    shutil.copy(ROOT / "minitensor" / "paddle" / "names.py", tmp_path / "minitensor" / "paddle")
    return tmp_path


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "facts", "check", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def change(folder: Path, file: str, edit) -> None:
    records = json.loads((folder / "facts" / file).read_text())
    edit(next(record for record in records.values() if record["library"] == "numpy"))
    (folder / "facts" / file).write_text(json.dumps(records))


def test_the_installed_numpy_answers_as_recorded():
    ran = check(ROOT, "numpy", "views.json", "aliases.json", "tensors.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split(":")[0] for line in ran.stdout.splitlines()] == ["views.json", "aliases.json", "tensors.json"]
    assert ran.stdout.count("all as recorded") == 3


def test_a_changed_answer_is_reported_with_the_pages_that_state_it(book):
    def edit(record):
        record["answers"]["a mask"]["values"]["seen"] = True

    change(book, "views.json", edit)
    ran = check(book, "numpy", "views.json")
    assert ran.returncode == 1
    assert "1 changed" in ran.stdout and "  a mask\n" in ran.stdout
    assert 'was: {"values": {"seen": true}}' in ran.stdout and 'now: {"values": {"seen": false}}' in ran.stdout
    assert "stated in: 3. Views" in ran.stdout


def test_a_number_that_differs_in_the_last_place_has_not_changed(book):
    def edit(record):
        for answer in record["answers"].values():
            answer["values"] = {
                key: value * (1 + 1e-9) if type(value) is float else value for key, value in answer["values"].items()
            }

    change(book, "tensors.json", edit)
    assert check(book, "numpy", "tensors.json").returncode == 0


def test_a_recorded_question_that_is_no_longer_asked_is_reported_as_a_change(book):
    def edit(record):
        record["answers"]["of yesterday"] = {"program": "", "values": {}}

    change(book, "views.json", edit)
    ran = check(book, "numpy", "views.json")
    assert ran.returncode == 1 and "of yesterday" in ran.stdout and "now: (not asked)" in ran.stdout


def test_the_installed_version_is_compared_with_the_nearest_recorded_one():
    code = (
        "import sys; sys.path.insert(0, 'facts'); from checking import nearest\n"
        "print(*[nearest(now, ['3.3.1', '2.6.2']) for now in ('2.5.0', '2.6.2', '3.0.0', '3.3.1', '10.0')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.split() == ["2.6.2", "2.6.2", "2.6.2", "3.3.1", "3.3.1"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("numpy", "vistas.json"), "there is no record vistas.json; the records are: aliases.json,"),
        (("no_such_library",), "no_such_library is not installed here"),
        (("numpy", "leaves.json"), "no record has answers of numpy"),
    ],
)
def test_an_unknown_record_or_library_is_reported(arguments, said):
    ran = check(ROOT, *arguments)
    assert ran.returncode == 2 and said in ran.stderr and "Traceback" not in ran.stderr


def test_every_record_with_a_script_can_be_checked():
    ran = check(ROOT, "numpy", "nothing.json")
    known = ran.stderr.rsplit(": ", 1)[1].strip().split(", ")
    texts = {path.name: path.read_text() for path in (ROOT / "facts").glob("*.json")}
    of_libraries = {name for name, text in texts.items() if '"answers"' in text or '"messages"' in text}
    assert of_libraries - set(known) == set()


# ---------- in a chapter ----------


def test_a_page_shows_each_line_of_a_check_as_a_paragraph_of_escaped_text():
    page = installed.InstalledCheck(["1 of 2 answers are not those", "  a < b: 1 -> 2"], 1)._repr_html_()
    assert "<p>1 of 2 answers are not those</p><p>  a &lt; b: 1 -&gt; 2</p>" in page


def test_a_chapter_checks_installed_frameworks_and_names_missing_ones():
    found = installed.show(ROOT / "facts" / "views.json")
    (numpy,) = [line for line in found.lines if line.startswith("NumPy")]
    assert "installed here, was asked just now: 22 answers, all as recorded from NumPy" in numpy
    assert len(found.lines) == 3 and found.changed == 0


def test_a_chapter_shows_changed_answers(book):
    def edit(record):
        record["answers"]["a mask"]["values"]["seen"] = True

    change(book, "views.json", edit)
    found = installed.show(book / "facts" / "views.json")
    assert found.changed == 1
    assert "  a mask: {'seen': True} -> {'seen': False}" in found.lines


def test_a_page_gives_the_reason_why_a_framework_could_not_be_asked(book):
    (book / "facts" / "checking.py").write_text("raise SystemExit('no checking today')")
    found = installed.show(book / "facts" / "views.json")
    assert any("NumPy could not be asked (no checking today)" in line for line in found.lines)


@pytest.mark.parametrize(
    "library, variable", [("torch", "MINITENSOR_TORCH_PYTHON"), ("paddle", "MINITENSOR_PADDLE_PYTHON")]
)
def test_the_recorded_version_of_a_framework_answers_as_recorded(library, variable):
    """The installed version may be another one. If it is the recorded one, no answer may have changed."""
    python = os.environ.get(variable)
    if python is None:
        pytest.skip(f"{variable} names no interpreter that has {library}")
    command = [python, "-m", "facts", "check", library, "views.json", "leaves.json", "view-gradients.json", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    for checked in json.loads(ran.stdout):
        assert checked["asked"] > 5
        if checked["installed"] == checked["recorded"]:
            assert checked["changes"] == []
