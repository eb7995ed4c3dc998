"""Sentences about writes: their cells, the saved bytes, and other names of the cells. Rules: see ``sentences``."""

from __future__ import annotations

import math
import re

from memory_stage.model.changes import Named, Wrote
from memory_stage.model.covers import Cover
from memory_stage.model.entries import NodeEntry, StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import is_inferred, say_inferred, say_unknown
from memory_stage.sentences.naming import called
from memory_stage.sentences.savers import preserved_text, spared_text, stale_text, taken_text
from memory_stage.sentences.words import both, code, fitting, storages_text
from memory_stage.trace.amounts import bytes_text, count_of
from memory_stage.trace.cells import SMALL, merged, runs_of

_CALL = re.compile(r"\.(\w+)\(")


def say_write(done: FinishedStep, fact: Wrote) -> str:
    """Return the sentence on an in-place operation."""
    tensor, storage = fact.tensor, fact.storage
    subject = f"Line {done.line}" if fact.op == "setitem" else code(fact.called)
    through = f" through {called(done, tensor)}" if _says_through(done, fact) else ""
    versions = f", which goes from version {fact.before} to version {storage.version}"
    if through:
        versions = f": version {storage.version}"
    what = f"{cells_text(fact.storage, fact.cover)} of storage {storage.id}{through}"
    names = [named.name for named in done.all(Named) if named.tensor is tensor and named.name != tensor.name]
    if fact.own:
        first = f"{_describe_saved_first(subject, fact)} {what}: version {storage.version}."
    elif fact.node is None and not tensor.look["stop_gradient"]:
        leaf = "a leaf may be written" if tensor.look["leaf"] else "nothing is recorded"
        who = subject.replace("Line", "line")
        first = f"{who} writes {what}{'' if through else versions}, and leaves no history."
        if not fact.recording:
            first = f"Under {code('no_grad')} {leaf}: {first}"
        else:
            first = first[0].upper() + first[1:]
    else:
        first = f"{subject} writes {what}{versions}."
        if names and not (fact.victims or names == ["_"]):  # stale saved tensors are named first
            first = f"{subject} writes {what}, now at version {storage.version}." if through else first
            first = (
                f"{first[:-1]}, and returns {called(done, tensor)} itself: {code(names[0])} is a second name for the "
                f"same tensor."
            )
    return fitting(
        first,
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


def _second_name(done: FinishedStep, fact: Wrote, names: list[str]) -> str:
    """Return the sentence about further names that this line gave the written tensor; '' if another one has them."""
    if names == ["_"]:
        return f"The notebook keeps {called(done, fact.tensor)} as its output, {code('_')}."
    return f"{code(names[0])} names the same tensor." if names and fact.victims else ""


def as_written(done: FinishedStep, op: str, tensor: TensorEntry | None) -> str:
    """Return the program's name of an in-place operation, which may differ from the engine's name, as in PyTorch."""
    names = [name for name in _CALL.findall(done.statement.text) if name.endswith("_")]
    x = None if tensor is None or tensor.is_array else tensor.ref()
    others = x is not None and done.ledger.engine.has_other_names(x)
    return names[0] if others and len(names) == 1 else op


def _read_first(done: FinishedStep, fact: Wrote) -> str:
    """Describe an operation that reads cells before it writes them."""
    if fact.storage.length > SMALL or not fact.cover.exact:
        return ""
    cells = {cell for first, last in fact.cover.runs for cell in range(first, last + 1)}
    for entry in fact.reads:
        if entry.storage is not fact.storage or entry.look == fact.tensor.look:
            continue
        runs, _ = runs_of(entry.look["shape"], entry.look["strides"], entry.look["offset"], SMALL)
        common = cells.intersection(cell for first, last in runs for cell in range(first, last + 1))
        if common:
            who = called(done, entry) if entry.name else "Its operand"
            few = "it" if len(cells) == 1 else f"{len(common)} of them" if len(common) < len(cells) else "them"
            return f"{who} reads {few}, and that before anything is written."
    return ""


def cells_text(storage: StorageEntry, cover: Cover) -> str:
    """Return ``all 6 cells``, ``cells 10 to 19``, or ``2 cells``."""
    count, runs = cover.count, cover.runs
    if count == 0:
        return "no cell"
    if count == storage.length:
        return f"all {count:,} cells" if count > 1 else "the one cell"
    if len(runs) == 1 and runs[0][1] - runs[0][0] + 1 == count and storage.length > 8:
        first, last = runs[0]
        return f"cells {first:,} to {last:,}" if last > first else f"cell {first:,}"
    return count_of(count, "cell")


def _describe_saved_first(subject: str, fact: Wrote) -> str:
    """Describe the bytes that an operation saves of the input that it overwrites, up to the verb."""
    size = bytes_text(sum(storage.nbytes for storage in fact.own))
    where = storages_text(fact.own)
    if fact.node is not None and any(save.event.get("marks") for save in fact.node.saves):
        return f"{subject} keeps marks of its input, 1 bit per element, {size} in {where}, then writes"
    return f"{subject} needs its input for backward, so it first copies {size} to {where}. Then it writes"


def _describe_joined(done: FinishedStep, fact: Wrote) -> str:
    """Describe a tensor without a history that was overwritten with numbers that have one."""
    if fact.node is None or fact.wanted_gradient:
        return ""
    return f"From now on {called(done, fact.tensor)} has a history and wants a gradient."


def _aliases(done: FinishedStep, fact: Wrote) -> list[TensorEntry]:
    """Return the other named tensors and arrays on the written storage."""
    others = fact.storage.aliases.values()
    return [entry for entry in others if entry is not fact.tensor and entry.names]


def _says_through(done: FinishedStep, fact: Wrote) -> bool:
    """Return True if the sentence should name the tensor through which the storage was written."""
    tensor = fact.tensor
    return bool(tensor.name) and fact.op != "setitem" and (bool(_aliases(done, fact)) or "." in tensor.name)


def _same_tensor(done: FinishedStep, fact: Wrote) -> str:
    """Return the names of the written tensor that a call does not mention, or else its further names."""
    names = fact.tensor.names
    if len(names) < 2 or any(named.tensor is fact.tensor for named in done.all(Named)):
        return ""
    through = called(done, fact.tensor)
    others = [name for name in names if code(name) != through]
    if done.statement.kind == "expression":  # only then its text has every name that the line mentions
        mentioned = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)").findall(done.statement.text)
        others = [name for name in names if name not in mentioned] or others
    others = [code(name) for name in others[:2]]
    return f"{both(others)} {'names' if len(others) == 1 else 'name'} the same tensor."


