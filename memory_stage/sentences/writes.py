"""Sentences about writes: the written cells, the saved bytes, and other names for the cells."""

from __future__ import annotations

import math
import re

from memory_stage.messages import Text, capitalized, continued, joined, message, plural
from memory_stage.model.changes import Named, Wrote
from memory_stage.model.covers import Cover
from memory_stage.model.entries import NodeEntry, StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import is_inferred, say_inferred, say_unknown
from memory_stage.sentences.naming import name_or_operation
from memory_stage.sentences.savers import preserved_text, spared_text, stale_text, taken_text
from memory_stage.sentences.words import cell_count_text, code, fitting, line_text, storages_text
from memory_stage.trace.amounts import bytes_message
from memory_stage.trace.cells import SMALL, merged, runs_of

_CALL = re.compile(r"\.(\w+)\(")


def say_write(done: FinishedStep, fact: Wrote) -> Text:
    """Return the sentence about an in-place operation."""
    names = [named.name for named in done.all(Named) if named.tensor is fact.tensor and named.name != fact.tensor.name]
    return fitting(
        _describe_write(done, fact, names),
        stale_text(fact),
        taken_text(fact),
        preserved_text(fact),
        spared_text(fact),
        kept_for_backward(fact.node, fact.called),
        _describe_joined(done, fact),
        _read_first(done, fact),
        _unknown_to_history(done, fact),
        _group_moves(done, fact),
        _same_tensor(done, fact),
        _describe_readers(done, fact),
        _second_name(done, fact, names),
    )


def _describe_write(done: FinishedStep, fact: Wrote, names: list[str]) -> Text:
    """Describe the written cells and the version. ``names`` are further names that the line bound to the tensor."""
    tensor, storage = fact.tensor, fact.storage
    subject = line_text(done.line) if fact.op == "setitem" else code(fact.called)
    through = _says_through(done, fact)
    cells = cells_of_text(storage, fact.cover)
    if through:
        cells = message("{cells} through {tensor}", cells=cells, tensor=name_or_operation(done, tensor))
    if fact.own:
        return _describe_saved_first(subject, fact, cells)
    if fact.node is None and not tensor.properties["stop_gradient"]:
        return _describe_without_history(subject, fact, cells, through)
    values: dict[str, Text | int] = {"subject": subject, "cells": cells, "version": storage.version}
    if names and not (fact.victims or names == ["_"]):  # saved tensors that became stale are mentioned before new names
        values |= {"tensor": name_or_operation(done, tensor), "name": code(names[0])}
        if through:
            return message(
                "{subject} writes {cells}, now at version {version}, and returns {tensor} itself: {name} is a second "
                "name for the same tensor.",
                **values,
            )
        return message(
            "{subject} writes {cells}, which goes from version {before} to version {version}, and returns {tensor} "
            "itself: {name} is a second name for the same tensor.",
            before=fact.before,
            **values,
        )
    if through:
        return message("{subject} writes {cells}: version {version}.", **values)
    return message(
        "{subject} writes {cells}, which goes from version {before} to version {version}.", before=fact.before, **values
    )


def _describe_without_history(subject: Text, fact: Wrote, cells: Text, through: bool) -> Text:
    """Describe a write that is not part of the recorded history."""
    if through:
        clause = message("{subject} writes {cells}, and leaves no history", subject=continued(subject), cells=cells)
    else:
        clause = message(
            "{subject} writes {cells}, which goes from version {before} to version {version}, and leaves no history",
            subject=continued(subject),
            cells=cells,
            before=fact.before,
            version=fact.storage.version,
        )
    if fact.recording:
        return capitalized(message("{clause}.", clause=clause))
    if fact.tensor.properties["leaf"]:
        return message("Under `no_grad` a leaf may be written: {clause}.", clause=clause)
    return message("Under `no_grad` nothing is recorded: {clause}.", clause=clause)


def _second_name(done: FinishedStep, fact: Wrote, names: list[str]) -> Text:
    """Return the sentence about a further name of the written tensor; "" if there is none or it was mentioned."""
    if names == ["_"]:
        return message("The notebook keeps {tensor} as its output, `_`.", tensor=name_or_operation(done, fact.tensor))
    return message("{name} names the same tensor.", name=code(names[0])) if names and fact.victims else ""


