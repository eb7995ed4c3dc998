"""Sentences for the steps of backward. Rules: see ``sentences``."""

from __future__ import annotations

from typing import Any

from memory_stage.model.changes import Allocated, Collected, HookReturned, Named, Passed, Sent, Started, StorageFreed
from memory_stage.model.entries import NodeEntry, StorageEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_sent_unseen
from memory_stage.sentences.words import (
    RESHAPING,
    RESHAPING_IN_PLACE,
    both,
    code,
    first_fitting,
    fitting,
    node_text,
    storages_text,
)
from memory_stage.trace.amounts import bytes_text


def say_backward(done: FinishedStep) -> str:
    """Return the sentence of a step of backward; empty if the step is about something else."""
    passed, started, collected = done.all(Passed), done.all(Started), done.all(Collected)
    hooked = done.all(HookReturned)
    if passed:
        return fitting(
            _describe_node(done, passed[0]), *((_describe_hook(each), _describe_hook_briefly(each)) for each in hooked)
        )
    if started:
        at = started[0].label or "a tensor that was there before"
        return f"{code('backward')} starts at {at} with the gradient {started[0].gradient}."
    if hooked:
        then = (_describe_leaves(done, collected), _describe_leaves_briefly(collected)) if collected else ()
        first = _describe_hook(hooked[0]) if len(hooked) == 1 else _describe_hooks(hooked)
        return fitting(first, then)
    return _describe_leaves(done, collected) if collected else ""


def _describe_hook(fact: HookReturned) -> str:
    """Describe a hook of the program that got a gradient."""
    on = f" on {fact.of}" if fact.of else ""
    first = f"A hook{on} is given {'' if fact.itself else 'a copy of '}the gradient {fact.given}"
    if fact.now and fact.storage is None:
        return f"{first} itself, writes {fact.now} into it and answers nothing: {code('backward')} goes on with it."
    if fact.storage is None:
        return f"{first} and answers nothing: {code('backward')} goes on with it."
    return (
        f"{first} and answers {fact.answer}, in storage {fact.storage.id}: {code('backward')} goes on with these "
        f"numbers."
    )


def _describe_hook_briefly(fact: HookReturned) -> str:
    """Return the same in fewer words."""
    return f"A hook{f' on {fact.of}' if fact.of else ''} answers {fact.answer or fact.now or 'nothing'}."


def _describe_hooks(hooked: list[HookReturned]) -> str:
    """Describe several hooks, each of which got the gradient that the hook before it returned."""
    places = list(dict.fromkeys(fact.of for fact in hooked if fact.of))
    on = f" on {both(places)}" if places else ""
    answers = [fact.answer for fact in hooked if fact.storage is not None]
    last = f"{code('backward')} goes on with {answers[-1]}" if answers else f"{code('backward')} goes on with it"
    given = f"the gradient {hooked[0].given}" if len(places) < 2 else "the gradients"
    copies = "" if hooked[0].itself else "copies of "
    return f"{len(hooked)} hooks{on} are given {copies}{given} in turn and give {len(answers)} answers: {last}."


def _describe_node(done: FinishedStep, fact: Passed) -> str:
    node = fact.node
    where = node_text(node) if node is not None else f"{code(fact.op)} (earlier)"
    sent = fact.sent
    if not fact.done:
        return _describe_custom_start(done, fact, where)
    if not fact.gradient:
        return _describe_custom_end(done, where, sent)
    if not fact.seen:
        return say_sent_unseen(where, fact.gradient)
    if not sent:
        return f"{where} takes {fact.gradient} and sends nothing on: what it was made of has no part in it."
    if node is not None and node.inner:
        return _sending(f"{where} takes the gradients of its results and sends", sent)
    if len(sent) == 1 and sent[0].to is not None and sent[0].to.inner:
        return f"The gradient {fact.gradient} of one result goes to its call, {node_text(sent[0].to)}."
    if fact.op in ("reshaped", "cast"):
        what = "another dtype" if fact.op == "cast" else "another shape" if fact.reshapes else "other strides"
        if node is None or node.drawn is None:
            return f"The leaf has {what} since: the gradient {fact.gradient} goes on as {_to(sent[0])}."
    if fact.op == "write":
        return _write(fact)
    if node is not None and node.drawn is None:
        return _view(fact)
    freed = [each.storage for each in done.all(StorageFreed)]
    copies = [storage for storage in freed if not storage.seen_by_tensor]
    let_go = _describe_freed(copies) if copies else _reads_copy(node)
    old = sent[0]
    overwrote = fact.op in ("setitem", "fill_", "zero_", "set_value", "copy_") and any(s.to is not None for s in sent)
    if overwrote and (node is None or old.to is None or old.to.state.group is node.state.group):
        return fitting(f"{where} sends {_to(old)}: the cells that it overwrote get 0.", let_go)
    if len({id(s.to) for s in sent}) == 1:
        if len(sent) == 1:
            return fitting(f"{where} takes {fact.gradient} and sends {_to(sent[0])}.", let_go)
        parts = both([s.text for s in sent])
        if sent[0].to is None:
            return fitting(f"{where} takes {fact.gradient} and sends {parts} to earlier values.", let_go)
        return fitting(f"{where} sends {parts} to {sent[0].label}: {sent[-1].total} together.", let_go)
    return fitting(_sending(f"{where} takes {fact.gradient} and sends", sent), let_go)


def _describe_custom_start(done: FinishedStep, fact: Passed, where: str) -> str:
    """Describe the start of a node whose rules are a function of the program."""
    named = done.all(Named)
    name = f"{code(named[0].name)} names it, in storage {named[0].tensor.storage.id}." if named else ""
    if fact.node is not None and fact.node.inner:
        return f"{where} takes the gradients of its results and calls its own {code('backward')}."
    return fitting(f"{where} takes the gradient {fact.gradient} and calls its own {code('backward')}.", name)


