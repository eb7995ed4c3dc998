"""Everything that has to hold, in steps: what `make check`, `make test`, pre-commit and continuous integration run.

    python tools/check.py              the quick part: the style, the tests of what has changed, and a cross-section
    python tools/check.py --all        all of it: `make test`
    python tools/check.py --no-tests   what looks at the code without running it: before a commit
    python tools/check.py format lint  the steps named

The steps stand here and nowhere else. One that looks at the code without running it is a line of `STEPS`.
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

#: What looks at the code: the name of a step, and its command, of those beside this Python.
STEPS: dict[str, list[str]] = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "layers": ["lint-imports", "--no-cache", "--no-logo"],
    "types": ["mypy"],
    "spelling": ["codespell"],
    "language": ["python", "tools/plain_language.py"],
}
TESTS = "tests"
LATE = ("types",)  # takes half a minute of one core: the tests need not wait for it


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python tools/check.py", description="Everything that has to hold, in steps.")
    parser.add_argument("steps", nargs="*", metavar="step", help=f"of {', '.join((*STEPS, TESTS))} (all)")
    parser.add_argument("--all", action="store_true", help="all tests, not only those of what has changed")
    parser.add_argument("--no-tests", action="store_true", help="only what looks at the code without running it")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.steps) - {*STEPS, TESTS}
    if unknown:
        parser.error(f"there is no step {', '.join(sorted(unknown))}; there are {', '.join((*STEPS, TESTS))}")
    steps = chosen.steps or [*STEPS, *([] if chosen.no_tests else [TESTS])]
    began = time.perf_counter()
    looking = begin([step for step in steps if step in STEPS])
    late = {step: looking.pop(step) for step in LATE if step in looking and TESTS in steps}
    failed = end(looking, began)
    tests_failed = TESTS in steps and not failed and test(everything=chosen.all) != 0
    failed += end(late, began) + [TESTS] * tests_failed
    print(f"failed: {', '.join(failed)}" if failed else f"{', '.join(steps)}: all well")
    return 1 if failed else 0


def begin(steps: list[str]) -> dict[str, subprocess.Popen[str]]:
    """Start the steps that look at the code, all at a time."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
    return {step: subprocess.Popen(command(*STEPS[step]), cwd=ROOT, **pipes) for step in steps}


def end(looking: dict[str, subprocess.Popen[str]], began: float) -> list[str]:
    """Wait for steps, and show what those have to say that failed; their names."""
    failed = []
    for step, process in looking.items():
        said, _ = process.communicate()
        outcome = "failed" if process.returncode else "well"
        print(f"{step}: {outcome} after {time.perf_counter() - began:.0f} s", flush=True)
        if process.returncode:
            print(said, flush=True)
            failed.append(step)
    return failed


def command(name: str, *arguments: str) -> list[str]:
    """A command of this environment, whatever else is on the PATH."""
    return [shutil.which(name, path=str(Path(sys.executable).parent)) or name, *arguments]


def test(*, everything: bool) -> int:
    """Run all tests, or those of what has changed and the cross-section; the exit status."""
    if everything:
        return run_tests.main([])
    found = changed.tests(changed.files())
    print(
        f"{len(found.chosen)} files of tests are about what has changed, {len(changed.CROSS_SECTION)} a cross-section"
    )
    if found.left:
        print(f"left to make test: {', '.join(found.left)}", flush=True)
    return run_tests.main(list(dict.fromkeys([*found.chosen, *changed.CROSS_SECTION])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
