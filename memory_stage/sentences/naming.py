"""Sentences about names that are bound, moved and deleted, and about freed storages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from memory_stage.messages import Text, joined, message, plural
from memory_stage.model.changes import Allocated, Named, StorageFreed, TensorFreed, Unnamed
from memory_stage.model.compound_names import is_local_of
from memory_stage.model.entries import StorageEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.words import code, fitting, line_text, node_text, quoted, storages_text
from memory_stage.trace.amounts import bytes_message

MOST_NAMED = 3  # the largest number of storages that a sentence lists by number
_NUMPY = re.compile(r"^\w+\.numpy\(\)$")


def say_names(done: FinishedStep) -> Text:
    """Return the sentence about the names that a step bound and deleted."""
    named, unnamed = done.all(Named), done.all(Unnamed)
    if done.statement.kind == "delete" and unnamed:
        return _describe_deleted(done, unnamed)
    arrays = [fact for fact in named if fact.tensor.is_array]
    if arrays and len(arrays) == len(named):
        return _array(done, arrays[0])
    if len(named) > 1:
        return _describe_several(done, named)
    if named:
        return _describe_one(done, named[0])
    if unnamed:
        return _describe_deleted(done, unnamed)
    freed = describe_freed(done)
    if freed:
        return fitting(message("Line {line} frees tensors that nothing names any more.", line=done.line), freed)
    if done.printed:
        return message("Line {line} prints and changes no memory.", line=done.line)
    text = done.statement.text
    if done.statement.kind == "assign" and _NUMPY.match(text):
        return message(
            "{expression} copies the numbers into a separate numpy array. No tensor is made.", expression=quoted(text)
        )
    if _changed_tensors(done):
        return _describe_changed(done)
    return message("Line {line} touches no tensor, so memory does not change.", line=done.line)


def _describe_one(done: FinishedStep, fact: Named) -> Text:
    """Describe a name that a step bound."""
    name = code(fact.name)
    others = _other_names(fact, [fact])
    if others:
        other = code(others[0])
        first = (
            message("{name} now names the tensor of {other}.", name=name, other=other)
            if fact.before is not None
            else message("{name} becomes a second name for the tensor of {other}.", name=name, other=other)
        )
        return fitting(
            first, _describe_former_tensor(done, fact) or message("No tensor, no storage and no byte is added.")
        )
    if fact.tensor.step == done.ledger.journal.step - 1:
        return _describe_new(done, fact, _storages_of(done, [fact]))
    return fitting(message("{name} names an existing tensor.", name=name), _describe_former_tensor(done, fact))


def _describe_several(done: FinishedStep, named: Sequence[Named]) -> Text:
    """Describe several names that a step bound."""
    names = joined([code(other.name) for other in named[:3]])
    if all(other.tensor.step == done.ledger.journal.step - 1 for other in named):
        return message("{names} name new tensors on {storages}.", names=names, storages=_storages_of(done, named))
    known = [_other_names(other, named) for other in named]
    if all(known) and len(named) <= 3:
        firsts = list(dict.fromkeys(str(code(each[0])) for each in known))
        first = plural(
            "{names} are further names for the tensor of {others}.",
            "{names} are further names for the tensors of {others}.",
            len(firsts),
            names=names,
            others=joined(firsts),
        )
        return fitting(first, describe_freed(done) or message("No byte is added."))
    return fitting(message("{names} are names for existing tensors.", names=names), message("No byte is added."))


def _array(done: FinishedStep, fact: Named) -> Text:
    """Describe a name for a numpy array that shares the memory of a storage."""
    storage = fact.tensor.storage
    names = [entry.names[0] for entry in storage.aliases.values() if not entry.is_array and entry.names]
    first = (
        message(
            "{name} names a numpy array on storage {storage}, the memory of {tensor}: no number is copied.",
            name=code(fact.name),
            storage=storage.id,
            tensor=code(names[0]),
        )
        if names
        else message(
            "{name} names a numpy array on storage {storage}: no number is copied.",
            name=code(fact.name),
            storage=storage.id,
        )
    )
    return fitting(first, message("Writes through the array do not raise the version."))


def _storages_of(done: FinishedStep, named: Sequence[Named]) -> Text:
    """Return a phrase that lists the storages of tensors that no operation made: first the old ones, then the new."""
    storages = list(dict.fromkeys(fact.tensor.storage.root for fact in named))
    made = {fact.storage for fact in done.all(Allocated)}
    new = [storage for storage in storages if storage in made]
    old = [storage for storage in storages if storage not in made]
    parts = []
    if old:
        parts.append(storages_text(old) if len(old) <= MOST_NAMED else message("{count} storages", count=len(old)))
    size = bytes_message(sum(storage.counted for storage in new))
    if len(new) == 1:
        parts.append(message("a new storage {storage}, {size}", storage=new[0].id, size=size))
    elif len(new) > MOST_NAMED:
        parts.append(message("{count} new storages, {size}", count=len(new), size=size))
    elif new:
        parts.append(message("new {storages}, {size}", storages=storages_text(new), size=size))
    return joined(parts)


def _other_names(fact: Named, named: Sequence[Named]) -> list[str]:
    """Return the names that a tensor had before this step."""
    return [name for name in fact.tensor.names if name not in [other.name for other in named]]


def _changed_tensors(done: FinishedStep) -> list[dict[str, Any]]:
    """Return the events of tensors whose properties changed, without events that change only a tensor's holder."""
    return [event for event in done.events if event["do"] == "retensor" and set(event) - {"do", "id", "holder"}]


