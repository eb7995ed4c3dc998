"""A recording that would tell more than a page can hold ends with a sentence that says how much it told."""

from __future__ import annotations

import re

import pytest

import minitensor as mt
from minitensor import stage
from minitensor.stage.recording import steps

LOOP = "x = mt.zeros([60])\nfor i in range(40):\n    x.add_(mt.full([60], i + 0.5))\nprint(i)\n"


@pytest.mark.parametrize(
    ("limit", "most", "told"),
    [
        ("MOST_EVENTS", 50, r": they tell of \d+ changes of memory\. The program ran on"),
        (
            "MOST_BYTES",
            5_000,
            r": they tell of \d+ changes of memory, which take [5-9],\d{3} bytes\. The program ran on",
        ),
    ],
)
def test_it_ends_and_the_program_runs_on(monkeypatch, limit, most, told):
    whole = stage.record(LOOP, {"mt": mt}).data["variants"][0]
    monkeypatch.setattr(steps, limit, most)
    names = {"mt": mt}
    cut = stage.record(LOOP, names).data["variants"][0]
    assert whole["truncated"] is None and re.search(told, cut["truncated"])
    assert 1 < len(cut["steps"]) < len(whole["steps"]) and cut["steps"][:-1] == whole["steps"][: len(cut["steps"]) - 1]
    assert names["x"].tolist() == [sum(i + 0.5 for i in range(40))] * 60
