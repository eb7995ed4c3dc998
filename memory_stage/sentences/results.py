"""Sentences about the result of one operation: a tensor on a new or an existing storage, or a changed layout.

``sharing`` describes a tensor that moves to another storage; ``writes`` describes writes.
"""

from __future__ import annotations

import math
import re
from typing import Any

from memory_stage.messages import Text, joined, message, sentences
from memory_stage.messages.message import words_in
from memory_stage.model.changes import Made, Named, Operated, Reshaped, Viewed, Wrote
from memory_stage.model.entries import NodeEntry, StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import has_own_history, say_separate_histories, say_unknown
from memory_stage.sentences.naming import describe_kept, describe_moved_name, describe_named, name_of, name_or_operation
from memory_stage.sentences.savers import stale_text
from memory_stage.sentences.sharing import say_borrowed
from memory_stage.sentences.words import MOST_WORDS, cell_count_text, code, fitting, numbers_text, quoted
from memory_stage.sentences.writes import distinct, kept_for_backward
from memory_stage.trace.amounts import bytes_message

_NO_OPERATION = re.compile(r"^-?\d[\w.]*$|^\w+$")  # matches a number or a name
MOST_CODE = 28  # the largest number of characters of the program's code that a sentence quotes


def say_made(done: FinishedStep, fact: Made) -> Text:
    """Describe a tensor on a new storage, or on borrowed memory."""
    tensor, storage = fact.tensor, fact.tensor.storage
    if storage.is_borrowed:
        return say_borrowed(done, fact, _subject(done, fact))
    if not fact.inputs:
        return _describe_created(done, fact)
    to, saves = describe_moved_name(done), _describe_saved(fact.node, fact.called)
    if done.partly and tensor.running_line:
        return fitting(_describe_result(done, fact, held=True), saves)
    first = _describe_result(done, fact)
    if tensor.freed:
        return fitting(
            first,
            message("Nothing names it, so it is freed at once.")
            if storage.freed
            else describe_named(done, storage) or describe_kept(done, storage),
        )
    if tensor.names == ["_"]:
        first = message(
            "{subject} allocates storage {storage}, {size}, for {tensor}.",
            subject=_subject(done, fact),
            storage=storage.id,
            size=bytes_message(storage.nbytes),
            tensor=message("a new tensor"),
        )
        return fitting(first, message("The notebook keeps it as its output, `_`."), saves)
    if to or saves:
        return fitting(first, to, saves)
    return fitting(first, _share_nothing(done, fact))


def _describe_created(done: FinishedStep, fact: Made) -> Text:
    """Describe a tensor that was made without another tensor as input."""
    tensor, storage = fact.tensor, fact.tensor.storage
    values: dict[str, Text | int] = {
        "line": done.line,
        "storage": storage.id,
        "numbers": numbers_text(storage.length),
        "size": bytes_message(storage.nbytes),
    }
    if not tensor.properties["stop_gradient"]:
        first = message(
            "Line {line} makes a leaf: {tensor} requires a gradient, and storage {storage} holds its {numbers}, "
            "{size}.",
            tensor=name_or_operation(done, tensor),
            **values,
        )
        return fitting(first, describe_moved_name(done))
    first = message(
        "Line {line} allocates storage {storage}, {numbers} in {size}, for a tensor of shape {shape}.",
        shape=str(tensor.properties["shape"]),
        **values,
    )
    if tensor.freed and storage.freed:
        return fitting(first, message("Nothing names the tensor, so both are freed at once."))
    if tensor.freed:
        return fitting(first, describe_named(done, storage) or describe_kept(done, storage))
    named = message("{name} is a name for that tensor.", name=code(tensor.names[0])) if tensor.names else ""
    return fitting(first, describe_moved_name(done) or named)


