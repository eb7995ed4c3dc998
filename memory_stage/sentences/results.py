"""Sentences about the result of one operation: a tensor on a new storage or an old one, or another layout.

Rules: see ``sentences``. ``sharing`` describes a tensor that moves to another storage, and ``writes`` a write.
"""

from __future__ import annotations

import math
import re

from memory_stage.model.changes import Made, Named, Operated, Reshaped, Viewed
from memory_stage.model.entries import NodeEntry, StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import has_own_history, say_histories_apart, say_unknown
from memory_stage.sentences.naming import called, kept, moved, name_of
from memory_stage.sentences.sharing import say_borrowed
from memory_stage.sentences.words import both, code, fitting
from memory_stage.sentences.writes import distinct, kept_for_backward
from memory_stage.trace.amounts import bytes_text, count_of

_NO_OPERATION = re.compile(r"^-?\d[\w.]*$|^\w+$")  # a number or a name
MOST_CODE = 28  # characters of the program's code that a sentence quotes


def say_made(done: FinishedStep, fact: Made) -> str:
    """Describe a tensor on a new storage, or on borrowed memory."""
    tensor, storage = fact.tensor, fact.tensor.storage
    numbers = count_of(storage.length, "number")
    if storage.is_borrowed:
        return say_borrowed(done, fact, _subject(done, fact))
    if not fact.inputs:
        if not tensor.look["stop_gradient"]:
            return fitting(
                f"Line {done.line} makes a leaf: {called(done, tensor)} wants a gradient, and storage {storage.id} "
                f"holds its {numbers}, {bytes_text(storage.nbytes)}.",
                moved(done),
            )
        first = (
            f"Line {done.line} makes storage {storage.id}, {numbers} in {bytes_text(storage.nbytes)}, "
            f"and a tensor of shape {tensor.look['shape']} that looks at it."
        )
        if tensor.freed and storage.freed:
            return fitting(first, "Nothing names the tensor, so both are freed at once.")
        if tensor.freed:
            return fitting(first, kept(done, storage))
        named = f"{code(tensor.names[0])} is a name for that tensor." if tensor.names else ""
        return fitting(first, moved(done) or named)
    subject = _subject(done, fact)
    if fact.op == "clone":
        first = f"{subject} copies {numbers} into a new storage {storage.id}, {bytes_text(storage.nbytes)}."
    elif fact.op in ("reshape", "flatten"):
        first = (
            f"{code(fact.called)} cannot show these cells in shape {tensor.look['shape']} without moving them, "
            f"so it copies them to storage {storage.id}, {bytes_text(storage.nbytes)}."
        )
    else:
        new = f"the tensor {called(done, tensor)}" if tensor.names and not moved(done) else "a new tensor"
        first = f"{subject} makes storage {storage.id}, {bytes_text(storage.nbytes)}, and {new}."
    if done.partly and tensor.held:
        return fitting(f"{first[:-1]}, held by the running line.", _describe_saved(fact.node, fact.called))
    if tensor.freed:
        return fitting(first, "Nothing names it, so it is freed at once." if storage.freed else kept(done, storage))
    to, saves = moved(done), _describe_saved(fact.node, fact.called)
    if tensor.names == ["_"]:
        first = f"{subject} makes storage {storage.id}, {bytes_text(storage.nbytes)}, and a new tensor."
        return fitting(first, f"The notebook keeps it as its output, {code('_')}.", saves)
    if to or saves:
        return fitting(first, to, saves)
    return fitting(first, _share_nothing(done, fact))


def _share_nothing(done: FinishedStep, fact: Made) -> str:
    names = [name_of(done, entry) for entry in fact.inputs if entry.names]
    if not names or not fact.tensor.names:
        return ""
    return f"{both([*map(code, dict.fromkeys(names)), code(name_of(done, fact.tensor))])} share nothing."


def _describe_saved(node: NodeEntry | None, op: str) -> str:
    """Describe the tensors that an operation saves for backward."""
    if node is not None and node.unknown:
        return say_unknown(op)
    if node is not None and not node.saves:
        return f"{code(op)} saves nothing for backward."
    return kept_for_backward(node, op)