def _describe_changed(done: FinishedStep) -> Text:
    changed = _changed_tensors(done)
    entry = next((e for e in done.ledger.tensors.entries.values() if e.id == changed[0]["id"]), None)
    name = name_or_operation(done, entry) if entry is not None else message("the tensor")
    wanting = [event for event in changed if event.get("stop_gradient") is False]
    if len(wanting) == len(changed) > 1:
        by_id = {each.id: each for each in done.ledger.tensors.entries.values()}
        names = [name_or_operation(done, by_id[event["id"]]) for event in wanting if event["id"] in by_id]
        return message(
            "From line {line} on, {tensors} are leaves that require a gradient. Memory does not change.",
            line=done.line,
            tensors=joined(names),
        )
    if "stop_gradient" in changed[0] and entry is not None:
        if entry.properties["stop_gradient"]:
            return message(
                "From line {line} on, {tensor} requires no gradient and belongs to no history.",
                line=done.line,
                tensor=name,
            )
        return message(
            "From line {line} on, {tensor} is a leaf that requires a gradient. Memory does not change.",
            line=done.line,
            tensor=name,
        )
    return message(
        "Line {line} changes how {tensor} reads its storage. Memory does not change.", line=done.line, tensor=name
    )


def _describe_deleted(done: FinishedStep, unnamed: Sequence[Unnamed]) -> Text:
    if len(unnamed) > 1:
        names = joined([code(fact.name) for fact in unnamed[:3]])
        storages = {fact.tensor.storage.root for fact in unnamed}
        stays: Text = message("Their storages stay, because other objects still hold them.")
        if len(storages) == 1 and not done.all(StorageFreed):
            stays = describe_kept(done, storages.pop())
        return fitting(
            message("{names} are deleted.", names=names), describe_freed(done) if done.all(StorageFreed) else stays
        )
    fact = unnamed[0]
    subject = quoted(done.statement.text) if done.statement.kind == "delete" else line_text(done.line)
    tensor, storage = fact.tensor, fact.tensor.storage.root
    what = _kind(tensor)
    if not tensor.freed:
        return _describe_unnamed(done, subject, tensor)
    if storage.freed and not storage.is_borrowed:
        first = message(
            "{subject} removes the last name of a {kind}, so storage {storage} is freed at once: {size} fewer are "
            "allocated.",
            subject=subject,
            kind=what,
            storage=storage.id,
            size=bytes_message(storage.counted),
        )
        held = message(
            "The GPU's allocator keeps them for later: {size} stay reserved.", size=bytes_message(done.reserved)
        )
        is_on_gpu = storage.event.get("device", "cpu") != "cpu"
        return fitting(first, held if done.reserved and not done.unreserved and is_on_gpu else "")
    if storage.freed:
        return message(
            "{subject} removes a name and its {kind}. The borrowed memory still belongs to its owner.",
            subject=subject,
            kind=what,
        )
    return message(
        "{subject} removes a name and its {kind}. Storage {storage} stays, because {reason}.",
        subject=subject,
        kind=what,
        storage=storage.id,
        reason=_keeper_clause(done, storage),
    )


def _describe_unnamed(done: FinishedStep, subject: Text, tensor: TensorEntry) -> Text:
    """Describe a deleted name of a tensor that is not freed."""
    what, storage = _kind(tensor), tensor.storage.root
    if tensor.names:
        return plural(
            "{subject} removes a name. The {kind} and its storage stay, because {names} still names it.",
            "{subject} removes a name. The {kind} and its storage stay, because {names} still name it.",
            len(tensor.names),
            subject=subject,
            kind=what,
            names=joined([code(n) for n in tensor.names[:2]]),
        )
    if tensor.is_array and storage.is_borrowed:
        return message(
            "{subject} removes the last name of a {kind}. It stays, because storage {storage} borrows its memory.",
            subject=subject,
            kind=what,
            storage=storage.id,
        )
    return message(
        "{subject} removes the last name of a {kind}. It stays, because {holder} still holds it.",
        subject=subject,
        kind=what,
        holder=done.ledger.tensors.holder_of(tensor),
    )


