"""Sentences about names that are bound, moved and deleted, and about freed storages. Rules: see ``sentences``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from memory_stage.model.changes import Allocated, Named, StorageFreed, TensorFreed, Unnamed
from memory_stage.model.entries import StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.words import both, code, fitting, node_text, storages_text
from memory_stage.trace.amounts import bytes_text

MOST_NAMED = 3  # storages that a sentence names by their numbers
_NUMPY = re.compile(r"^\w+\.numpy\(\)$")


def say_names(done: FinishedStep) -> str:
    """Return the sentence on the names that a step bound and deleted."""
    named, unnamed = done.all(Named), done.all(Unnamed)
    line = f"Line {done.line}"
    if done.statement.kind == "delete" and unnamed:
        return _describe_deleted(done, unnamed)
    arrays = [fact for fact in named if fact.tensor.is_array]
    if arrays and len(arrays) == len(named):
        return _array(done, arrays[0])
    if named:
        fact = named[0]
        others = [name for name in fact.tensor.names if name not in [other.name for other in named]]
        if len(named) > 1:
            names = both([code(other.name) for other in named[:3]])
            if all(other.tensor.step == done.ledger.journal.step - 1 for other in named):
                return f"{names} name new tensors on {_storages_of(done, named)}."
            known = [_other_names(other, named) for other in named]
            if all(known) and len(named) <= 3:
                firsts = list(dict.fromkeys(code(each[0]) for each in known))
                which = f"tensor{'' if len(firsts) == 1 else 's'} of {both(firsts)}"
                return fitting(f"{names} are further names for the {which}.", freed(done) or "No byte is added.")
            return fitting(f"{names} are names for tensors that were there already.", "No byte is added.")
        if others:
            which = "now names" if fact.before is not None else "becomes a second name for"
            return fitting(
                f"{code(fact.name)} {which} the tensor of {code(others[0])}.",
                fate(done, fact) or "No tensor, no storage and no byte is added.",
            )
        if fact.tensor.step == done.ledger.journal.step - 1:
            return fitting(f"{code(fact.name)} names a new tensor on {_storages_of(done, named)}.", fate(done, fact))
        return fitting(f"{code(fact.name)} names a tensor that was there already.", fate(done, fact))
    if unnamed:
        return _describe_deleted(done, unnamed)
    let_go = freed(done)
    if let_go:
        return fitting(f"{line} lets go of what nothing names any more.", let_go)
    if done.printed:
        return f"{line} prints and changes no memory."
    if done.statement.kind == "assign" and _NUMPY.match(done.statement.text):
        return f"{code(done.statement.text)} copies the numbers into a numpy array of its own. No tensor is made."
    if _changed_tensors(done):
        return _regradient(done)
    return f"{line} touches no tensor: memory stays as it is."


def _array(done: FinishedStep, fact: Named) -> str:
    """Describe a name for a numpy array on the memory of a storage."""
    storage = fact.tensor.storage
    names = [entry.names[0] for entry in storage.aliases.values() if not entry.is_array and entry.names]
    which = f", the memory of {code(names[0])}" if names else ""
    return fitting(
        f"{code(fact.name)} names a numpy array on storage {storage.id}{which}: no number is copied.",
        "What is written through it no version will tell.",
    )


def _storages_of(done: FinishedStep, named: Sequence[Named]) -> str:
    """Return the storages of tensors that no operation made, such as deep copies, and those of them that are new."""
    storages = list(dict.fromkeys(fact.tensor.storage.root for fact in named))
    made = {fact.storage for fact in done.all(Allocated)}
    new = [storage for storage in storages if storage in made]
    old = [storage for storage in storages if storage not in made]
    parts = [storages_text(old) if len(old) <= MOST_NAMED else f"{len(old)} storages"] if old else []
    if len(new) == 1:
        parts.append(f"a new storage {new[0].id}, {bytes_text(new[0].counted)}")
    elif new:
        which = f"new {storages_text(new)}" if len(new) <= MOST_NAMED else f"{len(new)} new storages"
        parts.append(f"{which}, {bytes_text(sum(storage.counted for storage in new))}")
    return both(parts)


def _other_names(fact: Named, named: Sequence[Named]) -> list[str]:
    """Return the names that the tensor had before."""
    return [name for name in fact.tensor.names if name not in [other.name for other in named]]


def _changed_tensors(done: FinishedStep) -> list[dict[str, Any]]:
    """Return the events of tensors whose properties changed, without those that only name a tensor's holder."""
    return [event for event in done.events if event["do"] == "retensor" and set(event) - {"do", "id", "holder"}]


def _regradient(done: FinishedStep) -> str:
    changed = _changed_tensors(done)
    entry = next((e for e in done.ledger.tensors.entries.values() if e.id == changed[0]["id"]), None)
    name = called(done, entry) if entry is not None else "the tensor"
    wanting = [event for event in changed if event.get("stop_gradient") is False]
    if len(wanting) == len(changed) > 1:
        by_id = {each.id: each for each in done.ledger.tensors.entries.values()}
        names = [called(done, by_id[event["id"]]) for event in wanting if event["id"] in by_id]
        return f"From line {done.line} on, {both(names)} are leaves that want a gradient. No number moves."
    if "stop_gradient" in changed[0] and entry is not None:
        if entry.look["stop_gradient"]:
            return f"From line {done.line} on, {name} wants no gradient and belongs to no history."
        return f"From line {done.line} on, {name} is a leaf that wants a gradient. No number moves."
    return f"Line {done.line} changes how {name} looks at its storage. No number moves."


