"""Test that every silenced complaint of mypy has its code and a reason. `make check` runs mypy."""

from __future__ import annotations

import re

import pytest

from tools.build import ROOT

SOURCES = sorted(ROOT.glob("minitensor/**/*.py"))


def ignores(text: str) -> list[str]:
    """Return the lines that silence the checker without a code or a reason."""
    lines = [line for line in text.splitlines() if re.search(r"#\s*(type:\s*ignore|mypy:)", line)]
    return [line for line in lines if not re.search(r"# type: ignore\[[a-z, -]+\]  # \S.+", line)]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("x = f()  # type: ignore", True),
        ("x = f()  # type: ignore[arg-type]", True),
        ("# mypy: ignore-errors", True),
        ("x = f()  # type: ignore[arg-type]  # what f takes is a name", False),
        ("x = f()  # what f takes is a name", False),
    ],
)
def test_a_silenced_complaint_without_a_code_or_a_reason_is_found(line: str, wrong: bool):
    assert bool(ignores(line)) is wrong


def test_every_silenced_complaint_has_its_code_and_its_reason():
    assert {path.name: found for path in SOURCES if (found := ignores(path.read_text()))} == {}


def test_the_package_is_marked_as_typed():
    assert (ROOT / "minitensor" / "py.typed").exists()
    assert '"minitensor" = ["py.typed", "*.pyi"]' in (ROOT / "minitensor" / "pyproject.toml").read_text()
