"""Check the stored results of recording thousands of random PyTorch programs."""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).parents[3] / "facts" / "torch-recording.json"


def test_the_stored_results_of_thousands_of_programs_are_within_the_limits():
    found = json.loads(FILE.read_text(encoding="utf-8"))
    stale, alone, both = found["stale"], found["undisturbed"], found["both engines"]
    assert stale["programs"] >= 2_000 and stale["roots right"] == stale["roots"] > 5_000
    assert stale["at the very node"] >= 0.999 * stale["raised"] > 500
    assert alone["programs"] >= 300 and alone["other when watched"] == {}
    assert both["programs"] >= 500 and both["unknown in"] == []
