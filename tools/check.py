"""Run the checks of the project in steps: for `make check`, `make test`, pre-commit and continuous integration.

    python tools/check.py              the quick part: style, tests that concern the changes, and a cross-section
    python tools/check.py --all        everything: `make test`
    python tools/check.py --no-tests   the steps that do not run the code: before a commit
    python tools/check.py format lint  only these steps

All callers read the steps from this file. To add a step that does not run the code, add a line to `STEPS`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import changed, run_tests  # noqa: E402

#: Maps the name of each step that does not run the code to its command, which is in the same folder as this Python.
STEPS: dict[str, list[str]] = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "layers": ["lint-imports", "--no-cache", "--no-logo"],
    "types": ["mypy"],
    "spelling": ["codespell"],
    "js": ["python", "tools/js.py"],
    "language": ["python", "tools/plain_language.py"],
}
TESTS = "tests"
LATE = ("types",)  # takes half a minute of one core, so the tests start before it ends


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python tools/check.py", description="Run the checks of the project in steps.")
    parser.add_argument("steps", nargs="*", metavar="step", help=f"one of {', '.join((*STEPS, TESTS))} (default: all)")
    parser.add_argument("--all", action="store_true", help="all tests, not only those that concern the changes")
    parser.add_argument("--no-tests", action="store_true", help="only the steps that do not run the code")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.steps) - {*STEPS, TESTS}
    if unknown:
        parser.error(f"there is no step {', '.join(sorted(unknown))}; there are {', '.join((*STEPS, TESTS))}")
    steps = chosen.steps or [*STEPS, *([] if chosen.no_tests else [TESTS])]
    began = time.perf_counter()
    running = begin([step for step in steps if step in STEPS])
    late = {step: running.pop(step) for step in LATE if step in running and TESTS in steps}
    failed = end(running, began)
    tests_failed = TESTS in steps and not failed and test(everything=chosen.all) != 0
    failed += end(late, began) + [TESTS] * tests_failed
    print(f"failed: {', '.join(failed)}" if failed else f"{', '.join(steps)}: all well")
    return 1 if failed else 0


def begin(steps: list[str]) -> dict[str, subprocess.Popen[str]]:
    """Start steps that do not run the code, all in parallel."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
    return {step: subprocess.Popen(command(*STEPS[step]), cwd=ROOT, **pipes) for step in steps}


def end(running: dict[str, subprocess.Popen[str]], began: float) -> list[str]:
    """Wait for steps, print the output of those that failed, and return the names of those that failed."""
    failed = []
    for step, process in running.items():
        output = output_of(process, step, began)
        outcome = "failed" if process.returncode else "well"
        if output.startswith("skipped: "):
            outcome = output.strip()
        print(f"{step}: {outcome} after {time.perf_counter() - began:.0f} s", flush=True)
        if process.returncode:
            print(output, flush=True)
            failed.append(step)
    return failed


def output_of(process: subprocess.Popen[str], step: str, began: float) -> str:
    """Wait for a step and return its output; print a line every half minute while it runs."""
    while True:
        try:
            return process.communicate(timeout=run_tests.EVERY)[0]
        except subprocess.TimeoutExpired:
            print(f"after {time.perf_counter() - began:.0f} s: {step} is running", flush=True)


def command(name: str, *arguments: str) -> list[str]:
    """Return a command with its path in this environment, even if the PATH has another command of the same name."""
    return [shutil.which(name, path=str(Path(sys.executable).parent)) or name, *arguments]


def test(*, everything: bool) -> int:
    """If `everything`, run all tests; otherwise run the cross-section and the tests that concern the changes.

    Returns:
        The exit status.
    """
    if everything:
        return run_tests.main([])
    found = changed.tests(changed.files())
    print(f"{len(found.chosen)} files of tests concern the changes, {len(changed.CROSS_SECTION)} are a cross-section")
    if found.omitted:
        print(f"only make test runs: {', '.join(found.omitted)}", flush=True)
    return run_tests.main(list(dict.fromkeys([*found.chosen, *changed.CROSS_SECTION])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
