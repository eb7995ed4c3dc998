"""What goes wrong in the recorder itself fails the test, instead of ending the recording."""

from __future__ import annotations

import pytest

from minitensor.notebook.recording import record


@pytest.fixture(autouse=True)
def strict_recorder(monkeypatch):
    monkeypatch.setattr(record, "STRICT", True)
