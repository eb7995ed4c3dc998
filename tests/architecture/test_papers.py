"""Test that links and commands of the README and the pages for contributors work, and that the README is short."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools import check
from tools.build import ROOT

PAPERS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "book_kit", "memory_stage", "minitensor/engine")),
]
SCREEN = 50  # lines


def targets(paper: Path) -> list[str]:
    """Return the files to which a page links."""
    prose = re.sub(r"^(`{3,}).*?^\1$", "", paper.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    return [target for target in found if "://" not in target]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(paper: Path):
    assert [target for target in targets(paper) if not (paper.parent / target).exists()] == []


def test_every_page_for_contributors_is_linked():
    linked = {(ROOT / target).resolve() for target in targets(ROOT / "CONTRIBUTING.md")}
    assert set(ROOT.glob("docs/contributing/*.md")) - linked == set()


def test_the_readme_fits_on_one_screen_and_links_to_every_package():
    assert len((ROOT / "README.md").read_text().splitlines()) <= SCREEN
    packages = {path.parent.name for path in ROOT.glob("*/pyproject.toml")}
    assert packages <= {target.partition("/")[0] for target in targets(ROOT / "README.md")}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_of_make_exists(paper: Path):
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"^make (\w[\w-]*)|`make (\w[\w-]*)", paper.read_text("utf-8"), re.MULTILINE)
    assert [name for each in named if not re.search(rf"^{(name := ''.join(each))}:", makefile, re.MULTILINE)] == []


def test_the_files_in_the_commands_of_the_pages_exist():
    for paper in PAPERS:
        for path in re.findall(r"python (?:-m pytest )?((?:tools|tests|facts)/[\w/.]+)", paper.read_text("utf-8")):
            assert (ROOT / path).exists(), (paper, path)
        for module in re.findall(r"python -m ((?:tests|benchmarks|facts)[\w.]*)", paper.read_text("utf-8")):
            path = ROOT / module.replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").is_file(), (paper, module)


def test_the_documented_steps_of_the_check_exist():
    (steps,) = re.findall(r"tools/check\.py ([a-z ]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert set(steps.split()) <= set(check.STEPS)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this folder is not a Git checkout")
def test_the_pages_are_part_of_the_repository():
    tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert {path.relative_to(ROOT).as_posix() for path in PAPERS} <= set(tracked)
