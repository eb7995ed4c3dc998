"""Test the record of random programs: its sums, its differences, and the command that adds a run."""

from __future__ import annotations

import copy
import json

import pytest

from tests.support.conformance.programs import record

RUN = {
    "seed": "one",
    "date": "2026-11-27",
    "commit": "a",
    "programs": 70,
    "statements": 900,
    "verdicts": {"right": 60, "wrong": 10},
    "dtypes": {"float16": 70},
    "kinds": {"value": 10},
    "differences": [{"program": "x = 1", "mended": ""}],
}


def test_adding_a_longer_run_with_the_same_seed_replaces_the_shorter_run(tmp_path):
    file = tmp_path / "record.json"
    record.add(copy.deepcopy(RUN), file)
    whole = json.loads(file.read_text(encoding="utf-8"))
    whole["runs"][0]["differences"][0]["mended"] = "the engine adds in float32"
    file.write_text(json.dumps(whole), encoding="utf-8")
    record.add(copy.deepcopy(RUN) | {"programs": 80}, file)
    whole = record.add(copy.deepcopy(RUN) | {"seed": "two"}, file)
    assert [run["seed"] for run in whole["runs"]] == ["one", "two"]
    assert whole["programs"] == 150 and whole["kinds"] == {"value": 20} and whole["dtypes"] == {"float16": 140}
    assert whole["runs"][0]["differences"][0]["mended"] == "the engine adds in float32"
    with pytest.raises(SystemExit, match="longer run with seed one"):
        record.add(copy.deepcopy(RUN), file)


def test_a_run_writes_the_number_of_programs_by_verdict_and_by_dtype(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "DTYPES", (("float64",),))
    record.run("a seed", 0, tmp_path / "run.json")
    written = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert written["programs"] == written["dtypes"]["float64"] == record.LENGTHS[2, 9]
    assert written.keys() == RUN.keys() and not written["kinds"]
    assert written["programs"] == sum(written["verdicts"].values())


def test_the_sums_in_the_record_are_right_and_every_difference_has_been_mended():
    whole = json.loads(record.RECORD.read_text(encoding="utf-8"))
    assert whole == record.record_of(whole["runs"])
    for run in whole["runs"]:
        assert run["programs"] == sum(run["verdicts"].values()) == sum(run["dtypes"].values())
        assert sum(run["kinds"].values()) == run["verdicts"].get("wrong", 0) + run["verdicts"].get("invalid", 0)
        assert run["commit"] != "unknown" and all(each["mended"] for each in run["differences"])
