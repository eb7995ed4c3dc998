"""Test the table of public reports against its record and the list of lines to blame."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book_kit.tables.reports_table import PublicReports, points
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
    assert "of 3 programs the line is named in 2, and 1 get a fix" in reports.summary()
    assert "names the line to blame in 1 of 3. Points: 3.5 of 6." in reports.summary()
    rows = reports.table().splitlines()
    assert rows[3].startswith("| two words (PyTorch) | `E: x x") and rows[3].endswith("| words | 1.5 |")
    assert rows[4].split(" | ")[1:6] == ["no error", "5", "-", "-", "-"]
    set_language("zh")
    try:
        summary, (heads, *_, last) = reports.summary(), reports.table().splitlines()
    finally:
        set_language(None)
    assert summary.startswith("PyTorch 9.9：3 个程序中，指对了行的有 2 个") and summary.endswith("满分 6，得分 3.5。")
    assert heads.startswith("| 程序 | Python 的报错 |") and "| 不报错 | 5 |" in last


def test_each_recorded_program_has_at_least_two_points():
    records = PublicReports.read(FACTS / "public-reports.json").records.values()
    low = {name for record in records for name, answer in record["answers"].items() if points(answer) < 2}
    assert low == set()


def test_a_missing_record_raises_an_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        PublicReports.read(tmp_path / "nothing.json")