def say_viewed(done: FinishedStep, fact: Viewed) -> str:
    """Describe a tensor on an existing storage."""
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    size, cells = math.prod(tensor.look["shape"]), distinct(tensor)
    whole = size == cells == storage.length
    name = called(done, tensor)
    if fact.op == "detach":
        on = f"{code('detach')} makes a second tensor on storage {storage.id}, one that wants no gradient."
        if base is not None and not base.look["stop_gradient"]:
            return fitting(on, f"A write through {name} will change {called(done, base)}, and no history will tell.")
        return fitting(on, "No number is copied.")
    if fact.op == "data":
        return fitting(
            f"{code('data')} makes a second tensor on storage {storage.id}, with a count of versions of its own.",
            f"What is written through {name} neither version nor history will tell.",
        )
    subject = _subject(done, fact) if fact.op in ("getitem", "slice", "select") else code(fact.called)
    if done.statement.kind == "for":
        subject = f"The loop in line {done.line}"
    first = _on_old_memory(done, fact, subject)
    if base is not None and not base.look["stop_gradient"]:
        if fact.same_group:
            shared = both([called(done, base), name])
            return fitting(first, f"{shared} share one history from now on." if tensor.names and base.names else "")
        if has_own_history(tensor, base):
            return fitting(first, say_histories_apart(name, called(done, base)), "" if whole else "No byte is added.")
        return fitting(first, f"Under {code('no_grad')} {name} wants no gradient and stays out of the history.")
    return fitting(first, moved(done) if whole else "No byte is added.")


def _on_old_memory(done: FinishedStep, fact: Viewed, subject: str) -> str:
    """Describe the cells that a tensor shows."""
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    size, cells = math.prod(tensor.look["shape"]), distinct(tensor)
    if tensor.look["dtype"] != storage.event["dtype"]:
        return f"{subject} makes a tensor that reads {_as_bytes(tensor, storage)}: no number is copied."
    if size == cells == storage.length:
        same = ""
        if tensor.names and base is not None and base.names:
            same = f" {called(done, base)} and {called(done, tensor)} look at the same cells."
        second = f"{subject} makes a second tensor on storage {storage.id}: no number is copied, no byte is added."
        return second + same
    if cells < size:
        few = count_of(cells, "cell")
        return f"{subject} makes a tensor whose {size:,} elements look at {few} of storage {storage.id}."
    first = f"{subject} makes a tensor on {size:,} of the {storage.length:,} cells of storage {storage.id}."
    if done.statement.kind == "for" and tensor.names:
        return f"{first[:-1]}: {code(tensor.names[0])} for this round."
    return first


def _as_bytes(tensor: TensorEntry, storage: StorageEntry) -> str:
    """Describe a tensor that shows the bytes of a storage as numbers of another dtype."""
    text = f"the bytes of storage {storage.id} as {tensor.look['dtype']}"
    if "elements" not in tensor.look:
        return text
    cells, elements = storage.event["itemsize"], tensor.look["elements"]["itemsize"]
    more = (
        f"{cells // elements} numbers for each cell"
        if cells > elements
        else f"{elements // cells} cells for each number"
    )
    return f"{text}, {more}"


def say_reshaped(done: FinishedStep, fact: Reshaped) -> str:
    """Describe a tensor that got another shape, or other strides, on the same storage."""
    tensor, old = fact.tensor, fact.old
    new = tensor.look
    change = f"the shape of {called(done, tensor)} from {old['shape']} to {new['shape']}"
    if old["shape"] == new["shape"] and old["strides"] == new["strides"]:
        return (
            f"{code(fact.called)} leaves shape and strides of {called(done, tensor)} as they were, and writes nothing."
        )
    if old["shape"] == new["shape"]:
        change = f"the strides of {called(done, tensor)} from {old['strides']} to {new['strides']}"
    names = [named.name for named in done.all(Named) if named.tensor is tensor]
    return fitting(
        f"{code(fact.called)} changes {change}.",
        f"{code(names[-1])} is a second name for the same tensor." if names else "",
        f"It writes nothing: storage {tensor.storage.id} stays at version {tensor.storage.version}.",
    )


def _subject(done: FinishedStep, fact: Operated) -> str:
    """Return the text that made a tensor: the program's expression if it is short, or else the operation."""
    text = done.statement.text
    if _NO_OPERATION.match(text):  # in `x.clone().numpy()[0] = 5` the target made it
        return code(fact.called)
    if not done.partly and text and len(text) <= MOST_CODE and "`" not in text and done.statement.kind != "return":
        return code(text)
    return code(fact.called)