def as_written(done: FinishedStep, op: str, tensor: TensorEntry | None) -> str:
    """Return the program's name of an in-place operation. In PyTorch's vocabulary it may differ from the engine's."""
    names = [name for name in _CALL.findall(done.statement.text) if name.endswith("_")]
    x = None if tensor is None or tensor.is_array else tensor.ref()
    others = x is not None and done.ledger.engine.has_other_names(x)
    return names[0] if others and len(names) == 1 else op


def _read_first(done: FinishedStep, fact: Wrote) -> Text:
    """Describe an operation that reads cells before it writes them."""
    if fact.storage.length > SMALL or not fact.cover.exact:
        return ""
    cells = {cell for first, last in fact.cover.runs for cell in range(first, last + 1)}
    for entry in fact.reads:
        if entry.storage is not fact.storage or entry.properties == fact.tensor.properties:
            continue
        runs, _ = runs_of(entry.properties["shape"], entry.properties["strides"], entry.properties["offset"], SMALL)
        common = cells.intersection(cell for first, last in runs for cell in range(first, last + 1))
        if common:
            reader = name_or_operation(done, entry) if entry.name else message("Its operand")
            if len(common) < len(cells):
                return message(
                    "{tensor} reads {count} of them before anything is written.", tensor=reader, count=len(common)
                )
            return plural(
                "{tensor} reads it before anything is written.",
                "{tensor} reads them before anything is written.",
                len(cells),
                tensor=reader,
            )
    return ""


def cells_of_text(storage: StorageEntry, cover: Cover) -> Text:
    """Return a count of cells with their storage: ``all 6 cells of storage 2``."""
    return message("{cells} of storage {storage}", cells=cells_text(storage, cover), storage=storage.id)


def cells_text(storage: StorageEntry, cover: Cover) -> Text:
    """Return the written cells: ``all 6 cells``, ``cells 10 to 19``, or ``2 cells``."""
    count, runs = cover.count, cover.runs
    if count == 0:
        return message("no cell")
    if count == storage.length:
        return message("the one cell") if count == 1 else message("all {count} cells", count=f"{count:,}")
    if len(runs) == 1 and runs[0][1] - runs[0][0] + 1 == count and storage.length > 8:
        first, last = runs[0]
        if last > first:
            return message("cells {first} to {last}", first=f"{first:,}", last=f"{last:,}")
        return message("cell {number}", number=f"{first:,}")
    return cell_count_text(count)


def _describe_saved_first(subject: Text, fact: Wrote, cells: Text) -> Text:
    """Describe a write to an input whose old bytes the operation saved before."""
    values: dict[str, Text | int] = {
        "subject": subject,
        "size": bytes_message(sum(storage.nbytes for storage in fact.own)),
        "storages": storages_text(fact.own),
        "cells": cells,
        "version": fact.storage.version,
    }
    if fact.node is not None and any(save.event.get("marks") for save in fact.node.saves):
        return message(
            "{subject} saves marks of its input, 1 bit per element, {size} in {storages}, then writes {cells}: version "
            "{version}.",
            **values,
        )
    return message(
        "{subject} needs its input for backward, so it first copies {size} to {storages}. Then it writes {cells}: "
        "version {version}.",
        **values,
    )


def _describe_joined(done: FinishedStep, fact: Wrote) -> Text:
    """Describe a tensor without a history that was overwritten with numbers that have a history."""
    if fact.node is None or fact.wanted_gradient:
        return ""
    tensor = name_or_operation(done, fact.tensor)
    return message("From now on {tensor} has a history and requires a gradient.", tensor=tensor)


def _aliases(done: FinishedStep, fact: Wrote) -> list[TensorEntry]:
    """Return the other tensors and arrays on the written storage that have names."""
    others = fact.storage.aliases.values()
    return [entry for entry in others if entry is not fact.tensor and entry.names]


def _says_through(done: FinishedStep, fact: Wrote) -> bool:
    """True if the sentence should mention the tensor through which the storage was written."""
    tensor = fact.tensor
    return bool(tensor.name) and fact.op != "setitem" and (bool(_aliases(done, fact)) or "." in tensor.name)


