"""Run the engine's tests and random programs under Python in a browser: python -m tests.in_the_browser --record"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections import Counter
from typing import Any

from playwright.sync_api import Browser, Error, sync_playwright

from tests.in_the_browser.driving import python_in
from tests.in_the_browser.files import LEFT_OUT, runs
from tools import chromium, live

RECORD = live.ROOT / "facts" / "in-the-browser.json"
SEED = "in the browser"
#: (policy, least and most statements, share of all programs), as in `tests/conformance/test_programs.py`.
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
    parser.add_argument("paths", nargs="*", help="files of tests (all that can run there)")
    parser.add_argument("--programs", type=int, default=20_000, help="random programs (20,000)")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(live.ROOT)}")
    chosen = parser.parse_args()
    try:
        brought = live.bring()
    except live.MissingError as missing:
        sys.exit(str(missing))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.FLAGS)
        told = everything(browser, brought, chosen.paths or runs(), chosen.programs)
        told["chromium"] = browser.version
        browser.close()
    print(f"tests: {told['tests']}; programs: {told['programs']}")
    for node, text in told["failed"].items():
        print(f"\n{node}\n{text}")
    for text in told["wrong"]:
        print(f"\n{text}")
    if chosen.record:
        RECORD.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 1 if told["failed"] or told["wrong"] else 0


def everything(browser: Browser, brought: live.Brought, paths: list[str], programs: int) -> dict[str, Any]:
    """What came of all of it. A file that ends Python there is counted as failed, and the next begins anew."""
    told = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python -m tests.in_the_browser", *sys.argv[1:]]),
        "machine": platform.machine(),
        "pyodide": next(part["version"] for part in live.packages(brought) if part["name"] == "Pyodide"),
        "numpy_is_distributed": brought.is_distributed,
    }
    counts, verdicts = Counter[str](), Counter[str]()
    files: dict[str, Any] = {}
    reasons, failed, wrong = Counter[str](), dict[str, str](), list[str]()
    left = list(paths)
    while left:
        with python_in(browser, brought) as python:
            told |= python.versions()
            python.complete()
            while left:
                path = left.pop(0)
                try:
                    found = python.tests(paths=[path])
                except Error as error:
                    failed[path] = str(error)
                    print(f"{path} ended Python: {error}", flush=True)
                    break
                files[path] = {**found["counts"], "seconds": round(found["seconds"], 1)}
                counts.update(found["counts"])
                reasons.update(found["reasons"])
                failed |= found["failed"]
                print(f"{path}: {files[path]}", *found["failed"], sep="\n    ", flush=True)
    with python_in(browser, brought) as python:
        for policy, lengths, share in PLANS:
            count = round(programs * share)
            for first in range(0, count, CHUNK):
                number = min(CHUNK, count - first)
                found = python.programs(seed=SEED, first=first, count=number, policy=policy, lengths=lengths)
                verdicts.update(found["verdicts"])
                wrong += found["wrong"]
            print(f"programs under {policy}, {lengths[0]} to {lengths[1]} statements: {dict(verdicts)}", flush=True)
    told |= {"tests": dict(counts), "programs": dict(verdicts), "failed": failed, "wrong": wrong}
    return told | {"not run": dict(reasons), "files": files, "files left out": LEFT_OUT}


if __name__ == "__main__":
    sys.exit(main())
