"""Test the reading path of the engine, and that each file of code is short or has a reason to be longer."""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Callable
from importlib import import_module
from types import CodeType
from typing import Any

import pytest

import minitensor
from minitensor.engine.operations.compiling import CALLS, FUNCTIONS
from minitensor.engine.table import ROWS
from tools.build import ROOT

MOST = 500  # lines of a file
MOST_TO_READ = 2_500  # lines of the eight files of the reading path

#: Maps the end of each longer file's path to the reason for its length.
LONGER = {
    "facts/gradients.py": "a list: the programs that are run",
    "facts/layouts.py": "a list: the programs that are run, with the layouts of their operands",
    "facts/learners.py": "a list: programs of learners, by subject",
}
#: The files with a limit. Tests have none, because they are lists of cases.
CODE = [
    path
    for pattern in ("{package}/**/*.*", "_ext/**/*.*", "benchmarks/**/*.py", "chapters/**/*.py", "facts/*.py",
                    "tools/*.py", "book/live/*.*")
    for package in (("minitensor", "memory_stage", "book_kit") if "{" in pattern else ("",))
    for path in ROOT.glob(pattern.format(package=package))
    if path.suffix in (".py", ".js", ".css", ".mjs") and "built" not in path.parts
]  # fmt: skip


ENGINE = ROOT / "minitensor" / "engine"
README = (ENGINE / "README.md").read_text()


def length(path: str) -> int:
    return len((ENGINE / path).read_text().splitlines())


def in_readme() -> list[tuple[str, int]]:
    """Return the files to read in the order of the engine's README, each with its length in lines as stated there."""
    return [(path, int(lines)) for path, lines in re.findall(r"\((\S+)\) \| (\d+) \|", README)]


def in_package() -> list[tuple[str, int]]:
    """Return the files to read and their numbers of lines from the docstring of the package."""
    return [(path, int(lines)) for path, lines in re.findall(r"^ +\d\. (\S+) +(\d+) ", minitensor.__doc__, re.M)]


def test_a_file_is_short_or_is_listed_with_a_reason():
    assert len(CODE) > 500
    long = {path.relative_to(ROOT).as_posix() for path in CODE if len(path.read_text("utf-8").splitlines()) > MOST}
    assert {path for path in long if not path.endswith(tuple(LONGER))} == set()
    assert {end for end in LONGER if not any(path.endswith(end) for path in long)} == set()


def test_the_files_to_read_have_about_the_stated_lengths():
    assert len(in_readme()) == 8
    assert {path: lines for path, lines in in_readme() if abs(lines - length(path)) > length(path) / 20} == {}


def test_the_readme_and_the_docstring_name_the_same_files_in_the_same_order():
    assert in_readme() == in_package()


def test_the_files_to_read_are_small_and_their_sum_is_stated():
    total = sum(length(path) for path, _ in in_readme())
    assert total <= MOST_TO_READ
    for text in (README, minitensor.__doc__):
        (said,) = re.findall(r"([\d,]+) lines", text)
        assert abs(int(said.replace(",", "")) - total) <= total / 50


def test_the_reading_path_ends_with_a_generated_function():
    program = 'print(minitensor.source("add_"))'
    assert program in README and program in minitensor.__doc__
    assert minitensor.source("add_").startswith("def add_(")


#: The words with which the README's text about the followed write ends. `followed` ignores the table after them.
MORE = "Other names that these functions use"


def followed(text: str) -> set[tuple[str, str]]:
    """Return the pairs (file, function) that the README or the package's docstring names for one write."""
    found = set()
    for line in text.partition(MORE)[0].splitlines():
        for path in re.findall(r"\b((?:saved|core|autograd)/\w+\.py)\b(?!\]\(.*\| \d)", line):
            if not re.search(r"^ +\d\. |\| \d+ \|", line):
                words = re.sub(r"[\w/]+\.py|source\(.*?\)", "", line)
                found |= {(path, name) for name in re.findall(r"\b[a-z_]+\b", words) if is_defined(path, name)}
    return found


def is_defined(path: str, name: str) -> bool:
    return bool(re.search(rf"^def {name}\(", (ENGINE / path).read_text(), re.M))


def test_one_write_can_be_followed_through_five_files():
    ways = followed(README), followed(minitensor.__doc__)
    assert ways[0] == ways[1] and len({path for path, _ in ways[0]}) == 5
    names = {name for _, name in ways[0]}
    assert names == {*("is_protected", "before_write", "after_write", "set_node", "propagate", "recovered", "stale")}


def test_the_functions_of_the_followed_write_are_those_that_run():
    """The functions are in the source of the in-place operation or in the traceback of the error from backward()."""
    assert {"before_write", "after_write", "set_node"} <= set(re.findall(r"\w+", minitensor.source("add_")))
    x = minitensor.to_tensor([1.0, 2.0], stop_gradient=False) * 1
    z = x * x
    x.add_(1.0)
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    run = [(entry.path.name if hasattr(entry.path, "name") else "", entry.name) for entry in caught.traceback]
    assert [each for each in run if each[1] in ("propagate", "recovered")] == [
        ("backward_pass.py", "propagate"), ("saved.py", "recovered")
    ]  # fmt: skip


def called_by_name(function: Callable[..., Any]) -> set[str]:
    """Return the global names that a function uses, except for the names of Python's builtins."""
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = {each.argval for code in codes for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return {name for name in found if not hasattr(builtins, name)}


def test_every_name_in_the_functions_of_the_followed_write_is_explained():
    backward = FUNCTIONS.backward(ROWS["sin"], in_place=False, on_tensors=False)
    names = called_by_name(FUNCTIONS["add_"]) | called_by_name(FUNCTIONS["sin"]) | called_by_name(backward)
    # Names of Python and numpy, the engine's main classes, and names that need no explanation.
    names -= {"getframe", "ndarray", "ref", "Node", "Leaf", "Storage", "Tensor", "FLOATS", "ONE", "OPERATION"}
    names -= {"sin", "cos", "empty_tensor", "quietly", "redirect"}
    text = README
    assert len(names) > 25 and names - set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text)))) == set()


def test_each_name_that_the_readme_explains_is_in_the_stated_file():
    _, _, table = README.partition(MORE)
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", table.partition("\n\nThe rest")[0], re.M)
    for files, said in rows:
        paths = re.findall(r"`([\w/]+)\.py`", files + said)
        there = [
            each
            for path in paths
            for each in vars(import_module(f"minitensor.engine.{path.replace('/', '.')}")).values()
        ]
        for name in set(re.findall(r"`(\w+)`", said)) - {"y", "alpha"}:
            assert any(each is CALLS[name] for each in there), (name, paths)
    assert len(rows) == 11
