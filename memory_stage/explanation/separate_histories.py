"""Tensors on one memory with a history each: those whose histories do not know of a write.

Where a framework tells views from their base there are none; in Paddle every view is one.
"""

from __future__ import annotations

import math

from memory_stage.model.changes import Wrote
from memory_stage.model.entries import TensorEntry
from memory_stage.model.finished_step import Done


def package_of(done: Done) -> str:
    """Whose tensors the program has; empty while that is not known."""
    for entry in done.ledger.tensors.values():
        x = entry.ref()
        package = "" if x is None else type(x).__module__.partition(".")[0]
        if package in ("paddle", "torch"):
            return package
    return ""


def histories_apart(fact: Wrote) -> list[TensorEntry]:
    """The others with a name on the memory that was written, in whose histories the write does not appear."""
    if fact.node is None or not fact.cover.count:
        return []
    found = []
    for each in fact.storage.aliases.values():
        apart = each is not fact.tensor and not each.is_array and each.group is not fact.tensor.group
        if not apart or not each.names or "detach" in (each.op, fact.tensor.op):
            continue
        wants = not each.look["stop_gradient"]
        if (wants and not each.look["leaf"]) or (not wants and not fact.wanted_gradient):
            found.append(each)
    return found


def of_histories(apart: TensorEntry) -> str:
    """What becomes of gradients through such a tensor."""
    name = f"`{apart.short_name}`"
    if apart.look["stop_gradient"]:
        return f"{name} lies in the same memory and has no history: no gradient comes through it to what was written."
    return (
        f"{name} lies in the same memory, and its history does not know of the write: gradients through it are those "
        f"of the program without this line."
    )


def size_of(tensor: TensorEntry) -> int:
    """In elements."""
    return math.prod(tensor.look["shape"])
