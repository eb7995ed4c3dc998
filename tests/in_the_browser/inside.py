"""Functions that run files of tests and random programs in the browser. Arguments and results are JSON."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import platform
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitensor
from tests.in_the_browser.absent import ABSENT, reason_against
from tools.environment import PACKAGES

#: These options avoid threads, processes and cache files.
OPTIONS = ["-vv", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:xdist"]


#: The exit statuses of a completed run. Any other status reports an error in the arguments, or in pytest itself.
ENDED = (
    *(pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
    *(pytest.ExitCode.INTERRUPTED, pytest.ExitCode.NO_TESTS_COLLECTED),  # an import failed, or a file skipped itself
)


class Listener:
    """Count outcomes, and store each failure and the reasons why tests did not run."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self.reasons: Counter[str] = Counter()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        here = []
        for item in items:
            if reason := reason_against(item.nodeid):
                self.leave_out(reason)
            else:
                here.append(item)
        items[:] = here

    def leave_out(self, reason: str) -> None:
        self.counts["left out"] += 1
        self.reasons[reason] += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.counts["skipped"] += 1
            self.reasons[report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.wasxfail)] += 1
        elif report.failed:
            self.fail(report)
        elif report.when == "call":
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.fail(report)
        elif report.skipped:
            self.reasons[report.longrepr[2]] += 1

    def fail(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = crash.message if crash else report.longreprtext
        reason = next((ABSENT[absent] for absent in ABSENT if absent in said), None)
        if reason:
            self.leave_out(reason)
            return
        self.counts["failed"] += 1
        self.failed[report.nodeid] = report.longreprtext


def versions(given: str) -> str:
    """Return the versions of Python and numpy, and the platform."""
    found = {"python": platform.python_version(), "numpy": np.__version__, "platform": sys.platform}
    return json.dumps({**found, "intp": np.dtype(np.intp).itemsize})


def tests(given: str) -> str:
    """Run files of tests; return outcomes, the text of each failure, and the reasons of tests that did not run."""
    asked = json.loads(given)
    return json.dumps(ran([*asked.get("options", ()), *asked["paths"]]))


def ran(arguments: list[str]) -> dict[str, Any]:
    listener, began = Listener(), time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main([*OPTIONS, *arguments], plugins=[listener])
    if status not in ENDED:
        raise RuntimeError(printed.getvalue())
    reported = {"counts": listener.counts, "failed": listener.failed, "reasons": listener.reasons}
    return {**reported, "status": int(status), "seconds": time.monotonic() - began}


def broken(given: str) -> str:
    """Run one test that passes, one that fails, and one that starts a process."""
    Path("/tmp/test_broken.py").write_text(BROKEN, encoding="utf-8")
    return json.dumps(ran(["--rootdir=/tmp", "-c", "/dev/null", "/tmp/test_broken.py"]))


BROKEN = """
import subprocess, sys
def test_holds(): assert 1 == 1
def test_fails(): assert 1 == 2
def test_asks(): subprocess.run([sys.executable, "-c", "1"])
"""


def complete(given: str) -> str:
    """Install the files of minitensor that its wheel for pages lacks, for example the schema of snapshots."""
    shutil.copytree("/checkout/rest/minitensor", minitensor.__path__[0], dirs_exist_ok=True)
    importlib.invalidate_caches()
    return json.dumps({})


def modules(given: str) -> str:
    """Import every module of our packages; return their names, and the error of each module that failed."""
    found, lacking = [], {}
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            found.append(module.name)
            try:
                importlib.import_module(module.name)
            except Exception as error:
                lacking[module.name] = f"{type(error).__name__}: {error}"
    return json.dumps({"found": found, "lacking": lacking})


def programs(given: str) -> str:
    """Run random programs; return the verdicts, and the wrong programs."""
    from tests.support.conformance.programs.batch import run_batch

    asked = json.loads(given)
    began = time.monotonic()
    numbers = range(asked["first"], asked["first"] + asked["count"])
    report = run_batch(minitensor, asked["seed"], numbers, asked["policy"], tuple(asked["lengths"]))
    return json.dumps({"verdicts": report.verdicts, "wrong": report.wrong, "seconds": time.monotonic() - began})
