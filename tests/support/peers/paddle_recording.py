"""Record programs of Paddle, and read their events."""

from __future__ import annotations

import memory_stage as stage
from memory_stage.trace import validation


def recorded(source: str) -> stage.Stage:
    """Record the program in a fresh namespace and return its stage, which must have no fault."""
    import paddle

    shown = stage.record(source, {"paddle": paddle})
    assert shown.data["variants"][0]["truncated"] is None
    assert list(validation.problems(shown.data)) == []
    return shown


def events(shown: stage.Stage, do: str) -> list[dict]:
    return [event for step in shown.data["variants"][0]["steps"] for event in step["events"] if event["do"] == do]