def _same_tensor(done: FinishedStep, fact: Wrote) -> Text:
    """Return a sentence with the other names of the written tensor.

    If the statement is an expression, these are the names that it does not mention. If it mentions all of them, or if
    the statement is of another kind, they are all names except the one in the step's first sentence.
    """
    names = fact.tensor.names
    if len(names) < 2 or any(named.tensor is fact.tensor for named in done.all(Named)):
        return ""
    through = name_or_operation(done, fact.tensor)
    others = [name for name in names if code(name) != through]
    if done.statement.kind == "expression":  # the text of other statements does not contain every name in the line
        mentioned = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)").findall(done.statement.text)
        others = [name for name in names if name not in mentioned] or others
    return plural(
        "{names} names the same tensor.",
        "{names} name the same tensor.",
        len(others[:2]),
        names=joined([code(name) for name in others[:2]]),
    )


def _unknown_to_history(done: FinishedStep, fact: Wrote) -> Text:
    wanting = [entry for entry in _aliases(done, fact) if not entry.properties["stop_gradient"]]
    if not fact.tensor.properties["stop_gradient"]:
        # only a view with a separate history does not record the write
        wanting = [entry for entry in wanting if entry.group is not fact.tensor.group]
    if not wanting:
        return ""
    return message("{tensor} changes too, but its history does not record it.", tensor=code(wanting[0].names[0]))


def _group_moves(done: FinishedStep, fact: Wrote) -> Text:
    if fact.node is None:
        return ""
    others = [entry for entry in _aliases(done, fact) if entry.group is fact.tensor.group]
    if not others:
        return ""
    other = code(others[0].names[0])
    return message("The write joins the history they share, so {tensor} gets a new state, too.", tensor=other)


def _describe_readers(done: FinishedStep, fact: Wrote) -> Text:
    if _group_moves(done, fact) or _unknown_to_history(done, fact):
        return ""
    return describe_readers(done, fact.storage, fact.cover, fact.tensor)


def describe_readers(done: FinishedStep, storage: StorageEntry, cover: Cover, by: TensorEntry | None) -> Text:
    """Describe the named tensors, other than ``by``, that certainly show at least one written cell."""
    aliases = done.ledger.tensors.aliases_of(storage)
    if by is None:
        aliases = [entry for entry in aliases if not entry.is_array]  # one of the arrays wrote the cells
    others = [entry for entry in aliases if entry is not by and entry.names and _overlap(entry, storage, cover)]
    if not others:
        return ""
    names = joined([code(entry.names[0]) for entry in others[:3]])
    one, too = cover.count == 1, by is not None and by.names
    if one and too:
        return plural(
            "{tensors} sees the new number, too.", "{tensors} see the new number, too.", len(others), tensors=names
        )
    if one:
        return plural("{tensors} sees the new number.", "{tensors} see the new number.", len(others), tensors=names)
    if too:
        return plural(
            "{tensors} sees the new numbers, too.", "{tensors} see the new numbers, too.", len(others), tensors=names
        )
    return plural("{tensors} sees the new numbers.", "{tensors} see the new numbers.", len(others), tensors=names)


def _overlap(entry: TensorEntry, storage: StorageEntry, cover: Cover) -> bool:
    layout = entry.properties
    if cover.count and distinct(entry) == storage.length:
        return True
    runs, total = runs_of(layout["shape"], layout["strides"], layout["offset"], SMALL)
    if not cover.exact or total > SMALL:
        return False
    return any(a <= d and c <= b for a, b in runs for c, d in cover.runs)


def kept_for_backward(node: NodeEntry | None, op: str) -> Text:
    """Describe the tensors that a node saved for backward, except those in storages that no tensor shows."""
    if node is not None and node.unknown:
        return say_unknown(op)
    saves = node.saves if node is not None else []
    labels: list[Text] = list(dict.fromkeys(code(each.label) for each in saves if each.storage.seen_by_tensor))
    if not labels:
        return ""
    if node is not None and is_inferred(node):
        return say_inferred(op, labels)
    return message(
        "{operation} saves {tensors}, because its gradient needs those numbers.",
        operation=code(op),
        tensors=joined(labels),
    )


def distinct(tensor: TensorEntry) -> int:
    """Return the number of different cells that a tensor shows; for a large tensor, the number of its elements."""
    layout = tensor.properties
    runs, total = runs_of(layout["shape"], layout["strides"], layout["offset"], SMALL)
    if total > SMALL:
        return math.prod(layout["shape"])
    return sum(last - first + 1 for first, last in merged(runs))
