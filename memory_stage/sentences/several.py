"""Sentences about several operations in one line, and a clause about each of them."""

from __future__ import annotations

from typing import Any

from memory_stage.messages import Text, capitalized, joined, message, plural, then
from memory_stage.model.changes import Allocated, Elsewhere, Made, Moved, Unversioned, Viewed, Wrote
from memory_stage.model.entries import StorageEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.naming import (
    describe_freed,
    describe_kept,
    describe_moved_name,
    describe_named,
    name_or_operation,
)
from memory_stage.sentences.results import raises_only
from memory_stage.sentences.savers import preserved_text, stale_text
from memory_stage.sentences.sharing import brief_moved, brief_unversioned, checks_of_savers, describe_left
from memory_stage.sentences.words import code, fitting
from memory_stage.sentences.writes import cells_text
from memory_stage.trace.amounts import bytes_message


def say_several(done: FinishedStep, ops: list[Any]) -> Text:
    """Describe the operations of a line: each operation if there are few, or else their totals."""
    if all(isinstance(fact, Viewed) for fact in ops) and len({(fact.op, fact.tensor.storage.id) for fact in ops}) == 1:
        return _views(done, ops)
    raised = raises_only(ops)
    writes = [fact for fact in ops if isinstance(fact, Wrote)]
    made = [fact for fact in ops if isinstance(fact, Made)]
    outside = [fact for fact in ops if isinstance(fact, Unversioned)]
    temporary = [fact.tensor.storage for fact in made if fact.tensor.freed]
    freed = [storage for storage in (_new(done) if made and len(ops) > 3 else temporary) if storage.freed]
    saved = next((text for fact in writes if (text := stale_text(fact) or preserved_text(fact))), ())
    saved = saved or next((text for fact in ops if isinstance(fact, Elsewhere) and (text := stale_text(fact))), ())
    saved = saved or next((text for fact in outside for text in checks_of_savers(fact)), ())
    staying = [storage for storage in temporary if not storage.freed]
    last = None if isinstance(ops[-1], (Wrote, Unversioned, Elsewhere)) else ops[-1].tensor
    is_new = any(fact.tensor is last for fact in ops if isinstance(fact, (Made, Viewed)))
    named = last if last is not None and is_new and last.names else None
    moved = [fact for fact in ops if isinstance(fact, Moved)]
    goal = named if moved[-1:] != ops[-1:] else last
    held: Text = ""
    result: Text = ""
    if len(set(staying)) == 1 and (goal is None or goal.storage.root is not staying[0].root):
        held = describe_named(done, staying[0]) or describe_kept(done, staying[0])
    if named is not None:
        result = message("{tensor} names the last result.", tensor=name_or_operation(done, named))
    elif moved and not freed:
        result = describe_left(done, moved[0]) if len(moved) == 1 else describe_freed(done)
    return fitting(
        _describe_all(done, [fact for fact in ops if fact not in raised]),
        saved,
        describe_moved_name(done) or result,
        _describe_temporary(freed),
        _lost(made, writes),
        held,
    )


def _describe_all(done: FinishedStep, ops: list[Any]) -> Text:
    """Describe all operations of a line together."""
    writes = [fact for fact in ops if isinstance(fact, Wrote)]
    written = {fact.storage.id for fact in writes}
    if len(writes) == len(ops) > 1 and len({fact.op for fact in ops}) == 1:
        operation = code(ops[0].called)
        if len(written) == len(writes):
            return message(
                "Line {line}: {operation} writes {storages}, and each version increases by 1.",
                line=done.line,
                operation=operation,
                storages=_written_names(done, writes),
            )
        if len(written) == 1:
            return message(
                "Line {line}: {operation} makes {count} writes to storage {storage}: version {version}.",
                line=done.line,
                operation=operation,
                count=len(writes),
                storage=writes[0].storage.id,
                version=writes[-1].before + 1,
            )
    if len(ops) <= 3:
        clauses = then([brief(done, fact) for fact in ops])
        return message("Line {line}: {clauses}.", line=done.line, clauses=clauses)
    parts: list[Text] = []
    if new := _new(done):
        size = bytes_message(sum(storage.nbytes for storage in new))
        parts.append(plural("{count} new storage, {size}", "{count} new storages, {size}", len(new), size=size))
    if writes:
        parts.append(plural("{count} write", "{count} writes", len(writes)))
    parts += [brief(done, fact) for fact in ops if isinstance(fact, (Unversioned, Elsewhere))][:1]
    if not parts:
        return message("Line {line} runs {count} operations; no byte is added.", line=done.line, count=len(ops))
    return message("Line {line} runs {count} operations: {sums}.", line=done.line, count=len(ops), sums=joined(parts))


