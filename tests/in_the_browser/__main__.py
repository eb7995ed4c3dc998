"""Run the engine's tests and random programs under Python in a browser: python -m tests.in_the_browser --record"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Browser, Error, sync_playwright

from tests.in_the_browser.driving import Python, python_in
from tests.in_the_browser.files import LEFT_OUT, runs
from tools import chromium, live

RECORD = live.ROOT / "facts" / "in-the-browser.json"
SEED = "in the browser"
#: (policy, least and most statements, share of all programs), as in `tests/minitensor/conformance/test_programs.py`.
PLANS = [
    ("2.6", (2, 9), 0.35),
    ("2.5", (2, 9), 0.15),
    ("copy_on_write", (2, 9), 0.25),
    ("mixed", (2, 9), 0.15),
    ("2.6", (8, 30), 0.05),
    ("copy_on_write", (8, 30), 0.05),
]
CHUNK = 250


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.in_the_browser", description=__doc__.partition(":")[0])
    parser.add_argument("paths", nargs="*", help="files of tests (default: all that can run in a browser)")
    parser.add_argument("--no-tests", action="store_true", help="random programs only")
    parser.add_argument("--programs", type=int, default=20_000, help="number of random programs (default: 20,000)")
    parser.add_argument("--record", action="store_true", help=f"write the results into {RECORD.relative_to(live.ROOT)}")
    chosen = parser.parse_args()
    try:
        fetched = live.fetch_parts()
    except live.MissingError as missing:
        sys.exit(str(missing))
    bad: dict[str, Any] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.FLAGS)
        if not chosen.no_tests:
            tests = of_tests(browser, fetched, chosen.paths or runs())
            bad |= tests["failed"]
            if chosen.record:
                record("tests", tests, chosen.paths)
        if chosen.programs:
            programs = of_programs(browser, fetched, chosen.programs)
            bad |= {f"random program {number}": text for number, text in enumerate(programs["wrong"])}
            if chosen.record:
                record("programs", programs)
        browser.close()
    for node, text in bad.items():
        print(f"\n{node}\n{text}")
    return 1 if bad else 0


def record(part: str, reported: dict[str, Any], paths: Sequence[str] = ()) -> None:
    """Write one part of the record, and keep the other. With ``paths``, replace only the results of these files."""
    there = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if paths and part in there:
        before = there[part]
        failed = {node: text for node, text in before["failed"].items() if node.partition("::")[0] not in paths}
        reported = before | {
            "failed": failed | reported["failed"],
            "files": before["files"] | reported["files"],
            "again": [*before.get("again", ()), reported["command"]],
        }
    there[part] = reported
    RECORD.write_text(json.dumps(there, indent=1) + "\n", encoding="utf-8")


def where(browser: Browser, fetched: live.FetchedParts, python: Python) -> dict[str, Any]:
    """Return a description of the run and its platform."""
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python -m tests.in_the_browser", *sys.argv[1:]]),
        "machine": platform.machine(),
        "chromium": browser.version,
        "pyodide": next(part["version"] for part in live.packages(fetched) if part["name"] == "Pyodide"),
        "numpy_is_distributed": fetched.is_distributed,
        **python.versions(),
    }


def of_tests(browser: Browser, fetched: live.FetchedParts, paths: list[str]) -> dict[str, Any]:
    """Return the results of files of tests. A file that ends Python is listed as failed, and the next file starts a new
    Python.
    """
    files: dict[str, Any] = {}
    failed: dict[str, str] = {}
    reported: dict[str, Any] = {}
    left = list(paths)
    while left:
        with python_in(browser, fetched) as python:
            reported = where(browser, fetched, python)
            python.complete()
            while left:
                path = left.pop(0)
                try:
                    found = python.tests(paths=[path])
                except Error as error:
                    failed[path], files[path] = str(error), {"ended Python": 1}
                    print(f"{path} ended Python: {error}", flush=True)
                    break
                files[path] = {**found["counts"], "seconds": round(found["seconds"], 1)}
                print(f"{path}: {files[path]}", *found["failed"], sep="\n    ", flush=True)
                if found["reasons"]:
                    files[path]["not run"] = found["reasons"]
                failed |= found["failed"]
    reported |= {"failed": failed, "files": files, "files left out": LEFT_OUT}
    print(f"tests: {counts(reported)}", flush=True)
    return reported


def counts(reported: dict[str, Any]) -> dict[str, int]:
    """Add up the outcomes of all files of tests."""
    kinds = ("passed", "failed", "skipped", "left out", "ended Python")
    return {kind: sum(file.get(kind, 0) for file in reported["files"].values()) for kind in kinds}


def of_programs(browser: Browser, fetched: live.FetchedParts, programs: int) -> dict[str, Any]:
    """Return the verdicts on about this many random programs: right, refused for a reason, or wrong."""
    verdicts, wrong = Counter[str](), list[str]()
    with python_in(browser, fetched) as python:
        reported = where(browser, fetched, python)
        for policy, lengths, share in PLANS:
            count = round(programs * share)
            for first in range(0, count, CHUNK):
                number = min(CHUNK, count - first)
                found = python.programs(seed=SEED, first=first, count=number, policy=policy, lengths=lengths)
                verdicts.update(found["verdicts"])
                wrong += found["wrong"]
            print(f"programs, {policy}, {lengths[0]} to {lengths[1]} statements: {dict(verdicts)}", flush=True)
    return reported | {"seed": SEED, "verdicts": dict(verdicts), "wrong": wrong}


if __name__ == "__main__":
    sys.exit(main())
