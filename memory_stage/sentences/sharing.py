"""Sentences about memory shared with other libraries or threads, and about tensors that change storage."""

from __future__ import annotations

from memory_stage.messages import Text, message, plural
from memory_stage.model.changes import Elsewhere, Made, Moved, Unversioned
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_version_unchanged
from memory_stage.sentences.naming import describe_freed_storage, describe_kept, name_or_operation
from memory_stage.sentences.savers import named_savers, stale_text
from memory_stage.sentences.words import code, fitting, line_text, numbers_text
from memory_stage.sentences.writes import cells_of_text, cells_text, describe_readers
from memory_stage.trace.amounts import bytes_message


def say_borrowed(done: FinishedStep, fact: Made, subject: Text) -> Text:
    """Describe a tensor on memory that another library has allocated."""
    tensor, storage = fact.tensor, fact.tensor.storage
    owners = [entry.names[0] for entry in storage.aliases.values() if entry.is_array and entry.names]
    first = message(
        "{subject} makes {tensor} on the {numbers} of {owner}: nothing is copied.",
        subject=subject,
        tensor=message("the tensor {name}", name=name_or_operation(done, tensor))
        if tensor.names
        else message("a tensor"),
        numbers=numbers_text(storage.length),
        owner=code(owners[0]) if owners else message("another owner"),
    )
    size = bytes_message(storage.nbytes)
    return fitting(
        first,
        message(
            "Storage {storage} is borrowed memory: {size} that its owner has allocated.", storage=storage.id, size=size
        ),
    )


def say_unversioned(done: FinishedStep, fact: Unversioned) -> Text:
    """Describe a write that did not change the version."""
    storage = fact.storage
    cells = cells_of_text(storage, fact.cover)
    first: Text
    if fact.tensor is None:
        first = message(
            "Line {line} writes {cells} from outside, but the version stays {version}.",
            line=done.line,
            cells=cells,
            version=storage.version,
        )
    elif fact.tensor.storage is storage:
        first = say_version_unchanged(fact.called, cells, name_or_operation(done, fact.tensor), storage.version)
    else:
        first = message(
            "{operation} writes {cells} through {tensor}, which has its own version counter: storage {storage} stays "
            "at version {version}.",
            operation=code(fact.called),
            cells=cells,
            tensor=name_or_operation(done, fact.tensor),
            storage=storage.id,
            version=storage.version,
        )
    return fitting(first, *checks_of_savers(fact), describe_readers(done, storage, fact.cover, fact.tensor))


def say_elsewhere(done: FinishedStep, fact: Elsewhere) -> Text:
    """Describe a storage that another thread has made or written."""
    name = next((entry.names[0] for entry in fact.storage.aliases.values() if entry.names), "")
    storage: Text = message("storage {storage}", storage=fact.storage.id)
    if name:
        storage = message("storage {storage}, that of {name}", storage=fact.storage.id, name=code(name))
    if fact.before is None:
        size = bytes_message(fact.storage.nbytes)
        first = message("Another thread allocates {storage}: {size}.", storage=storage, size=size)
    else:
        first = message(
            "Another thread writes {storage}: version {before} to version {version}.",
            storage=storage,
            before=fact.before,
            version=fact.version,
        )
    return fitting(
        first,
        stale_text(fact),
        (
            message("Its steps are not shown: a stage follows only the thread that starts it."),
            message("Its steps are not shown."),
        ),
    )


def checks_of_savers(fact: Unversioned) -> list[tuple[Text, ...]]:
    """Return sentences about the nodes that saved the written cells. They say if a later check notices the write."""
    if not fact.used:
        return []
    who, _ = named_savers(save.node for save in fact.used)
    if fact.checked:
        return [
            (
                plural(
                    "{savers} saved it, and the check will notice it: `backward` will be refused.",
                    "{savers} saved them, and the check will notice it: `backward` will be refused.",
                    fact.cover.count,
                    savers=who,
                ),
                message("The check will notice it: `backward` will be refused."),
            )
        ]
    return [
        (
            plural(
                "{savers} saved it: `backward` will silently use the new one.",
                "{savers} saved them: `backward` will silently use the new ones.",
                fact.cover.count,
                savers=who,
            ),
            message("`backward` through {savers} will not notice.", savers=who),
            message("`backward` will not notice."),
        )
    ]


def say_moved(done: FinishedStep, fact: Moved) -> Text:
    """Describe a tensor that moved to another storage."""
    tensor, storage = fact.tensor, fact.tensor.storage.root
    name, size = name_or_operation(done, tensor), bytes_message(storage.nbytes)
    left = describe_left(done, fact)
    if fact.op == "cast_":
        first = message(
            "`cast_` copies the numbers of {tensor} as {dtype} to a new storage {storage}, {size}, at version "
            "{version}.",
            tensor=name,
            dtype=tensor.properties["dtype"],
            storage=storage.id,
            size=size,
            version=storage.version,
        )
        return fitting(first, left)
    if fact.op == "resize_":
        first = message(
            "`resize_` needs {count} cells for {tensor}, so it copies the numbers to a new storage {storage}, {size}, "
            "at version {version}.",
            count=f"{storage.length:,}",
            tensor=name,
            storage=storage.id,
            size=size,
            version=storage.version,
        )
        return fitting(first, left)
    if storage.length == 0:
        return fitting(message("`set_` leaves {tensor} empty, on a storage of 0 bytes.", tensor=name), left)
    others = [entry.names[0] for entry in storage.aliases.values() if entry is not tensor and entry.names]
    where = message("storage {storage}", storage=storage.id)
    if others:
        where = message("the storage of {name}, storage {storage}", name=code(others[0]), storage=storage.id)
    first = message(
        "{subject} moves {tensor} to {storage}: nothing is copied.",
        subject=code(fact.called) if fact.op else line_text(done.line),
        tensor=name,
        storage=where,
    )
    return fitting(first, left)


def describe_left(done: FinishedStep, fact: Moved) -> Text:
    """Describe the storage from which a tensor moved."""
    return describe_freed_storage(fact.left) if fact.left.freed else describe_kept(done, fact.left)


def brief_moved(done: FinishedStep, fact: Moved) -> Text:
    """Describe, as a clause, a tensor that moved to another storage."""
    return message(
        "{subject} moves {tensor} to storage {storage}",
        subject=code(fact.called) if fact.called else message("it"),
        tensor=name_or_operation(done, fact.tensor),
        storage=fact.tensor.storage.root.id,
    )


def brief_unversioned(done: FinishedStep, fact: Unversioned) -> Text:
    """Describe, as a clause, a write that did not change the version."""
    return message(
        "{subject} writes {cells} of storage {storage}, version unchanged",
        subject=code(fact.called) if fact.op else message("other code"),
        cells=cells_text(fact.storage, fact.cover),
        storage=fact.storage.id,
    )