def _describe_custom_end(done: FinishedStep, where: str, sent: list[Sent]) -> str:
    """Describe the end of a node whose rules are a function of the program."""
    freed = [each.storage for each in done.all(StorageFreed)]
    gone = f"{storages_text(freed)} {'is' if len(freed) == 1 else 'are'} freed." if freed else ""
    first = f"The {code('backward')} of {where} is done: it sends"
    first = _sending(first, sent) if sent else f"{first} nothing on."
    return fitting(first, f"{gone[:1].upper()}{gone[1:]}")


def _sending(first: str, sent: list[Sent]) -> str:
    """Return the gradients that a node sends, in as much detail as fits."""
    places = list(dict.fromkeys(each.label or "an earlier value" for each in sent))
    return first_fitting(
        f"{first} {both([_to(each) for each in sent])}.",
        f"{first} {both([f'{each.text} to {each.label}' for each in sent])}.",
        f"{first} gradients to {both(places)}.",
    )


def _describe_freed(kept: list[StorageEntry]) -> str:
    """Describe the copies, marks or indexes of a node that are freed with it."""
    kept = sorted(kept, key=lambda storage: int(storage.id))
    label = kept[0].event.get("label", "").split()
    what = next((word for word in ("marks", "copy", "part", "index") if word in label), "")
    size = bytes_text(sum(storage.counted for storage in kept))
    where = storages_text(kept)
    if what in ("copy", "part"):
        what = "copy" if len(kept) == 1 else "copies"
    what = f"its {what}" if what else "which it kept"
    return f"{where[0].upper()}{where[1:]}, {what}, {'is' if len(kept) == 1 else 'are'} freed: {size}."


def _reads_copy(node: NodeEntry | None) -> str:
    """Describe a node whose saved numbers were overwritten, and which reads the copy of them."""
    copies = list(dict.fromkeys(each for save in node.saves for each in save.copies)) if node is not None else []
    return f"It reads the copy in {storages_text(copies)}." if copies else ""


def _to(sent: Sent) -> str:
    """Return ``[2, 4] to a@0``, with the sum if another gradient arrived before."""
    to = sent.to
    name = sent.label or "an earlier value"
    if (
        to is not None
        and to.drawn is None
        and not to.stands
        and to.of is not None
        and to.of.name
        and to.op not in ("leaf", "write")
    ):
        name = code(to.of.name)  # the gradient is for the elements of a view
    total = f", which has {sent.total} now" if sent.total != sent.text else ""
    return f"{sent.text} to {name}{total}"


def _write(fact: Passed) -> str:
    """Describe the node of a group's value after a write through a view, which splits the gradient."""
    if fact.node is None:
        return _sending(f"A write, recorded earlier, splits the gradient {fact.gradient}: it sends", fact.sent)
    written = [s for s in fact.sent if s.to is not None and s.to.drawn]
    rest = [s for s in fact.sent if s not in written[-1:]]
    if not written:
        return _sending(f"The gradient {fact.gradient} goes on:", fact.sent)
    op = written[-1]
    assert op.to is not None, "it was asked whether it is drawn"
    others = f"{rest[0].text} for the rest, {rest[0].label}" if rest else "and the rest has no history"
    return (
        f"{node_text(op.to)} wrote a part of {code(fact.node.state.label)}: {op.text} of the gradient is for what it "
        f"wrote, {others}."
    )


def _view(fact: Passed) -> str:
    """Describe a view's node, which turns a gradient for the view's elements into one for the group."""
    node: Any = fact.node
    sent = fact.sent[0]
    view = code(node.of.name) if node.of is not None and node.of.name else "a view"
    if fact.op in RESHAPING or fact.op in RESHAPING_IN_PLACE:
        return f"{node_text(node)} gives the gradient the shape of {sent.label} again: {_to(sent)}."
    which = node_text(node) if fact.op != "read" else f"{view}, a view of {sent.label},"
    put = f"{which} puts the gradient {fact.gradient} where {view} looks and 0 elsewhere"
    return first_fitting(f"{put}: {_to(sent)}.", f"{put}, for {sent.label or 'an earlier value'}.")


def _describe_leaves_briefly(collected: list[Collected]) -> str:
    clauses = [f"{code(f'{fact.leaf}.grad')} is {fact.gradient}" for fact in collected if fact.leaf]
    return f"{code('backward')} is done: {both(clauses[:2])}." if clauses else f"{code('backward')} is done."


def _describe_leaves(done: FinishedStep, collected: list[Collected]) -> str:
    clauses = []
    for fact in collected:
        clauses.append(
            f"{code(f'{fact.leaf}.grad')} is {fact.gradient}" if fact.leaf else f"a leaf has {fact.gradient}"
        )
    more = f", and {len(clauses) - 2} more leaves have theirs" if len(clauses) > 2 else ""
    storages = [fact.storage for fact in collected if fact.storage is not None]
    total = bytes_text(sum(storage.nbytes for storage in storages))
    made = {fact.storage for fact in done.all(Allocated)}
    new = "new " if made.issuperset(storages) else ""
    where = f"storage {storages[0].id}" if len(storages) == 1 else f"{len(storages)} {new}storages"
    if not made.intersection(storages):
        return fitting(f"{code('backward')} is done and has added in place: {both(clauses[:2])}{more}, in {where}.")
    freed = [each.storage for each in done.all(StorageFreed)]
    gone = (
        f"Storage {freed[0].id} is freed." if len(freed) == 1 else f"{len(freed)} storages are freed." if freed else ""
    )
    return fitting(f"{code('backward')} is done: {both(clauses[:2])}{more}, in {where}, {total}.", gone)