def _describe_result(done: FinishedStep, fact: Made, held: bool = False) -> Text:
    """Describe the new storage of a result. ``held`` is True if only the running line refers to the result."""
    tensor, storage = fact.tensor, fact.tensor.storage
    values: dict[str, Text | int] = {
        "subject": _subject(done, fact),
        "storage": storage.id,
        "size": bytes_message(storage.nbytes),
    }
    if fact.op == "clone":
        values |= {"numbers": numbers_text(storage.length)}
        if held:
            return message(
                "{subject} copies {numbers} into a new storage {storage}, {size}, held by the running line.", **values
            )
        return message("{subject} copies {numbers} into a new storage {storage}, {size}.", **values)
    if fact.op in ("reshape", "flatten"):
        values |= {"subject": code(fact.called), "shape": str(tensor.properties["shape"])}
        if held:
            return message(
                "{subject} cannot show these cells in shape {shape} without moving them, so it copies them to storage "
                "{storage}, {size}, held by the running line.",
                **values,
            )
        return message(
            "{subject} cannot show these cells in shape {shape} without moving them, so it copies them to storage "
            "{storage}, {size}.",
            **values,
        )
    new = message("a new tensor")
    if tensor.names and not describe_moved_name(done):
        new = message("the tensor {name}", name=name_or_operation(done, tensor))
    if held:
        return message(
            "{subject} allocates storage {storage}, {size}, for {tensor}, held by the running line.",
            tensor=new,
            **values,
        )
    return message("{subject} allocates storage {storage}, {size}, for {tensor}.", tensor=new, **values)


def _share_nothing(done: FinishedStep, fact: Made) -> Text:
    names = [name_of(done, entry) for entry in fact.inputs if entry.names]
    if not names or not fact.tensor.names:
        return ""
    tensors = joined([*map(code, dict.fromkeys(names)), code(name_of(done, fact.tensor))])
    return message("{tensors} share nothing.", tensors=tensors)


def _describe_saved(node: NodeEntry | None, op: str) -> Text:
    """Describe the tensors that an operation saves for backward."""
    if node is not None and node.unknown:
        return say_unknown(op)
    if node is not None and not node.saves:
        return message("{operation} saves nothing for backward.", operation=code(op))
    return kept_for_backward(node, op)


def say_viewed(done: FinishedStep, fact: Viewed) -> Text:
    """Describe a new tensor on an existing storage."""
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    whole = math.prod(tensor.properties["shape"]) == distinct(tensor) == storage.length
    name = name_or_operation(done, tensor)
    wanting = base if base is not None and not base.properties["stop_gradient"] else None
    if fact.op == "detach":
        on = message(
            "`detach` makes a second tensor on storage {storage}, one that requires no gradient.", storage=storage.id
        )
        if wanting is None:
            return fitting(on, message("No number is copied."))
        return fitting(
            on,
            message(
                "A write through {view} will change {base}, and no history will record it.",
                view=name,
                base=name_or_operation(done, wanting),
            ),
        )
    if fact.op == "data":
        return fitting(
            message(
                "`data` makes a second tensor on storage {storage}, with its own version counter.", storage=storage.id
            ),
            message("Neither version nor history will record a write through {view}.", view=name),
        )
    first, added = _on_old_memory(done, fact), message("No byte is added.")
    if wanting is None:
        return fitting(first, describe_moved_name(done) if whole else added)
    if fact.same_group:
        shared = message(
            "{tensors} share one history from now on.", tensors=joined([name_or_operation(done, wanting), name])
        )
        return fitting(first, shared if tensor.names and wanting.names else "")
    if has_own_history(tensor, wanting):
        return fitting(first, say_separate_histories(name, name_or_operation(done, wanting)), "" if whole else added)
    return fitting(
        first, message("Under `no_grad` {tensor} requires no gradient and stays out of the history.", tensor=name)
    )


def _on_old_memory(done: FinishedStep, fact: Viewed) -> Text:
    """Describe the cells of an existing storage that a tensor shows."""
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    size, cells = math.prod(tensor.properties["shape"]), distinct(tensor)
    subject = _subject(done, fact) if fact.op in ("getitem", "slice", "select") else code(fact.called)
    if done.statement.kind == "for":
        subject = message("The loop in line {line}", line=done.line)
    if tensor.properties["dtype"] != storage.event["dtype"]:
        return _as_bytes(subject, tensor, storage)
    if size == cells == storage.length:
        second = message(
            "{subject} makes a second tensor on storage {storage}: no number is copied, no byte is added.",
            subject=subject,
            storage=storage.id,
        )
        if tensor.names and base is not None and base.names:
            same = message(
                "{base} and {view} read the same cells.",
                base=name_or_operation(done, base),
                view=name_or_operation(done, tensor),
            )
            return sentences([second, same])
        return second
    if cells < size:
        return message(
            "{subject} makes a tensor whose {elements} elements share {cells} of storage {storage}.",
            subject=subject,
            elements=f"{size:,}",
            cells=cell_count_text(cells),
            storage=storage.id,
        )
    values: dict[str, Text | int] = {
        "subject": subject,
        "count": f"{size:,}",
        "all": f"{storage.length:,}",
        "storage": storage.id,
    }
    if done.statement.kind == "for" and tensor.names:
        return message(
            "{subject} makes a tensor on {count} of the {all} cells of storage {storage}: {name} for this round.",
            name=code(tensor.names[0]),
            **values,
        )
    return message("{subject} makes a tensor on {count} of the {all} cells of storage {storage}.", **values)