def _describe_deleted(done: FinishedStep, unnamed: Sequence[Unnamed]) -> str:
    if len(unnamed) > 1:
        names = both([code(fact.name) for fact in unnamed[:3]])
        storages = {fact.tensor.storage.root for fact in unnamed}
        stays = "Their storages stay: others hold them."
        if len(storages) == 1 and not done.all(StorageFreed):
            stays = kept(done, storages.pop())
        return fitting(f"{names} are gone.", freed(done) if done.all(StorageFreed) else stays)
    fact = unnamed[0]
    subject = code(done.statement.text) if done.statement.kind == "delete" else f"Line {done.line}"
    tensor, storage = fact.tensor, fact.tensor.storage.root
    what = "numpy array" if tensor.is_array else "tensor"
    if not tensor.freed:
        if tensor.names:
            return (
                f"{subject} takes away a name. The {what} and its storage stay, because "
                f"{both([code(n) for n in tensor.names[:2]])} still {'names' if len(tensor.names) == 1 else 'name'} it."
            )
        if tensor.is_array and storage.is_borrowed:
            return (
                f"{subject} takes away the last name of a {what}. It stays, because storage {storage.id} borrows its "
                f"memory."
            )
        holder = done.ledger.tensors.holder_of(tensor)
        return f"{subject} takes away the last name of a {what}. It stays, because {holder} still holds it."
    if storage.freed and not storage.is_borrowed:
        first = (
            f"{subject} takes away the last name of its {what}, so storage {storage.id} is freed at once: "
            f"{bytes_text(storage.counted)} fewer are allocated."
        )
        held = f"The GPU's allocator keeps them for later: {bytes_text(done.reserved)} stay reserved."
        return fitting(first, held if done.reserved and not done.unreserved and _on_gpu(done, storage) else "")
    if storage.freed:
        return f"{subject} takes away a name and its {what}. The borrowed memory goes on without minitensor."
    return f"{subject} takes away a name and its {what}. {kept(done, storage)}"


def _on_gpu(done: FinishedStep, storage: StorageEntry) -> bool:
    return storage.event.get("device", "cpu") != "cpu"


def moved(done: FinishedStep) -> str:
    """Describe a name that was moved from one tensor to another."""
    for fact in done.all(Named):
        if fact.before is None:
            continue
        name = code(fact.name)
        if fact.before.storage is fact.tensor.storage:
            return f"{name} moves to the new tensor."
        what = fate(done, fact)
        link = ", and" if fact.before.storage.freed else ";"
        what = what if what.startswith("`") else what[:1].lower() + what[1:]
        return f"{name} moves to it{link} {what}"
    return ""


def fate(done: FinishedStep, fact: Named) -> str:
    """Describe the tensor that a name had before."""
    old = fact.before
    if old is None:
        return ""
    storage = old.storage
    if storage.freed:
        return f"Storage {storage.id} is freed: {bytes_text(storage.counted)}."
    if not old.freed and old.names:
        return f"{code(old.names[0])} still names the old tensor."
    return kept(done, storage)


def keeper(done: FinishedStep, storage: StorageEntry) -> str:
    """Return the holders of a storage."""
    looking = done.ledger.tensors.aliases_of(storage.root)
    for entry in looking:
        if entry.names:
            array = "the numpy array " if entry.is_array else ""
            return f"{array}{code(entry.names[0])} still looks at it"
    for save in storage.saves:
        if not save.released and storage in (save.storage, *save.copies):
            return f"{node_text(save.node)} saved it for backward"
    for entry in looking:
        holder, kind = done.ledger.tensors.holder_of(entry), "numpy array" if entry.is_array else "tensor"
        return f"{holder} still holds a {kind} on it"
    return "something outside still holds it"


def kept(done: FinishedStep, storage: StorageEntry) -> str:
    """Describe a storage that stays allocated, and its holders."""
    return f"Storage {storage.id} stays, because {keeper(done, storage)}."


def freed(done: FinishedStep) -> str:
    """Return the freed storages and their bytes; an empty text if none was freed."""
    storages = [fact.storage for fact in done.all(StorageFreed)]
    if not storages:
        return "A tensor is gone; its storage stays." if done.all(TensorFreed) else ""
    if len(storages) == 1 and storages[0].is_borrowed:
        return f"Storage {storages[0].id} is let go: its memory was borrowed."
    total = bytes_text(sum(storage.counted for storage in storages))
    if len(storages) == 1:
        return f"Storage {storages[0].id} is freed: {total}."
    return f"{len(storages)} storages are freed: {total}."


def name_of(done: FinishedStep, entry: TensorEntry) -> str:
    """Return the name of a tensor in a sentence: inside a function, the function's own name for it."""
    inside = f" in {done.statement.function}"
    own = [name for name in entry.names if name.endswith(inside)] if done.statement.function else []
    return own[0] if own else entry.name


def called(done: FinishedStep, entry: TensorEntry) -> str:
    """Return the name of a tensor, or else the operation that made it."""
    name = name_of(done, entry)
    if name:
        return code(name)
    return f"the result of {code(entry.op)}" if entry.op else "the tensor"
