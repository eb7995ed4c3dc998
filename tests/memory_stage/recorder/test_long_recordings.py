"""Test that a recording ends at its limits, or if the recorder fails, with a sentence that says why."""

from __future__ import annotations

import re

import pytest

import memory_stage as stage
import minitensor as mt
from memory_stage.recorder import record, steps

LOOP = "x = mt.zeros([60])\nfor i in range(40):\n    x.add_(mt.full([60], i + 0.5))\nprint(i)\n"


@pytest.mark.parametrize(
    ("limit", "most", "reported"),
    [
        ("MOST_EVENTS", 50, r": they describe \d+ changes of memory\. The program ran on"),
        (
            "MOST_CHARACTERS",
            5_000,
            r": their \d+ changes of memory and their printed text have [5-9],\d{3} characters\. The program ran on",
        ),
    ],
)
def test_a_recording_ends_at_its_limit_and_the_program_continues(monkeypatch, limit, most, reported):
    whole = stage.record(LOOP, {"mt": mt}).data["variants"][0]
    monkeypatch.setattr(steps, limit, most)
    names = {"mt": mt}
    cut = stage.record(LOOP, names).data["variants"][0]
    assert whole["truncated"] is None and re.search(reported, cut["truncated"])
    assert 1 < len(cut["steps"]) < len(whole["steps"]) and cut["steps"][:-1] == whole["steps"][: len(cut["steps"]) - 1]
    assert names["x"].tolist() == [sum(i + 0.5 for i in range(40))] * 60


def test_printed_text_beyond_what_a_step_shows_does_not_count_towards_the_limit(monkeypatch):
    monkeypatch.setattr(steps, "MOST_CHARACTERS", 10_000)
    shown = stage.record("print('x' * 20_000)\nx = mt.ones([2])\n", {"mt": mt}).data["variants"][0]
    assert shown["truncated"] is None and len(shown["steps"]) == 2


def test_a_recording_ends_before_a_single_step_that_is_too_long(monkeypatch):
    monkeypatch.setattr(steps, "MOST_IN_A_STEP", 30)
    names = {"mt": mt}
    source = "x = mt.zeros([2])\nx.add_(1.0)\nsums = [x.add_(float(i)).sum() for i in range(50)]\ny = x * 2\n"
    cut = stage.record(source, names).data["variants"][0]
    assert cut["truncated"] == (
        "Line 3 alone makes more than 30 changes of memory, so the recording ends before it. The program ran on to its "
        "end without being recorded."
    )
    assert [step["line"] for step in cut["steps"]] == [1, 2]
    assert names["y"].tolist() == [2 * (1 + sum(range(50)))] * 2


@pytest.mark.parametrize("moment", ["begin_statement", "end_statement"])
def test_a_failure_of_the_recorder_between_statements_ends_the_recording_but_not_the_program(monkeypatch, moment):
    calls = []
    method = "begin" if moment == "begin_statement" else "finish"
    real = getattr(steps.Steps, method)

    def broken(*arguments, **named):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("a planted fault")
        return real(*arguments, **named)

    monkeypatch.setattr(steps.Steps, method, broken)
    monkeypatch.setattr(record, "STRICT", False)
    names = {"mt": mt}
    shown = stage.record("x = mt.zeros([2])\ny = x + 1\nz = y + 1\nw = z + 1\n", names)
    assert shown.error is None and names["w"].tolist() == [3, 3]
    assert "a planted fault" in shown.data["variants"][0]["truncated"]
