"""Frameworks that are recorded as this package's own tensors are. Without them, their tests are left out."""

from __future__ import annotations

import pytest

from memory_stage.recorder import record


@pytest.fixture(autouse=True)
def strict_recorder(monkeypatch):
    """What goes wrong in the recorder itself fails the test, instead of ending the recording."""
    monkeypatch.setattr(record, "STRICT", True)
