"""Find the tensors that share memory with a written tensor and whose own history lacks the write.

PyTorch records a write to a view in the history of its base, too. In Paddle each view has a separate history.
"""

from __future__ import annotations

import math

from memory_stage.messages import Text, message
from memory_stage.model.changes import Wrote
from memory_stage.model.entries import TensorEntry
from memory_stage.model.finished_step import FinishedStep


def package_of(done: FinishedStep) -> str:
    """Return the package of the program's tensors, ``paddle`` or ``torch``; "" before the program has made one."""
    for entry in done.ledger.tensors.entries.values():
        x = entry.ref()
        package = "" if x is None else type(x).__module__.partition(".")[0]
        if package in ("paddle", "torch"):
            return package
    return ""


def histories_apart(fact: Wrote) -> list[TensorEntry]:
    """Return the other named tensors on the written memory whose histories lack the write."""
    if fact.node is None or not fact.cover.count:
        return []
    found = []
    for each in fact.storage.aliases.values():
        apart = each is not fact.tensor and not each.is_array and each.group is not fact.tensor.group
        if not apart or not each.names or "detach" in (each.op, fact.tensor.op):
            continue
        wants = not each.properties["stop_gradient"]
        if (wants and not each.properties["leaf"]) or (not wants and not fact.wanted_gradient):
            found.append(each)
    return found


def sentence_about(apart: TensorEntry) -> Text:
    """Describe the gradients through a tensor whose history lacks the write."""
    if apart.properties["stop_gradient"]:
        return message(
            "`{name}` uses the same memory and has no history, so no gradient flows through it to the written values.",
            name=apart.short_name,
        )
    return message(
        "`{name}` uses the same memory, but its history does not contain the write, so gradients through it are those "
        "of the program without this line.",
        name=apart.short_name,
    )


def size_of(tensor: TensorEntry) -> int:
    """Return the number of elements."""
    return math.prod(tensor.properties["shape"])
