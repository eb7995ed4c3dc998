"""Run tests on a mutant, in a copy of the package and its tests, and determine whether a test notices the fault.

The working tree is only read. Every process has limits of time and memory. A test counts if it fails in its body, for
another reason than invalid code, and passes without the fault.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from .mutation import ROOT, Mutation

PARTS = (
    "minitensor",
    "memory_stage",
    "tests/minitensor",
    "tests/support",
    "tests/memory_stage/conftest.py",
    "tests/memory_stage/explanation",
    "tests/mutations",
    "tests/conftest.py",
    "facts",
    "pyproject.toml",
)
SECONDS, BYTES = 300, 4 << 30

#: The values of ``MUTATION_DEVICES`` that select the tests on the host, and the tests on a GPU.
HOST, GPU = "host", "gpu"

#: An error of one of these types shows that the mutant is not valid code, or that a name is missing.
NO_CODE = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "UnboundLocalError")

#: Tests to run if the expected ones have not noticed: quick files first, then parts of the conformance suite.
QUICK = (
    *("autograd", "grad", "modes", "writes", "leaves", "hooks", "stale", "retained", "indexing", "memory", "watching"),
    *("memory_returns", "all_or_nothing", "all_or_nothing_values", "protocols", "dtypes", "creation", "unusual_input"),
    *("views", "in_place", "operations", "alias_programs", "bad_operands", "bad_input", "copy_on_write_policies"),
    *("copy_on_write_random", "copy_on_write", "py_layer", "gradcheck", "functions", "logic", "random_fills"),
    *("indexed_writes", "indexed_refusals", "infinite_views", "infinite", "depth", "printing"),
)
CONFORMANCE = (
    "tests/minitensor/conformance/test_exhaustive.py::test_short_programs_are_right_or_refused_with_the_right_reason",
    "tests/minitensor/conformance/test_programs.py::test_programs_are_right_or_refused_with_a_reason[2.6-2to9-0]",
    "tests/minitensor/conformance/test_programs.py::test_programs_are_right_or_refused_with_a_reason[2.5-2to9-0]",
    "tests/minitensor/conformance/test_goldens.py",
    "tests/memory_stage/explanation/test_explain.py",
)


@dataclass
class Verdict:
    """The verdict on one mutation.

    Attributes:
        verdict: "noticed", "survived", or "broken" if the mutant did not run.
        test: the test that noticed the fault, or that broke.
        message: the message of this test's failure.
    """

    mutation: Mutation
    verdict: str
    test: str = ""
    message: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        by = f" by {self.test}: {self.message[:80].splitlines()[0]}" if self.test and self.message else ""
        return f"{self.verdict:9}{self.mutation.name:52} {self.seconds:5.1f} s{by}"


class Tree:
    """A copy of the package and its tests, in which one mutant after another runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            source, copy = ROOT / part, folder / part
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.tmp"))
            else:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
        self._passing: dict[str, bool] = {}
        self._failing: dict[str, list[str]] = {}  # maps a file or a test to the tests that fail without a fault

    def judge(self, mutation: Mutation, with_others: bool = True) -> Verdict:
        """Plant the fault, run the expected tests and, if ``with_others``, all others; then remove the fault."""
        began = time.monotonic()
        file = self.folder / mutation.file
        sound = mutation.source(self.folder)
        try:
            mutation.planted(sound)
        except ValueError as error:
            return Verdict(mutation, "broken", message=str(error))
        verdict = Verdict(mutation, "survived")
        for tests, devices in self._turns(mutation, with_others):
            found = self._try(file, sound, mutation, tests, devices)
            if found and tests not in self._failing and not self._passes(found[0][1]):
                # This test also fails without the fault. Find all tests that do, and run the others again.
                self._failing[tests] = [test for _, test, _ in self.run(tests, most=1000)]
                found = self._try(file, sound, mutation, tests, devices)
            if found:
                verdict = Verdict(mutation, *found[0])
                break
        verdict.seconds = time.monotonic() - began
        return verdict

    def _try(self, file: Path, sound: str, mutation: Mutation, tests: str, devices: str) -> list[tuple[str, str, str]]:
        """Return the first failure of ``tests`` on the mutant, if any."""
        write(file, mutation.planted(sound))
        try:
            return self.run(tests, devices, self._failing.get(tests, ()))
        finally:
            write(file, sound)

    def _turns(self, mutation: Mutation, with_others: bool) -> list[tuple[str, str]]:
        """Return the tests to run, each with its devices. The host comes first, because most faults show there."""
        expected = [path(name) for name in mutation.tests]
        turns = [(tests, devices) for devices in (HOST, GPU) for tests in expected]
        if with_others:
            files = [f"tests/minitensor/engine/test_{name}.py" for name in QUICK]
            folder = self.folder / "tests/minitensor/engine"
            files += sorted(str(file.relative_to(self.folder)) for file in folder.rglob("test_*.py"))
            others = [f for f in (*dict.fromkeys(files), *CONFORMANCE) if f not in expected]
            turns += [(tests, devices) for devices in (HOST, GPU) for tests in others]
        return [turn for turn in turns if (self.folder / turn[0].partition("::")[0]).exists()]

    def run(
        self, tests: str, devices: str = "", deselected: Sequence[str] = (), most: int = 1
    ) -> list[tuple[str, str, str]]:
        """Run pytest on ``tests`` and return up to ``most`` failures: (noticed or broken, test, message).

        Args:
            tests: a file, or a test in it.
            devices: ``HOST`` or ``GPU`` to run only the tests on one of them; "" to run both.
            deselected: tests to leave out.
        """
        report = self.folder / "report.jsonl"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutations.failures", "-p", "no:cacheprovider"]
        command += [f"--maxfail={most}", *(f"--deselect={test}" for test in deselected), tests]
        environment = {**os.environ, "MUTATION_REPORT": str(report), "PYTHONPATH": str(self.folder)}
        environment["MUTATION_DEVICES"] = devices
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                preexec_fn=_limit_memory,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return [("broken", tests, f"the tests did not end within {SECONDS} s")]
        entries = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        if not entries or not entries[0].get("package", "").startswith(str(self.folder)):
            return [("broken", tests, done.stdout[-1500:])]
        found = []
        for entry in entries[1:]:
            sound = "failed" in entry and not entry["message"].startswith(NO_CODE)
            found.append(("noticed" if sound else "broken", entry.get("failed") or entry["broken"], entry["message"]))
        if done.returncode == 4 and "ERROR: not found" in done.stdout:
            return []  # the test was moved or renamed; the other tests still run
        if not found and done.returncode not in (0, 5):
            return [("broken", tests, done.stdout[-1500:])]
        return found

    def _passes(self, test: str) -> bool:
        """True if ``test`` passes without a fault."""
        if test not in self._passing:
            self._passing[test] = self.run(test) == []
        return self._passing[test]


def write(file: Path, source: str) -> None:
    """Write a module and delete its compiled file, because file times are too coarse to reveal the change."""
    file.write_text(source, encoding="utf-8")
    Path(cache_from_source(file)).unlink(missing_ok=True)


def path(tests: str) -> str:
    """Return ``in_place::test_x`` as a path for pytest."""
    name, colons, test = tests.partition("::")
    return tests if "/" in name else f"tests/minitensor/engine/test_{name}.py{colons}{test}"


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
