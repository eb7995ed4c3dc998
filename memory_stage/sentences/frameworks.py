"""Sentences for a framework that shows less of itself than this package does, or checks less. Rules: ``sentences``."""

from __future__ import annotations

from memory_stage.model.changes import Unversioned
from memory_stage.model.entries import NodeEntry, TensorEntry
from memory_stage.sentences.words import both, code


def say_inferred(op: str, labels: list[str]) -> str:
    """What an operation saves is known of the operation, and not seen."""
    return f"{code(op)} saves {both(labels)}: this is inferred, not seen."


def say_unknown(op: str) -> str:
    """What an operation saves is not known."""
    return f"What {code(op)} saves for backward is not known, and not shown."


def say_sent_unseen(where: str, gradient: str) -> str:
    """A node of backward was passed, and nothing shows what it sent."""
    return f"{where} takes {gradient}; what it sends is not seen."


def say_histories_apart(name: str, base: str) -> str:
    """A view has a history of its own."""
    return f"A write through {name} will change {base}, and the history of {base} will not know."


def say_counts_nothing(op: str, what: str, name: str, version: int) -> str:
    """An operation wrote and raised no version."""
    return f"{code(op)} writes {what} through {name}, and no version tells: it stays {version}."


def say_written_all_the_same(what: str, fact: Unversioned) -> str:
    """An operation was refused after it had written."""
    return f"It has overwritten {what} of storage {fact.storage.id} all the same."


def has_own_history(tensor: TensorEntry, base: TensorEntry) -> bool:
    """Whether both want a gradient, and a write through one is none to the other's history."""
    wants = not (tensor.look["stop_gradient"] or base.look["stop_gradient"])
    return wants and tensor.group is not base.group


def is_inferred(node: NodeEntry) -> bool:
    """Whether what a node saved was not seen."""
    return any(save.event.get("inferred") for save in node.saves)
