"""Check the lists of files that run in the browser and that do not, and the record of a complete run."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Error

from tests.in_the_browser import __main__ as command
from tests.in_the_browser.__main__ import RECORD, counts
from tests.in_the_browser.absent import NOT_THERE
from tests.in_the_browser.files import LEFT_OUT, runs
from tools.build import ROOT


def test_the_omitted_files_exist_and_most_files_run_in_the_browser():
    assert [path for path in LEFT_OUT if not (ROOT / path).exists()] == []
    assert not set(LEFT_OUT) & set(runs())
    assert len(runs()) > 3 * len(LEFT_OUT)


def test_every_test_that_is_listed_as_not_run_exists():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *NOT_THERE]
    collected = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    named = [f"{file}::{begin}" for file, tests in NOT_THERE.items() for begin in tests]
    assert set(NOT_THERE) <= set(runs())
    assert [begin for begin in named if not any(test.startswith(begin) for test in collected)] == []


def test_no_recorded_test_failed_and_no_recorded_program_was_wrong():
    """`python -m tests.in_the_browser --record` wrote the record."""
    reported = json.loads(RECORD.read_text(encoding="utf-8"))
    tests, programs = reported["tests"], reported["programs"]
    assert (tests["failed"], programs["wrong"]) == ({}, [])
    assert counts(tests)["passed"] > 20_000
    assert "wrong" not in programs["verdicts"] and programs["verdicts"]["right"] >= 3_000
    assert {(part["platform"], part["intp"]) for part in reported.values()} == {("emscripten", 4)}


def test_a_file_that_ends_python_is_in_the_sums_and_the_next_file_runs(monkeypatch):
    def outcome(paths: list[str]) -> dict[str, Any]:
        if paths == ["ends.py"]:
            raise Error("memory access out of bounds")
        return {"counts": {"passed": 2}, "failed": {}, "reasons": {}, "seconds": 0.0}

    python = SimpleNamespace(tests=outcome, complete=lambda: None)
    monkeypatch.setattr(command, "python_in", lambda *given: nullcontext(python))
    monkeypatch.setattr(command, "where", lambda *given: {})
    reported = command.of_tests(None, None, ["one.py", "ends.py", "two.py"])
    assert reported["failed"] == {"ends.py": "memory access out of bounds"}
    assert counts(reported) == {"passed": 4, "failed": 0, "skipped": 0, "left out": 0, "ended Python": 1}
