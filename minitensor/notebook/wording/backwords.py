"""Sentences for the steps of backward. Rules: see ``sentences``."""

from __future__ import annotations

from minitensor.notebook.recording.entries import NodeEntry, StorageEntry
from minitensor.notebook.recording.facts import Collected, Done, Passed, Sent, Started, StorageFreed
from minitensor.notebook.wording.words import (
    RESHAPING,
    RESHAPING_IN_PLACE,
    both,
    bytes_text,
    code,
    fitting,
    node_text,
    storages_text,
)


def say_backward(done: Done) -> str:
    """The sentence of a step of backward; empty when it is about something else."""
    passed, started, collected = done.all(Passed), done.all(Started), done.all(Collected)
    if passed:
        return _passed(done, passed[0])
    if started:
        at = started[0].label or "a tensor that was there before"
        return f"{code('backward')} starts at {at} with the gradient {started[0].gradient}."
    return _collected(done, collected) if collected else ""


def _passed(done: Done, fact: Passed) -> str:
    node = fact.node
    where = node_text(node) if node is not None else f"{code(fact.op)}, recorded earlier,"
    sent = fact.sent
    if not sent:
        return f"{where} takes the gradient {fact.gradient} and passes nothing on."
    if fact.op == "write":
        return _write(fact)
    if node is not None and node.drawn is None:
        return _view(fact)
    freed = [each.storage for each in done.all(StorageFreed)]
    copies = [storage for storage in freed if not storage.seen_by_tensor]
    let_go = _let_go(copies) if copies else _reads_copy(node)
    if fact.op in ("setitem", "fill_", "zero_", "set_value", "copy_") and any(s.to is not None for s in sent):
        old = sent[0]
        return fitting(f"{where} sends {_to(old)}: the cells that it overwrote get 0.", let_go)
    if len({id(s.to) for s in sent}) == 1:
        if len(sent) == 1:
            return fitting(f"{where} takes {fact.gradient} and sends {_to(sent[0])}.", let_go)
        parts = both([s.text for s in sent])
        return fitting(f"{where} sends {parts} to {sent[0].label}: {sent[-1].total} together.", let_go)
    return fitting(f"{where} takes {fact.gradient} and sends {both([_to(s) for s in sent])}.", let_go)


def _let_go(kept: list[StorageEntry]) -> str:
    """A node's own copies, marks or index are freed with it."""
    kept = sorted(kept, key=lambda storage: int(storage.id))
    label = kept[0].event.get("label", "").split()
    what = next((word for word in ("marks", "copy", "part") if word in label), "index")
    size = bytes_text(sum(storage.nbytes for storage in kept))
    where = storages_text(kept)
    if what in ("copy", "part"):
        what = "copy" if len(kept) == 1 else "copies"
    return f"{where[0].upper()}{where[1:]}, its {what}, {'is' if len(kept) == 1 else 'are'} freed: {size}."


def _reads_copy(node: NodeEntry | None) -> str:
    """A node's numbers were overwritten after it saved them, and it reads the copy that was made."""
    copies = list(dict.fromkeys(each for save in node.saves for each in save.copies)) if node is not None else []
    return f"It reads the copy in {storages_text(copies)}." if copies else ""


def _to(sent: Sent) -> str:
    """``[2, 4] to a@0``, with the sum where something has arrived before."""
    to = sent.to
    name = sent.label or "an earlier value"
    if to is not None and to.drawn is None and to.of is not None and to.of.name and to.op not in ("leaf", "write"):
        name = code(to.of.name)  # for what a view sees
    total = f", which has {sent.total} now" if sent.total != sent.text else ""
    return f"{sent.text} to {name}{total}"


def _write(fact: Passed) -> str:
    """The family's value after a write through a view: the gradient is split."""
    written = [s for s in fact.sent if s.to is not None and s.to.drawn]
    rest = [s for s in fact.sent if s not in written[-1:]]
    if written and rest:
        op = written[-1]
        return (
            f"{node_text(op.to)} wrote a part of {code(fact.node.state.label)}: {op.text} of the gradient is for what "
            f"it wrote, {rest[0].text} for the rest, {rest[0].label}."
        )
    return f"The gradient {fact.gradient} is cut to what {fact.sent[-1].label} was written with."


def _view(fact: Passed) -> str:
    """A view's own node: the gradient for what the view sees becomes one for the family."""
    node, sent = fact.node, fact.sent[0]
    view = code(node.of.name) if node.of is not None and node.of.name else "a view"
    if fact.op in RESHAPING or fact.op in RESHAPING_IN_PLACE:
        return f"{node_text(node)} gives the gradient the shape of {sent.label} again: {_to(sent)}."
    which = node_text(node) if fact.op != "read" else f"{view}, a view of {sent.label},"
    return f"{which} puts the gradient {fact.gradient} where {view} looks and 0 elsewhere: {_to(sent)}."


def _collected(done: Done, collected: list[Collected]) -> str:
    told = []
    for fact in collected:
        names = fact.names
        told.append(f"{code(names)} is {fact.gradient}" if names else f"a leaf has {fact.gradient}")
    more = f", and {len(told) - 2} more leaves have theirs" if len(told) > 2 else ""
    storages = [fact.storage for fact in collected if fact.storage is not None]
    total = bytes_text(sum(storage.nbytes for storage in storages))
    where = f"storage {storages[0].id}" if len(storages) == 1 else f"{len(storages)} new storages"
    freed = [each.storage for each in done.all(StorageFreed)]
    gone = (
        f"Storage {freed[0].id} is freed." if len(freed) == 1 else f"{len(freed)} storages are freed." if freed else ""
    )
    return fitting(f"{code('backward')} is done: {both(told[:2])}{more}, in {where}, {total}.", gone)