def _kind(tensor: TensorEntry) -> Text:
    return message("numpy array") if tensor.is_array else message("tensor")


def describe_moved_name(done: FinishedStep) -> Text:
    """Describe a name that referred to one tensor and now refers to another; "" without one."""
    for fact in done.all(Named):
        old = fact.before
        if old is None:
            continue
        name, storage = code(fact.name), old.storage
        if storage is fact.tensor.storage:
            return message("{name} moves to the new tensor.", name=name)
        if storage.freed:
            return message(
                "{name} moves to it, and storage {storage} is freed: {size}.",
                name=name,
                storage=storage.id,
                size=bytes_message(storage.counted),
            )
        if not old.freed and old.names:
            return message(
                "{name} moves to it; {other} still names the old tensor.", name=name, other=code(old.names[0])
            )
        return message(
            "{name} moves to it; storage {storage} stays, because {reason}.",
            name=name,
            storage=storage.id,
            reason=_keeper_clause(done, storage),
        )
    return ""


def _describe_former_tensor(done: FinishedStep, fact: Named) -> Text:
    """Describe the tensor that a name referred to before."""
    old = fact.before
    if old is None:
        return ""
    storage = old.storage
    if storage.freed:
        return describe_freed_storage(storage)
    if not old.freed and old.names:
        return message("{name} still names the old tensor.", name=code(old.names[0]))
    return describe_kept(done, storage)


def _keeper_clause(done: FinishedStep, storage: StorageEntry) -> Text:
    """Return a clause about the object that keeps a storage allocated."""
    aliases = done.ledger.tensors.aliases_of(storage.root)
    for entry in aliases:
        if entry.names:
            name = code(entry.names[0])
            if entry.is_array:
                return message("the numpy array {name} still uses it", name=name)
            return message("{name} still uses it", name=name)
    for save in storage.saves:
        if not save.released and storage in (save.storage, *save.copies):
            return message("{node} saved it for backward", node=node_text(save.node))
    for entry in aliases:
        holder = done.ledger.tensors.holder_of(entry)
        return message("{holder} still holds a {kind} on it", holder=holder, kind=_kind(entry))
    return message("an object that the recording does not show still holds it")


def describe_kept(done: FinishedStep, storage: StorageEntry) -> Text:
    """Describe a storage that remains allocated, and the object that keeps it alive."""
    return message(
        "Storage {storage} stays, because {reason}.", storage=storage.id, reason=_keeper_clause(done, storage)
    )


def describe_named(done: FinishedStep, storage: StorageEntry) -> Text:
    """Describe a name that the step bound to a tensor on a storage whose first tensor is freed; "" without one."""
    named = [fact for fact in done.all(Named) if fact.tensor.storage.root is storage.root and not fact.tensor.is_array]
    return _describe_new(done, named[0], storages_text([storage.root])) if named else ""


def _describe_new(done: FinishedStep, fact: Named, storages: Text) -> Text:
    first = message("{name} names a new tensor on {storages}.", name=code(fact.name), storages=storages)
    return fitting(first, _describe_former_tensor(done, fact))


def describe_freed(done: FinishedStep) -> Text:
    """Return a sentence about freed storages, or about a freed tensor on a storage that stays; "" without either."""
    storages = [fact.storage for fact in done.all(StorageFreed)]
    if not storages:
        return message("A tensor is freed; its storage stays.") if done.all(TensorFreed) else ""
    if len(storages) > 1:
        total = bytes_message(sum(storage.counted for storage in storages))
        return message("{count} storages are freed: {size}.", count=len(storages), size=total)
    if storages[0].is_borrowed:
        return message("Storage {storage} is released: its memory was borrowed.", storage=storages[0].id)
    return describe_freed_storage(storages[0])


def describe_freed_storage(storage: StorageEntry) -> Text:
    """Describe a freed storage."""
    return message("Storage {storage} is freed: {size}.", storage=storage.id, size=bytes_message(storage.counted))


def name_of(done: FinishedStep, entry: TensorEntry) -> str:
    """Return the name of a tensor for a sentence; inside a function, the function's local name."""
    function = done.statement.function
    own = [name for name in entry.names if is_local_of(name, function)] if function else []
    return own[0] if own else entry.name


def name_or_operation(done: FinishedStep, entry: TensorEntry) -> Text:
    """Return the name of a tensor; without a name, the operation that made it."""
    name = name_of(done, entry)
    if name:
        return code(name)
    return message("the result of {operation}", operation=code(entry.op)) if entry.op else message("the tensor")
