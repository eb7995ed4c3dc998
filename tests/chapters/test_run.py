"""Every chapter, appendix and guide runs from top to bottom, in the environment that runs the tests.

If the tests are run with the built book, the runs of the build are examined instead.
"""

from __future__ import annotations

import os
import re
import time
import warnings

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from tests.support.chapters.chapter import FOLDER, ROOT, Chapter, appendices, guides, in_order
from tests.support.chapters.interpreter import ThisInterpreter
from tools.build import seconds_of_pages
from tools.taking_turns import SHARED

LONGEST = 15  # seconds on two cores; a chapter that runs longer causes a warning and no failure
BUILT = ROOT / "_build"
CELL_LIMIT = 120  # seconds after which a cell is taken to hang


@pytest.fixture
def runs_in_the_book(request: pytest.FixtureRequest) -> bool:
    """True if the book is built from the current sources. A test run that needs no book does not build it."""
    needed = SHARED in os.environ or any("book" in item.fixturenames for item in request.session.items)
    return needed and request.getfixturevalue("building") != "failed"


@pytest.mark.parametrize("name", [*in_order(), *appendices(), *guides()])
def test_a_chapter_runs(name, runs_in_the_book, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # do not run the user's start-up scripts
    ran, seconds = run_in_the_build(name) if runs_in_the_book else run(name)
    if seconds > LONGEST:
        warnings.warn(f"{name} took {seconds:.0f} s, more than {LONGEST} s", stacklevel=1)
    for cell in exercises(ran):
        assert verdict(cell).startswith("Not yet."), "the code that a reader starts from should not pass the check"


def test_an_exercise_that_is_already_solved_is_reported():
    solved = nbformat.v4.new_code_cell("check(f, **tests)", outputs=[shown("Right. `f` passes its case.")])
    started = nbformat.v4.new_code_cell("check(f, **tests)", outputs=[shown("Not yet. `f`: it returns nothing yet.")])
    question = nbformat.v4.new_code_cell("predict('check(f) is')", outputs=[shown("Predict: ...")])
    ran = nbformat.v4.new_notebook(cells=[started, question, solved])
    assert [verdict(cell)[:5] for cell in exercises(ran)] == ["Not y", "Right"]


def shown(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("execute_result", data={"text/plain": text})


def exercises(ran: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells that check a reader's code."""
    return [cell for cell in ran.cells if cell.cell_type == "code" and re.search(r"^check\(", cell.source, re.M)]


def verdict(cell: nbformat.NotebookNode) -> str:
    """Return the verdict in a cell's output."""
    return cell.outputs[-1].data["text/plain"]


def run(name: str) -> tuple[nbformat.NotebookNode, float]:
    """Run a chapter; return the notebook with its outputs, and the seconds."""
    manager = AsyncKernelManager(kernel_spec_manager=ThisInterpreter())
    notebook = Chapter.read(name).notebook
    client = NotebookClient(notebook, km=manager, timeout=CELL_LIMIT, resources={"metadata": {"path": str(FOLDER)}})
    start = time.perf_counter()
    client.execute()
    return notebook, time.perf_counter() - start


def run_in_the_build(name: str) -> tuple[nbformat.NotebookNode, float]:
    """Return the notebook and the seconds from the build of the book. Every cell must have run, in order."""
    ran = nbformat.read(BUILT / "html" / "_sources" / "chapters" / f"{name}.ipynb", as_version=4)
    counts = [cell.execution_count for cell in ran.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(Chapter.read(name).code) + 1))
    log = (BUILT / "build.log").read_text(encoding="utf-8")
    return ran, seconds_of_pages(log)[f"chapters/{name}"]
