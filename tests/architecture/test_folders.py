"""Test that the folders of tests mirror the packages, and that helpers are in `tests/support`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.build import ROOT
from tools.environment import PACKAGES

TESTS = ROOT / "tests"
#: Folders of a package's tests for which the package has no folder of the same name, each with its contents.
OTHER = {
    "memory_stage/api": "tests of `memory_stage/api.py` and of the command",
    "memory_stage/js": "tests of `memory_stage/web/js` that run in Node",
    "memory_stage/peers": "recordings of real PyTorch and Paddle",
    "minitensor/conformance": "the whole package, compared with exact derivatives and recorded facts",
    "minitensor/vocabulary": "the packages `paddle` and `torch`, most of them together",
}
#: Packages beside the tests that are commands.
TOOLS = ("in_the_browser", "mutations")


def has_tests(path: Path) -> bool:
    """Return True if a file defines a test function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(node, functions) and node.name.startswith("test_") for node in ast.walk(tree))


def misplaced(folder: Path) -> list[str]:
    """Return the files with tests that are in `support`, and the helpers that are outside of it."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if parts[0] in TOOLS or path.name == "conftest.py" or ("programs" in parts[:-1] and parts[0] != "support"):
            continue
        if path.name.startswith("test_") is (parts[0] == "support") or has_tests(path) is (parts[0] == "support"):
            found.append("/".join(parts))
    return found


def test_files_with_tests_are_outside_of_support_and_helpers_inside():
    assert misplaced(TESTS) == []


@pytest.mark.parametrize(
    ("name", "text"), [("engine/helper.py", "X = 1\n"), ("support/test_it.py", "def test_it(): pass\n")]
)
def test_a_misplaced_file_is_found(tmp_path, name, text):
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert misplaced(tmp_path) == [name]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_of_tests_has_the_name_of_a_folder_of_its_package(package):
    folders = {path.name for path in (TESTS / package).iterdir() if path.is_dir() and path.name != "__pycache__"}
    of_package = {path.name for path in (ROOT / package).iterdir() if path.is_dir()}
    assert {name for name in folders - of_package if f"{package}/{name}" not in OTHER} == set()


def test_every_listed_exception_is_a_folder_of_tests():
    assert [name for name in OTHER if not (TESTS / name).is_dir()] == []
