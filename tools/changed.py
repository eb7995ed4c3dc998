"""Find the tests that concern the changed files, for `make check`, which takes a minute.

A test concerns a module of a package if the test imports the module, or if `tests/mutations` lists the test for a fault
planted in the module. For other kinds of files, `RULES` lists the tests. `make test` runs all tests.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.run_tests import ROOT, longest, needs_the_book

#: A cross-section of all tests, which takes half a minute of one core and runs after every change.
CROSS_SECTION = (
    "tests/architecture/test_layers.py",
    "tests/chapters/test_rules.py",
    "tests/minitensor/conformance/test_goldens.py",
    "tests/minitensor/conformance/test_names.py",
    "tests/minitensor/engine/device/test_allocator.py",
    "tests/minitensor/engine/test_autograd.py",
    "tests/minitensor/engine/test_copy_on_write_policies.py",
    "tests/minitensor/engine/test_in_place.py",
    "tests/minitensor/engine/test_leaves.py",
    "tests/minitensor/engine/test_memory.py",
    "tests/minitensor/engine/test_operations.py",
    "tests/minitensor/engine/test_stale.py",
    "tests/minitensor/engine/test_views.py",
    "tests/minitensor/engine/test_writes.py",
    "tests/book_kit/test_exercise.py",
    "tests/memory_stage/web/test_colours.py",
    "tests/minitensor/vocabulary/test_paddle_programs.py",
    "tests/minitensor/vocabulary/test_torch_record.py",
)
#: Maps the beginning of a path to the tests that concern such files. Most of these files are not imported by a test.
RULES = {
    "_config.yml": ("tests/site/test_build.py",),
    "_ext/": ("tests/site/test_build.py",),
    "benchmarks/": ("tests/minitensor/engine/test_benchmarks.py",),
    "chapters/": ("tests/chapters/test_rules.py", "tests/chapters/test_stage_guide.py"),
    "facts/": ("tests/minitensor/conformance/test_goldens.py",),
    "facts/message": ("tests/book_kit/test_error_tables.py",),
    "facts/article": ("tests/book_kit/test_claim_tables.py",),
    "memory_stage/web/js/": ("tests/memory_stage/web/test_element.py", "tests/memory_stage/web/test_picture.py"),
    "book_kit/web/js/": ("tests/book_kit/test_quiz.py",),
    "_ext/book_pages/theme/js/": ("tests/site/test_page.py", "tests/tools/test_js.py"),
    "pyproject.toml": ("tests/tools/test_check.py", "tests/site/test_tools.py"),
    "requirements": ("tests/site/test_tools.py",),
}
#: The tests that concern the changes may take this part of the recorded time of all tests, about a minute of one core.
#: A limit in seconds would be wrong if `tests/longest.txt` was recorded on a busy machine, where all tests are slow.
LARGEST_PART = 0.03
UNLISTED = 1.5  # the seconds assumed for a file that is not in tests/longest.txt


@dataclass(frozen=True)
class Selection:
    """Tests that concern the changes.

    Attributes:
        chosen: files of tests to run: changed tests, then those found by rule, by import and by planted fault.
        omitted: files of tests that do not run, because they take too long or need the built book.
    """

    chosen: tuple[str, ...]
    omitted: tuple[str, ...]


def files() -> set[str]:
    """Return the files changed since the branch left `main` or, if there are none, those of the last commit.

    If there is no `main`, return the files with uncommitted changes.
    """
    untracked = set(_git("ls-files", "--others", "--exclude-standard"))
    for base in ("origin/main", "main"):
        if fork := _git("merge-base", "HEAD", base):
            changed = set(_git("diff", "--name-only", *fork)) | untracked
            return changed or set(_git("diff", "--name-only", "HEAD~1"))
    return set(_git("diff", "--name-only", "HEAD")) | untracked


def _git(*arguments: str) -> list[str]:
    """Return the lines of git's output; an empty list if git fails, for example outside of a checkout."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def tests(changed: Iterable[str]) -> Selection:
    """Return the tests that concern changed files, divided into those to run and those to omit."""
    changed = sorted(changed)
    ordered: dict[str, None] = dict.fromkeys(path for path in changed if _is_test(path) and (ROOT / path).exists())
    for find in (_by_rule, _by_import, _by_fault):
        for path in changed:
            ordered |= dict.fromkeys(sorted(find(path)))
    took, room = longest(), largest_sum()
    chosen, omitted = [], []
    for path in ordered:
        cost = took.get(path, UNLISTED)
        if cost <= room and not needs_the_book(path):
            room -= cost
            chosen.append(path)
        else:
            omitted.append(path)
    return Selection(tuple(chosen), tuple(omitted))


def largest_sum() -> float:
    """Return how many recorded seconds the tests that concern the changes may take together."""
    return LARGEST_PART * sum(longest().values())


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def _by_rule(path: str) -> set[str]:
    return {test for begin, named in RULES.items() if path.startswith(begin) for test in named}


def _by_import(path: str) -> set[str]:
    """Return the files of tests that import a module, directly or through another file in `tests`."""
    if not path.endswith(".py"):
        return set()
    wanted, found = {path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")}, set()
    while wanted:
        importing = {name for name, imported in imports().items() if wanted & imported and name not in found}
        found |= importing
        wanted = {name.removesuffix(".py").replace("/", ".") for name in importing}
    return {name for name in found if _is_test(name)}


def _by_fault(path: str) -> set[str]:
    """Return the files of tests that `tests/mutations` lists for the faults planted in a file."""
    from tests.mutations import planted  # noqa: F401  (adds all mutations to MUTATIONS)
    from tests.mutations.mutation import MUTATIONS
    from tests.mutations.runner import path as file_of

    noticing = {tests for each in MUTATIONS.values() if each.file == path for tests in each.tests}
    return {file_of(tests).partition("::")[0] for tests in noticing}


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules and names that each file of the tests imports."""
    return {
        path.relative_to(ROOT).as_posix(): _imported_names(ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted((ROOT / "tests").rglob("*.py"))
    }


def _imported_names(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
