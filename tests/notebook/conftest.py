"""A recorder whose own mistakes fail the test, and a shell in which the magics are loaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from minitensor.notebook.recording import record


@pytest.fixture(autouse=True)
def strict_recorder(monkeypatch):
    """What goes wrong in the recorder itself fails the test, instead of ending the recording."""
    monkeypatch.setattr(record, "STRICT", True)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """An IPython of its own, with the magics loaded."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "minitensor.notebook")
    yield shell
    InteractiveShell.clear_instance()
