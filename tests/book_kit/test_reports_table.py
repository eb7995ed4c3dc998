"""Test the table of public reports against its record and the list of lines to blame."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book_kit.tables.reports_table import PublicReports, title_of
from memory_stage.messages import set_language

FACTS = Path(__file__).parents[2] / "facts"
CULPRITS = json.loads((FACTS / "programs" / "reports" / "culprits.json").read_text(encoding="utf-8"))


def test_each_program_of_the_suite_is_in_the_record_with_its_line():
    reports = PublicReports.read(FACTS / "public-reports.json")
    recorded = {
        name.partition("_")[0]: (record["library"], answer["line"])
        for record in reports.records.values()
        for name, answer in record["answers"].items()
    }
    assert recorded == {number: (each["library"], each["line"]) for number, each in CULPRITS.items()}
    assert len(reports.table().splitlines()) == len(CULPRITS) + 2


def test_the_totals_are_the_sums_of_the_rows():
    answers = {
        "a": {"error": "", "line": 3, "is named": True, "fixes": "edit", "anomaly mode": 3},
        "b_two_words": {"error": "E: " + "x " * 60, "line": 4, "is named": True, "fixes": "words", "anomaly mode": 1},
        "c": {"error": "", "line": 5, "is named": False, "fixes": "", "anomaly mode": 0},
    }
    reports = PublicReports({"torch 9.9": {"library": "torch", "version": "9.9", "answers": answers}})
    assert "names the line to blame in 2 of 3 programs, and for 1 it gives a diff" in reports.summary()
    assert "names that line in 1 of 3 programs." in reports.summary()
    rows = reports.table().splitlines()
    assert rows[3].startswith("| two words (PyTorch) | `E: x x") and rows[3].endswith("| words |")
    assert rows[4].endswith("| no error | 5 | - | - | - |")
    set_language("zh")
    try:
        summary, (heads, *_, last) = reports.summary(), reports.table().splitlines()
    finally:
        set_language(None)
    assert summary.startswith("PyTorch 9.9：3 个程序中，`explain` 指对了行的有 2 个") and summary.endswith(
        "模式指出这一行的有 1 个。"
    )
    assert heads.startswith("| 程序 | Python 的报错 |") and "| 不报错 | 5 |" in last


def test_each_recorded_program_is_explained_with_its_line_and_a_diff():
    records = PublicReports.read(FACTS / "public-reports.json").records.values()
    answers = {name: answer for record in records for name, answer in record["answers"].items()}
    assert {name for name, answer in answers.items() if not (answer["is named"] and answer["fixes"] == "edit")} == set()


def test_the_library_of_a_program_is_the_one_that_it_imports():
    rows = PublicReports.read(FACTS / "public-reports.json").table().splitlines()
    programs = {path.stem: path.read_text(encoding="utf-8") for path in (FACTS / "programs" / "reports").glob("*.py")}
    numpy_alone = {
        title_of(name) for name, text in programs.items() if "import torch" not in text and "paddle" not in text
    }
    assert {row.split(" (NumPy)")[0][2:] for row in rows if "(NumPy) |" in row} == numpy_alone


def test_a_missing_record_raises_an_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        PublicReports.read(tmp_path / "nothing.json")