def _as_bytes(subject: Text, tensor: TensorEntry, storage: StorageEntry) -> Text:
    """Describe a tensor that interprets the bytes of a storage as numbers of another dtype."""
    values: dict[str, Text | int] = {"subject": subject, "storage": storage.id, "dtype": tensor.properties["dtype"]}
    if "elements" not in tensor.properties:
        return message(
            "{subject} makes a tensor that reads the bytes of storage {storage} as {dtype}: no number is copied.",
            **values,
        )
    cells, elements = storage.event["itemsize"], tensor.properties["elements"]["itemsize"]
    if cells > elements:
        return message(
            "{subject} makes a tensor that reads the bytes of storage {storage} as {dtype}, {count} numbers for each "
            "cell: no number is copied.",
            count=cells // elements,
            **values,
        )
    return message(
        "{subject} makes a tensor that reads the bytes of storage {storage} as {dtype}, {count} cells for each number: "
        "no number is copied.",
        count=elements // cells,
        **values,
    )


def say_reshaped(done: FinishedStep, fact: Reshaped, raised: Wrote | None = None) -> Text:
    """Describe a tensor whose shape or strides changed, on the same storage.

    Args:
        raised: the change that incremented the version without writing a cell; None if the version stays.
    """
    tensor, storage = fact.tensor, fact.tensor.storage
    names = [named.name for named in done.all(Named) if named.tensor is tensor]
    values: dict[str, Text | int] = {"storage": storage.id, "version": storage.version}
    if raised is None:
        version = message("It writes nothing: storage {storage} stays at version {version}.", **values)
    else:
        version = message(
            "It writes no cell, but storage {storage} goes from version {before} to version {version}.",
            before=raised.before,
            **values,
        )
    rest = (
        () if raised is None else stale_text(raised),
        message("{name} is a second name for the same tensor.", name=code(names[-1])) if names else "",
        version,
    )
    long, short = _new_layout(done, fact)
    said = fitting(short, *rest)
    return fitting(long, *rest) if words_in([said]) + words_in([long]) - words_in([short]) <= MOST_WORDS else said


def _new_layout(done: FinishedStep, fact: Reshaped) -> tuple[Text, Text]:
    """Return a long and a short sentence about the shape and strides that an operation changed."""
    old, new = fact.old, fact.tensor.properties
    values: dict[str, Text | int] = {"operation": code(fact.called), "tensor": name_or_operation(done, fact.tensor)}
    strides = {"old_strides": str(old["strides"]), "new_strides": str(new["strides"])}
    if old["shape"] != new["shape"]:
        values |= {"old": str(old["shape"]), "new": str(new["shape"])}
        long = message(
            "{operation} changes the shape of {tensor} from {old} to {new} and its strides from {old_strides} to "
            "{new_strides}.",
            **values,
            **strides,
        )
        short = message("{operation} changes the shape of {tensor} from {old} to {new}.", **values)
        return (short if old["strides"] == new["strides"] else long), short
    if old["strides"] != new["strides"]:
        text = message(
            "{operation} changes the strides of {tensor} from {old_strides} to {new_strides}.", **values, **strides
        )
    else:
        text = message("{operation} changes neither shape nor strides of {tensor}.", **values)
    return text, text


def raises_only(ops: list[Any]) -> list[Wrote]:
    """Return the facts in which PyTorch's operations such as ``t_`` increment the version and write no cell."""
    reshaped = {(id(fact.tensor), fact.op) for fact in ops if isinstance(fact, Reshaped)}
    return [
        fact
        for fact in ops
        if isinstance(fact, Wrote) and fact.cover.count == 0 and (id(fact.tensor), fact.op) in reshaped
    ]


def _subject(done: FinishedStep, fact: Operated) -> Text:
    """Return the program's expression that made a tensor if it is short, or else the operation."""
    text = done.statement.text
    if _NO_OPERATION.match(text):  # as in `x.clone().numpy()[0] = 5`, in which the value `5` made no tensor
        return code(fact.called)
    if not done.partly and text and len(text) <= MOST_CODE and "`" not in text and done.statement.kind != "return":
        return quoted(text)
    return code(fact.called)
