"""Sentences that only frameworks need: about state that cannot be read, separate histories, and unversioned writes."""

from __future__ import annotations

from memory_stage.messages import Text, joined, message
from memory_stage.model.changes import Unversioned
from memory_stage.model.entries import NodeEntry, TensorEntry
from memory_stage.sentences.words import code


def say_inferred(op: str, labels: list[Text]) -> Text:
    """Describe saved tensors that are not observed but inferred from the operation."""
    return message(
        "{operation} saves {tensors}: this is inferred, not observed.", operation=code(op), tensors=joined(labels)
    )


def say_unknown(op: str) -> Text:
    """Describe an operation whose saved tensors are unknown."""
    return message(
        "It is not known which tensors {operation} saves for backward, so none is shown.", operation=code(op)
    )


def say_sent_unseen(where: Text, gradient: str) -> Text:
    """Describe a node of backward for which the sent gradients are unknown."""
    return message(
        "{node} receives {gradient}; the gradients that it sends are not observed.", node=where, gradient=gradient
    )


def say_separate_histories(name: Text, base: Text) -> Text:
    """Describe a view that has a separate history."""
    return message(
        "A write through {view} will change {base}, and the history of {base} will not record it.", view=name, base=base
    )


def say_version_unchanged(op: str, cells: Text, name: Text, version: int) -> Text:
    """Describe a write that did not increment the version."""
    return message(
        "{operation} writes {cells} through {tensor}, but the version stays {version}.",
        operation=code(op),
        cells=cells,
        tensor=name,
        version=version,
    )


def say_written_before_error(cells: Text, fact: Unversioned) -> Text:
    """Describe an operation that raised an error after it had written its result."""
    return message("Even so, it has overwritten {cells} of storage {storage}.", cells=cells, storage=fact.storage.id)


def has_own_history(tensor: TensorEntry, base: TensorEntry) -> bool:
    """True if both tensors require a gradient, and a write through one does not change the history of the other."""
    wants = not (tensor.properties["stop_gradient"] or base.properties["stop_gradient"])
    return wants and tensor.group is not base.group


def is_inferred(node: NodeEntry) -> bool:
    """True if the saved tensors of a node were inferred and not observed."""
    return any(save.event.get("inferred") for save in node.saves)
