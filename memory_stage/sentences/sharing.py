"""Sentences about memory that is shared with the outside, and tensors that change storage. Rules: see ``sentences``."""

from __future__ import annotations

from memory_stage.model.changes import Elsewhere, Made, Moved, Unversioned
from memory_stage.model.entries import StorageEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_counts_nothing
from memory_stage.sentences.naming import called, kept
from memory_stage.sentences.savers import named_savers, stale_text
from memory_stage.sentences.words import code, fitting
from memory_stage.sentences.writes import cells_text, who_sees
from memory_stage.trace.amounts import bytes_text, count_of


def say_borrowed(done: FinishedStep, fact: Made, subject: str) -> str:
    """Describe a tensor on memory that another library has allocated."""
    tensor, storage = fact.tensor, fact.tensor.storage
    numbers = count_of(storage.length, "number")
    what = f"the tensor {called(done, tensor)}" if tensor.names else "a tensor"
    owners = [entry.names[0] for entry in storage.aliases.values() if entry.is_array and entry.names]
    whose = f"of {code(owners[0])}" if owners else "of another owner"
    first = f"{subject} makes {what} on the {numbers} {whose}: nothing is copied."
    size = bytes_text(storage.nbytes)
    return fitting(first, f"Storage {storage.id} is borrowed memory: {size} that its owner has allocated.")


def say_unversioned(done: FinishedStep, fact: Unversioned) -> str:
    """Describe a write that did not change the version."""
    storage = fact.storage
    what = f"{cells_text(storage, fact.cover)} of storage {storage.id}"
    if fact.tensor is None:
        first = f"Line {done.line} writes {what} from outside, and no version tells: it stays {storage.version}."
    elif fact.tensor.storage is storage:
        first = say_counts_nothing(fact.called, what, called(done, fact.tensor), storage.version)
    else:
        first = (
            f"{code(fact.called)} writes {what} through {called(done, fact.tensor)}, which counts versions of its own: "
            f"storage {storage.id} stays at version {storage.version}."
        )
    return fitting(first, *unnoticed(fact), who_sees(done, storage, fact.cover, fact.tensor))


def say_elsewhere(done: FinishedStep, fact: Elsewhere) -> str:
    """Describe a storage that another thread has made or written."""
    name = next((entry.names[0] for entry in fact.storage.aliases.values() if entry.names), "")
    whose = f", that of {code(name)}" if name else ""
    what = f"writes storage {fact.storage.id}{whose}: version {fact.before} to version {fact.version}."
    if fact.before is None:
        what = f"makes storage {fact.storage.id}{whose}: {bytes_text(fact.storage.nbytes)}."
    return fitting(
        f"Another thread {what}",
        stale_text(fact),
        ("Its steps are not shown: a stage follows the thread that begins.", "Its steps are not shown."),
    )


def unnoticed(fact: Unversioned) -> list[tuple[str, ...]]:
    """Describe the savers of written cells, and if backward will use the new numbers or notice the write."""
    if not fact.used:
        return []
    who, _one = named_savers(save.node for save in fact.used)
    them, ones = ("it", "one") if fact.cover.count == 1 else ("them", "ones")
    if fact.checked:
        return [
            (
                f"{who} saved {them}, and the check will find it: {code('backward')} will be refused.",
                f"The check will find it: {code('backward')} will be refused.",
            )
        ]
    return [
        (
            f"{who} saved {them}: {code('backward')} will use the new {ones} and not notice.",
            f"{code('backward')} through {who} will not notice.",
            f"{code('backward')} will not notice.",
        )
    ]


def say_moved(done: FinishedStep, fact: Moved) -> str:
    """Describe a tensor that moved to another storage."""
    tensor, storage = fact.tensor, fact.tensor.storage.root
    name, size = called(done, tensor), bytes_text(storage.nbytes)
    left = _describe_left(done, fact.left)
    if fact.op == "cast_":
        first = (
            f"{code('cast_')} gives {name} its numbers as {tensor.look['dtype']} in a new storage {storage.id}, "
            f"{size}, at version {storage.version}."
        )
        return fitting(first, left)
    if fact.op == "resize_":
        first = (
            f"{code('resize_')} needs {storage.length:,} cells for {name}, so it copies the numbers to a new storage "
            f"{storage.id}, {size}, at version {storage.version}."
        )
        return fitting(first, left)
    if storage.length == 0:
        return fitting(f"{code('set_')} leaves {name} empty, on a storage of 0 bytes.", left)
    others = [entry.names[0] for entry in storage.aliases.values() if entry is not tensor and entry.names]
    where = f"the storage of {code(others[0])}, storage {storage.id}" if others else f"storage {storage.id}"
    subject = code(fact.called) if fact.op else f"Line {done.line}"
    return fitting(f"{subject} lets {name} look at {where}: nothing is copied.", left)


def _describe_left(done: FinishedStep, storage: StorageEntry) -> str:
    """Describe the storage that a tensor left."""
    if storage.freed:
        return f"Storage {storage.id} is freed: {bytes_text(storage.counted)}."
    return kept(done, storage)


def brief_moved(done: FinishedStep, fact: Moved) -> str:
    """Return the same as a part of a longer sentence."""
    storage = fact.tensor.storage.root
    who = code(fact.called) if fact.called else "it"
    return f"{who} moves {called(done, fact.tensor)} to storage {storage.id}"


def brief_unversioned(done: FinishedStep, fact: Unversioned) -> str:
    """Return the same as a part of a longer sentence."""
    who = code(fact.called) if fact.op else "numpy"
    return f"{who} writes {cells_text(fact.storage, fact.cover)} of storage {fact.storage.id}, version unchanged"
