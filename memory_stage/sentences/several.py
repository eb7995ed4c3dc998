"""Sentences about several operations in one line, and a few words on each of them. Rules: see ``sentences``."""

from __future__ import annotations

from typing import Any

from memory_stage.model.changes import Elsewhere, Made, Moved, Unversioned, Viewed, Wrote
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.naming import called, kept, moved
from memory_stage.sentences.savers import preserved_text, stale_text
from memory_stage.sentences.sharing import brief_moved, brief_unversioned, unnoticed
from memory_stage.sentences.words import both, code, fitting
from memory_stage.sentences.writes import cells_text
from memory_stage.trace.amounts import bytes_text, count_of


def say_several(done: FinishedStep, ops: list[Any]) -> str:
    """Describe all operations of a line: each one if there are few, or else their sums."""
    if all(isinstance(fact, Viewed) for fact in ops) and len({(fact.op, fact.tensor.storage.id) for fact in ops}) == 1:
        return _views(done, ops)
    writes = [fact for fact in ops if isinstance(fact, Wrote)]
    made = [fact for fact in ops if isinstance(fact, Made)]
    outside = [fact for fact in ops if isinstance(fact, Unversioned)]
    if len(writes) == len(ops) > 1 and len({fact.op for fact in ops}) == 1:
        first = f"Line {done.line}: {code(ops[0].called)} writes {_written_names(done, writes)}, each one version on."
    elif len(ops) <= 3:
        first = f"Line {done.line}: {'; then '.join(brief(done, fact) for fact in ops)}."
    else:
        runs = f"Line {done.line} runs {len(ops)} operations"
        parts = []
        if made:
            total = bytes_text(sum(fact.tensor.storage.nbytes for fact in made))
            parts.append(f"{count_of(len(made), 'new storage')}, {total}")
        if writes:
            parts.append(count_of(len(writes), "write"))
        parts += [brief(done, fact) for fact in ops if isinstance(fact, (Unversioned, Elsewhere))][:1]
        first = f"{runs}: {both(parts)}." if parts else f"{runs}; no byte is added."
    temporary = [fact.tensor.storage for fact in made if fact.tensor.freed]
    gone = [storage for storage in temporary if storage.freed]
    lost = _lost(made, writes)
    taken = next((text for fact in writes if (text := stale_text(fact) or preserved_text(fact))), "")
    taken = taken or next((text for fact in ops if isinstance(fact, Elsewhere) and (text := stale_text(fact))), "")
    taken = taken or next((text for fact in outside for text in unnoticed(fact)), "")
    again = ""
    if gone:
        numbers = both([f"storage {storage.id}" for storage in gone[:2]]) if len(gone) < 3 else f"{len(gone)} of them"
        again = f"{numbers[0].upper()}{numbers[1:]} {'is' if len(gone) == 1 else 'are'} freed again: nothing needs it."
        again = again if len(gone) == 1 else again.replace("needs it", "needs them")
    staying = [storage for storage in temporary if not storage.freed]
    last = None if isinstance(ops[-1], (Wrote, Unversioned, Elsewhere)) else ops[-1].tensor
    named = last if last is not None and last.names else None
    held = kept(done, staying[0]) if staying and not (named is not None and named.storage is staying[0]) else ""
    result = f"{called(done, named)} names the last result." if named is not None else ""
    return fitting(first, taken, moved(done) or result, again, lost, held)


def _views(done: FinishedStep, ops: list[Viewed]) -> str:
    """Describe one operation that makes several views."""
    names = [code(fact.tensor.names[0]) for fact in ops if fact.tensor.names]
    which = f", {both(names[:3])}" if names and len(names) == len(ops) <= 3 else ""
    subject = f"The loop in line {done.line}" if done.statement.kind == "for" else code(ops[0].called)
    first = f"{subject} makes {len(ops)} tensors on storage {ops[0].tensor.storage.id}{which}"
    base = next((code(fact.base.names[0]) for fact in ops if fact.base is not None and fact.base.names), "")
    if ops[0].same_group and names and base and not ops[0].tensor.look["stop_gradient"]:
        return fitting(f"{first}: no number is copied.", f"{both([base, *names[:3]])} share one history from now on.")
    return f"{first}: no number is copied."


def _written_names(done: FinishedStep, writes: list[Wrote]) -> str:
    """Return ``4 storages: those of `net.weight`, `net.bias` and 2 more``."""
    storages = list({fact.storage.id: fact for fact in writes}.values())
    names = [code(fact.tensor.names[0]) for fact in storages if fact.tensor.names]
    if not names:
        return f"{len(storages)} storages"
    more = [f"{len(storages) - 2} more"] if len(storages) > 2 else []
    return f"{len(storages)} storages, of {both(names[:2] + more)}"


def _lost(made: list[Made], writes: list[Wrote]) -> str:
    """Describe a copy that was written and freed, so that its original is unchanged."""
    for fact in made:
        if fact.op == "getitem" and fact.tensor.freed and any(wrote.tensor is fact.tensor for wrote in writes):
            names = [entry.names[0] for entry in fact.inputs if entry.names]
            return f"{code(names[0])} keeps its numbers." if names else ""
    return ""


def brief(done: FinishedStep, fact: Any) -> str:
    """Describe one operation of several, as a part of a sentence."""
    if isinstance(fact, Made):
        return f"{code(fact.called)} makes storage {fact.tensor.storage.id}, {bytes_text(fact.tensor.storage.nbytes)}"
    if isinstance(fact, Viewed):
        return f"{code(fact.called)} makes a view on storage {fact.tensor.storage.id}"
    if isinstance(fact, Wrote):
        cells = cells_text(fact.storage, fact.cover)
        return f"{code(fact.called)} writes {cells} of storage {fact.storage.id}, version {fact.before + 1}"
    if isinstance(fact, Moved):
        return brief_moved(done, fact)
    if isinstance(fact, Elsewhere):
        if fact.before is None:
            return f"another thread makes storage {fact.storage.id}, {bytes_text(fact.storage.nbytes)}"
        return f"another thread writes storage {fact.storage.id}, version {fact.version}"
    if isinstance(fact, Unversioned):
        return brief_unversioned(done, fact)
    return f"{code(fact.called)} changes the shape of {called(done, fact.tensor)}"
