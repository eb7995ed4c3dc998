"""Sentences for a framework that shows or checks less of its state than minitensor does. Rules: see ``sentences``."""

from __future__ import annotations

from memory_stage.model.changes import Unversioned
from memory_stage.model.entries import NodeEntry, TensorEntry
from memory_stage.sentences.words import both, code


def say_inferred(op: str, labels: list[str]) -> str:
    """Describe saved tensors that are not observed but inferred from the operation."""
    return f"{code(op)} saves {both(labels)}: this is inferred, not seen."


def say_unknown(op: str) -> str:
    """Describe an operation whose saved tensors are unknown."""
    return f"What {code(op)} saves for backward is not known, and not shown."


def say_sent_unseen(where: str, gradient: str) -> str:
    """Describe a node of backward whose sent gradients are unknown."""
    return f"{where} takes {gradient}; what it sends is not seen."


def say_histories_apart(name: str, base: str) -> str:
    """Describe a view that has a separate history."""
    return f"A write through {name} will change {base}, and the history of {base} will not know."


def say_counts_nothing(op: str, what: str, name: str, version: int) -> str:
    """Describe a write that raised no version."""
    return f"{code(op)} writes {what} through {name}, and no version tells: it stays {version}."


def say_written_all_the_same(what: str, fact: Unversioned) -> str:
    """Describe an operation that was refused after it had written."""
    return f"It has overwritten {what} of storage {fact.storage.id} all the same."


def has_own_history(tensor: TensorEntry, base: TensorEntry) -> bool:
    """Return True if both need a gradient, and a write through one does not change the history of the other."""
    wants = not (tensor.look["stop_gradient"] or base.look["stop_gradient"])
    return wants and tensor.group is not base.group


def is_inferred(node: NodeEntry) -> bool:
    """Return True if the saved tensors of a node were not observed."""
    return any(save.event.get("inferred") for save in node.saves)
