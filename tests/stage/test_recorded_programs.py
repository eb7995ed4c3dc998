"""Programs of PyTorch, recorded: a page shows them where there is no PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitensor.stage.still import as_html
from minitensor.stage.validation import problems

FILE = Path(__file__).parents[2] / "facts" / "torch-programs.stage.json"
PROGRAMS = json.loads(FILE.read_text(encoding="utf-8"))["programs"]


@pytest.mark.parametrize("each", PROGRAMS, ids=[each["title"] for each in PROGRAMS])
def test_each_is_a_stage_that_can_be_shown_and_tells_what_went_wrong(each):
    assert list(problems(each["stage"])) == []
    variant = each["stage"]["variants"][0]
    assert variant["truncated"] is None and "\n".join(variant["code"]) == each["program"].rstrip("\n")
    assert variant["steps"][-1]["say"] in as_html(each["stage"]).replace("<code>", "`").replace("</code>", "`")
    words = "not notice" if each["error"] is None else "refused"
    assert any(words in step["say"] for step in variant["steps"])


def test_what_was_recorded_of_thousands_of_programs_meets_the_bars():
    found = json.loads(FILE.with_name("torch-recording.json").read_text(encoding="utf-8"))
    stale, alone, both = found["stale"], found["undisturbed"], found["both engines"]
    assert stale["programs"] >= 2_000 and stale["roots right"] == stale["roots"] > 5_000
    assert stale["at the very node"] >= 0.999 * stale["raised"] > 500
    assert alone["programs"] >= 300 and alone["other when watched"] == {}
    assert both["programs"] >= 500 and both["unknown in"] == []