def _unknown_to_history(done: FinishedStep, fact: Wrote) -> str:
    wanting = [entry for entry in _aliases(done, fact) if not entry.look["stop_gradient"]]
    if not fact.tensor.look["stop_gradient"]:
        wanting = [entry for entry in wanting if entry.group is not fact.tensor.group]  # views with a history each
    if not wanting:
        return ""
    return f"{code(wanting[0].names[0])} changes with it, and its history does not know."


def _group_moves(done: FinishedStep, fact: Wrote) -> str:
    if fact.node is None:
        return ""
    others = [entry for entry in _aliases(done, fact) if entry.group is fact.tensor.group]
    if not others:
        return ""
    return f"The write joins the history they share, so {code(others[0].names[0])} moves on with it."


def _describe_readers(done: FinishedStep, fact: Wrote) -> str:
    if _group_moves(done, fact) or _unknown_to_history(done, fact):
        return ""
    return who_sees(done, fact.storage, fact.cover, fact.tensor)


def who_sees(done: FinishedStep, storage: StorageEntry, cover: Cover, by: TensorEntry | None) -> str:
    """Return the other tensors that certainly show a written cell."""
    on_it = done.ledger.tensors.aliases_of(storage)
    if by is None:
        on_it = [entry for entry in on_it if not entry.is_array]  # one of those wrote
    others = [entry for entry in on_it if entry is not by and entry.names and _overlap(entry, storage, cover)]
    if not others:
        return ""
    names = both([code(entry.names[0]) for entry in others[:3]])
    numbers = "new number" if cover.count == 1 else "new numbers"
    too = ", too" if by is not None and by.names else ""
    return f"{names} {'sees' if len(others) == 1 else 'see'} the {numbers}{too}."


def _overlap(entry: TensorEntry, storage: StorageEntry, cover: Cover) -> bool:
    look = entry.look
    if cover.count and distinct(entry) == storage.length:
        return True
    runs, total = runs_of(look["shape"], look["strides"], look["offset"], SMALL)
    if not cover.exact or total > SMALL:
        return False
    return any(a <= d and c <= b for a, b in runs for c, d in cover.runs)


def kept_for_backward(node: NodeEntry | None, op: str) -> str:
    """Describe the saved bytes in storages that tensors show: of inputs or, in place, of the result."""
    if node is not None and node.unknown:
        return say_unknown(op)
    saves = node.saves if node is not None else []
    labels = list(dict.fromkeys(code(save.label) for save in saves if save.storage.seen_by_tensor))
    if node is not None and labels and is_inferred(node):
        return say_inferred(op, labels)
    return f"{code(op)} saves {both(labels)}, because its gradient needs those numbers." if labels else ""


def distinct(tensor: TensorEntry) -> int:
    """Return how many distinct cells a tensor shows; for a large tensor, the number of its elements."""
    look = tensor.look
    runs, total = runs_of(look["shape"], look["strides"], look["offset"], SMALL)
    if total > SMALL:
        return math.prod(look["shape"])
    return sum(last - first + 1 for first, last in merged(runs))
