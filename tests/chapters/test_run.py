"""Every chapter and appendix runs from top to bottom, in the environment that runs the tests."""

from __future__ import annotations

import sys
import time
import warnings

import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from tests.chapters.chapter import FOLDER, Chapter, appendices, in_order

LONGEST = 15  # seconds for a chapter on two cores; longer is told, not refused
CELL_LIMIT = 120  # seconds after which a cell is taken to hang


class ThisInterpreter(KernelSpecManager):
    """Knows one kernel, the Python that runs the tests, whatever is installed for the user."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


@pytest.mark.parametrize("name", [*in_order(), *appendices()])
def test_a_chapter_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # none of the user's start-up scripts
    chapter = Chapter.read(name)
    manager = AsyncKernelManager(kernel_spec_manager=ThisInterpreter())
    client = NotebookClient(
        chapter.notebook,
        km=manager,
        timeout=CELL_LIMIT,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    start = time.perf_counter()
    client.execute()
    seconds = time.perf_counter() - start
    if seconds > LONGEST:
        warnings.warn(f"{name} took {seconds:.0f} s, more than {LONGEST} s", stacklevel=1)