def _new(done: FinishedStep) -> list[StorageEntry]:
    """Return the storages that the line allocated, without those of other threads."""
    others = [fact.storage for fact in done.all(Elsewhere) if fact.before is None]
    return [fact.storage for fact in done.all(Allocated) if fact.storage not in others]


def _describe_temporary(freed: list[StorageEntry]) -> Text:
    """Describe the storages that the line both allocated and freed."""
    if not freed:
        return ""
    storages = joined([message("storage {storage}", storage=storage.id) for storage in freed[:2]])
    if len(freed) > 2:
        storages = message("{count} of them", count=len(freed))
    sentence = plural(
        "{storages} is freed again: nothing needs it.",
        "{storages} are freed again: nothing needs them.",
        len(freed),
        storages=storages,
    )
    return capitalized(sentence)


def _views(done: FinishedStep, ops: list[Viewed]) -> Text:
    """Describe one operation that makes several views."""
    names = [code(fact.tensor.names[0]) for fact in ops if fact.tensor.names]
    subject = message("The loop in line {line}", line=done.line) if done.statement.kind == "for" else None
    values: dict[str, Text | int] = {
        "subject": subject or code(ops[0].called),
        "count": len(ops),
        "storage": ops[0].tensor.storage.id,
    }
    first = message("{subject} makes {count} tensors on storage {storage}: no number is copied.", **values)
    if names and len(names) == len(ops) <= 3:
        first = message(
            "{subject} makes {count} tensors on storage {storage}, {names}: no number is copied.",
            names=joined(names[:3]),
            **values,
        )
    base = next((code(fact.base.names[0]) for fact in ops if fact.base is not None and fact.base.names), None)
    if ops[0].same_group and names and base and not ops[0].tensor.properties["stop_gradient"]:
        tensors = joined([base, *names[:3]])
        return fitting(first, message("{tensors} share one history from now on.", tensors=tensors))
    return first


def _written_names(done: FinishedStep, writes: list[Wrote]) -> Text:
    """Return ``4 storages, of `net.weight`, `net.bias` and 2 more`` for the written storages."""
    storages = list({fact.storage.id: fact for fact in writes}.values())
    names = [code(fact.tensor.names[0]) for fact in storages if fact.tensor.names]
    if not names:
        return message("{count} storages", count=len(storages))
    more = [message("{count} more", count=len(storages) - 2)] if len(storages) > 2 else []
    return message("{count} storages, of {names}", count=len(storages), names=joined([*names[:2], *more]))


def _lost(made: list[Made], writes: list[Wrote]) -> Text:
    """Describe a copy that was written and then freed, so that the write had no lasting effect."""
    for fact in made:
        if fact.op == "getitem" and fact.tensor.freed and any(wrote.tensor is fact.tensor for wrote in writes):
            names = [entry.names[0] for entry in fact.inputs if entry.names]
            return message("{tensor} keeps its numbers.", tensor=code(names[0])) if names else ""
    return ""


def brief(done: FinishedStep, fact: Any) -> Text:
    """Describe one of several operations as a clause of a longer sentence."""
    if isinstance(fact, Elsewhere):
        return _brief_elsewhere(fact)
    if isinstance(fact, Moved):
        return brief_moved(done, fact)
    if isinstance(fact, Unversioned):
        return brief_unversioned(done, fact)
    operation = code(fact.called)
    if isinstance(fact, Made):
        storage = fact.tensor.storage
        size = bytes_message(storage.nbytes)
        return message(
            "{operation} allocates storage {storage}, {size}", operation=operation, storage=storage.id, size=size
        )
    if isinstance(fact, Viewed):
        return message(
            "{operation} makes a view on storage {storage}", operation=operation, storage=fact.tensor.storage.id
        )
    if isinstance(fact, Wrote):
        return message(
            "{operation} writes {cells} of storage {storage}, version {version}",
            operation=operation,
            cells=cells_text(fact.storage, fact.cover),
            storage=fact.storage.id,
            version=fact.before + 1,
        )
    return message(
        "{operation} changes the shape of {tensor}", operation=operation, tensor=name_or_operation(done, fact.tensor)
    )


def _brief_elsewhere(fact: Elsewhere) -> Text:
    """Describe, as a clause, a storage that another thread made or wrote."""
    if fact.before is None:
        size = bytes_message(fact.storage.nbytes)
        return message("another thread allocates storage {storage}, {size}", storage=fact.storage.id, size=size)
    return message(
        "another thread writes storage {storage}, version {version}", storage=fact.storage.id, version=fact.version
    )
