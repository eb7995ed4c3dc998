"""Fixtures for memory_stage and book_kit: a strict recorder, a shell with the magics, a function that runs cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from memory_stage.recorder import record

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture(autouse=True)
def strict_recorder(monkeypatch):
    """Let an error inside the recorder fail the test. By default such an error only ends the recording."""
    monkeypatch.setattr(record, "STRICT", True)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """Return a separate IPython shell in which the magics are loaded."""
    from IPython.core.interactiveshell import InteractiveShell  # the recorder's tests run without IPython

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "book_kit")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def cell(shell, monkeypatch, capsys):
    """Return a function that runs a cell and returns the result, the last displayed object and the printed text."""
    import minitensor as mt  # the tests with real PyTorch and Paddle run without IPython

    shell.push({"mt": mt})
    shown = []
    monkeypatch.setattr("book_kit.magics.stage_magic.display", shown.append)

    def run(text: str):
        shown.clear()
        result = shell.run_cell(text, store_history=True)
        return result, shown[-1] if shown else None, capsys.readouterr().out

    return run
