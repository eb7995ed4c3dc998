"""Sentences for the steps of backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_stage.messages import Text, capitalized, joined, message, plural
from memory_stage.model.changes import Allocated, Collected, HookReturned, Named, Passed, Sent, Started, StorageFreed
from memory_stage.model.compound_names import gradient_name
from memory_stage.model.entries import NodeEntry, StorageEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_sent_unseen
from memory_stage.sentences.words import (
    RESHAPING,
    RESHAPING_IN_PLACE,
    code,
    earlier_text,
    first_fitting,
    fitting,
    node_text,
    storages_text,
)
from memory_stage.trace.amounts import bytes_message


def say_backward(done: FinishedStep) -> Text:
    """Return the sentence of a step of backward; an empty text if the step contains no change by backward."""
    passed, started, collected = done.all(Passed), done.all(Started), done.all(Collected)
    hooked = done.all(HookReturned)
    if passed:
        return fitting(
            _describe_node(done, passed[0]), *((_describe_hook(each), _describe_hook_briefly(each)) for each in hooked)
        )
    if started:
        return message(
            "`backward` starts at {tensor} with the gradient {gradient}.",
            tensor=started[0].label or message("an earlier tensor"),
            gradient=started[0].gradient,
        )
    if hooked:
        then = (_describe_leaves(done, collected), _describe_leaves_briefly(collected)) if collected else ()
        first = _describe_hook(hooked[0]) if len(hooked) == 1 else _describe_hooks(hooked)
        return fitting(first, then)
    return _describe_leaves(done, collected) if collected else ""


def _hook(fact: HookReturned) -> Text:
    return message("A hook on {tensor}", tensor=fact.of) if fact.of else message("A hook")


def _describe_hook(fact: HookReturned) -> Text:
    """Describe a hook of the program that was called with a gradient."""
    given = message("a copy of the gradient {gradient}", gradient=fact.given)
    if fact.itself:
        given = message("the gradient {gradient}", gradient=fact.given)
    if fact.storage is not None:
        return message(
            "{hook} receives {gradient} and returns {answer}, in storage {storage}: `backward` continues with these "
            "numbers.",
            hook=_hook(fact),
            gradient=given,
            answer=fact.answer,
            storage=fact.storage.id,
        )
    if fact.now:
        return message(
            "{hook} receives {gradient} itself, writes {numbers} into it and returns nothing, so `backward` "
            "continues with these numbers.",
            hook=_hook(fact),
            gradient=given,
            numbers=fact.now,
        )
    return message(
        "{hook} receives {gradient} and returns nothing, so `backward` continues with the same numbers.",
        hook=_hook(fact),
        gradient=given,
    )


def _describe_hook_briefly(fact: HookReturned) -> Text:
    """Describe a call of a hook in fewer words than ``_describe_hook``."""
    answer = fact.answer or fact.now or message("nothing")
    return message("{hook} returns {answer}.", hook=_hook(fact), answer=answer)


def _describe_hooks(hooked: list[HookReturned]) -> Text:
    """Describe several hooks, each of which got the gradient that the previous hook returned."""
    places = list(dict.fromkeys(fact.of for fact in hooked if fact.of))
    hooks = message("{count} hooks", count=len(hooked))
    if places:
        hooks = message("{count} hooks on {tensors}", count=len(hooked), tensors=joined(places))
    answers = [fact.answer for fact in hooked if fact.storage is not None]
    gradient = hooked[0].given
    if len(places) < 2:
        given = (
            message("the gradient {gradient}", gradient=gradient)
            if hooked[0].itself
            else message("copies of the gradient {gradient}", gradient=gradient)
        )
    else:
        given = message("the gradients") if hooked[0].itself else message("copies of the gradients")
    if not answers:
        return message(
            "{hooks} receive {gradients} in turn and return nothing, so `backward` continues with the same numbers.",
            hooks=hooks,
            gradients=given,
        )
    return message(
        "{hooks} receive {gradients} in turn; {count} returned a gradient, and `backward` continues with {last}.",
        hooks=hooks,
        gradients=given,
        count=len(answers),
        last=answers[-1],
    )


def _describe_node(done: FinishedStep, fact: Passed) -> Text:
    node = fact.node
    where = node_text(node) if node is not None else earlier_text(fact.op)
    sent = fact.sent
    if not fact.done:
        return _describe_custom_start(done, fact, where)
    if not fact.gradient:
        return _describe_custom_end(done, where, sent)
    if not fact.seen:
        return say_sent_unseen(where, fact.gradient)
    if not sent:
        return message(
            "{node} receives {gradient} and sends nothing on, because its result does not depend on an earlier value.",
            node=where,
            gradient=fact.gradient,
        )
    if node is not None and node.inner:
        return _sending(
            sent,
            lambda text: message(
                "{node} receives the gradients of its results and sends {sent}.", node=where, sent=text
            ),
        )
    if len(sent) == 1 and sent[0].to is not None and sent[0].to.inner:
        return message(
            "The gradient {gradient} of one result is passed to {node}, the call that made this result.",
            gradient=fact.gradient,
            node=node_text(sent[0].to),
        )
    if fact.op in ("reshaped", "cast") and (node is None or node.drawn is None):
        return _describe_changed_leaf(fact)
    if fact.op == "write":
        return _write(fact)
    if node is not None and node.drawn is None:
        return _view(fact)
    return _describe_recorded(done, fact, where)


def _describe_recorded(done: FinishedStep, fact: Passed, where: Text) -> Text:
    """Describe the node of an operation, and the memory that backward read or freed there."""
    node, sent = fact.node, fact.sent
    freed = [each.storage for each in done.all(StorageFreed)]
    copies = [storage for storage in freed if not storage.seen_by_tensor]
    memory = _describe_freed(copies) if copies else _reads_copy(node)
    old = sent[0]
    overwrote = fact.op in ("setitem", "fill_", "zero_", "set_value", "copy_") and any(s.to is not None for s in sent)
    if overwrote and (node is None or old.to is None or old.to.state.group is node.state.group):
        return fitting(
            message("{node} sends {sent}: the cells that it overwrote get 0.", node=where, sent=_to(old)), memory
        )

    def sending(text: Text) -> Text:
        return message("{node} receives {gradient} and sends {sent}.", node=where, gradient=fact.gradient, sent=text)

    if len({id(s.to) for s in sent}) > 1:
        return fitting(_sending(sent, sending), memory)
    if len(sent) == 1:
        return fitting(sending(_to(sent[0])), memory)
    parts = joined([s.text for s in sent])
    if sent[0].to is None:
        return fitting(sending(message("{gradients} to earlier values", gradients=parts)), memory)
    return fitting(
        message(
            "{node} sends {gradients} to {target}: {total} together.",
            node=where,
            gradients=parts,
            target=sent[0].label,
            total=sent[-1].total,
        ),
        memory,
    )


def _describe_changed_leaf(fact: Passed) -> Text:
    """Describe the gradient of a leaf whose dtype, shape or strides have changed since an operation read it."""
    values: dict[str, Text | int] = {"gradient": fact.gradient, "sent": _to(fact.sent[0])}
    if fact.op == "cast":
        return message(
            "The leaf's dtype has changed since the operation read it, so the gradient {gradient} is sent as {sent}.",
            **values,
        )
    if fact.reshapes:
        return message(
            "The leaf's shape has changed since the operation read it, so the gradient {gradient} is sent as {sent}.",
            **values,
        )
    return message(
        "The leaf's strides have changed since the operation read it, so the gradient {gradient} is sent as {sent}.",
        **values,
    )


def _describe_custom_start(done: FinishedStep, fact: Passed, where: Text) -> Text:
    """Describe the start of a node whose backward function is code of the program."""
    named = done.all(Named)
    if fact.node is not None and fact.node.inner:
        return message("{node} receives the gradients of its results and calls its own `backward`.", node=where)
    name: Text = ""
    if named:
        storage = named[0].tensor.storage.id
        name = message("{name} names it, in storage {storage}.", name=code(named[0].name), storage=storage)
    return fitting(
        message(
            "{node} receives the gradient {gradient} and calls its own `backward`.", node=where, gradient=fact.gradient
        ),
        name,
    )


def _describe_custom_end(done: FinishedStep, where: Text, sent: list[Sent]) -> Text:
    """Describe the end of a node whose backward function is code of the program."""
    freed = [each.storage for each in done.all(StorageFreed)]
    gone: Text = ""
    if freed:
        gone = plural("{storages} is freed.", "{storages} are freed.", len(freed), storages=storages_text(freed))
    first = message("The `backward` of {node} is done: it sends nothing on.", node=where)
    if sent:
        return fitting(
            _sending(
                sent, lambda text: message("The `backward` of {node} is done: it sends {sent}.", node=where, sent=text)
            ),
            capitalized(gone) if gone else "",
        )
    return fitting(first, capitalized(gone) if gone else "")


def _sending(sent: list[Sent], sentence: Callable[[Text], Text]) -> Text:
    """Return ``sentence(text)`` with the most detailed text about the sent gradients that is short enough."""
    places = list(dict.fromkeys(each.label for each in sent))
    return first_fitting(
        sentence(joined([_to(each) for each in sent])),
        sentence(joined([_gradient_to(each.text, each.label) for each in sent])),
        sentence(message("gradients to {targets}", targets=joined([place or _earlier_value() for place in places]))),
    )


def _gradient_to(gradient: str, target: Text) -> Text:
    return message("{gradient} to {target}", gradient=gradient, target=target)


def _earlier_value() -> Text:
    return message("an earlier value")


def _describe_freed(kept: list[StorageEntry]) -> Text:
    """Describe the copies, indexes or marks (one bit per element) that are freed with a node."""
    kept = sorted(kept, key=lambda storage: int(storage.id))
    label = str(kept[0].event.get("label", "")).split()
    kind = next((word for word in ("marks", "copy", "part", "index") if word in label), "")
    kinds: dict[str, Text] = {
        "marks": message("its marks"),
        "copy": plural("its copy", "its copies", len(kept)),
        "part": plural("its copy", "its copies", len(kept)),
        "index": message("its index"),
        "": message("saved for backward"),
    }
    sentence = plural(
        "{storages}, {kind}, is freed: {size}.",
        "{storages}, {kind}, are freed: {size}.",
        len(kept),
        storages=storages_text(kept),
        kind=kinds[kind],
        size=bytes_message(sum(storage.counted for storage in kept)),
    )
    return capitalized(sentence)


def _reads_copy(node: NodeEntry | None) -> Text:
    """Describe a node that reads a copy, because its saved numbers were overwritten; "" for another node."""
    copies = list(dict.fromkeys(each for save in node.saves for each in save.copies)) if node is not None else []
    return message("It reads the copy in {storages}.", storages=storages_text(copies)) if copies else ""


def _to(sent: Sent) -> Text:
    """Return ``[2, 4] to a@0``, followed by the sum if ``a@0`` had received another gradient before."""
    to = sent.to
    target: Text = sent.label or _earlier_value()
    if (
        to is not None
        and to.drawn is None
        and not to.is_result_of_call
        and to.of is not None
        and to.of.name
        and to.op not in ("leaf", "write")
    ):
        target = code(to.of.name)  # the gradient belongs to the elements of a view
    if sent.total == sent.text:
        return _gradient_to(sent.text, target)
    return message("{gradient} to {target}, which now has {total}", gradient=sent.text, target=target, total=sent.total)


def _write(fact: Passed) -> Text:
    """Describe the node that splits the gradient of a view group after a write through a view."""
    if fact.node is None:
        return _sending(
            fact.sent,
            lambda text: message(
                "A write, recorded earlier, splits the gradient {gradient}: it sends {sent}.",
                gradient=fact.gradient,
                sent=text,
            ),
        )
    written = [s for s in fact.sent if s.to is not None and s.to.drawn]
    rest = [s for s in fact.sent if s not in written[-1:]]
    if not written:
        return _sending(
            fact.sent,
            lambda text: message("The gradient {gradient} is passed on: {sent}.", gradient=fact.gradient, sent=text),
        )
    op = written[-1]
    assert op.to is not None, "``written`` contains only drawn nodes"
    values: dict[str, Text | int] = {
        "node": node_text(op.to),
        "tensor": code(fact.node.state.label),
        "gradient": op.text,
    }
    if rest:
        return message(
            "{node} wrote a part of {tensor}: {gradient} of the gradient belongs to that part, and {rest} goes to "
            "{target} for the remaining elements.",
            rest=rest[0].text,
            target=rest[0].label,
            **values,
        )
    return message(
        "{node} wrote a part of {tensor}: {gradient} of the gradient belongs to that part, and the remaining "
        "elements have no history.",
        **values,
    )


def _view(fact: Passed) -> Text:
    """Describe the node of a view, which turns the gradient of the view into one of its view group."""
    node: Any = fact.node
    sent = fact.sent[0]
    if fact.op in RESHAPING or fact.op in RESHAPING_IN_PLACE:
        return message(
            "{node} reshapes the gradient to the shape of {target} again: {sent}.",
            node=node_text(node),
            target=sent.label,
            sent=_to(sent),
        )
    view = code(node.of.name) if node.of is not None and node.of.name else message("a view")
    values: dict[str, Text | int] = {"node": node_text(node), "gradient": fact.gradient, "view": view}
    if fact.op == "read":
        values["node"] = message("{view}, a view of {tensor},", view=view, tensor=sent.label)
    return first_fitting(
        message(
            "{node} puts the gradient {gradient} into the cells of {view} and 0 elsewhere: {sent}.",
            sent=_to(sent),
            **values,
        ),
        message(
            "{node} puts the gradient {gradient} into the cells of {view} and 0 elsewhere, for {target}.",
            target=sent.label or _earlier_value(),
            **values,
        ),
    )


def _leaf_clauses(collected: list[Collected]) -> list[Text]:
    """Return a clause about the gradient of each leaf."""
    return [
        message("{name} is {gradient}", name=code(gradient_name(fact.leaf)), gradient=fact.gradient)
        if fact.leaf
        else message("a leaf has {gradient}", gradient=fact.gradient)
        for fact in collected
    ]


def _first_two(clauses: list[Text]) -> Text:
    """Join the first two clauses.

    ``joined`` is not used, because its "and" would be wrong between clauses in Chinese.
    """
    if len(clauses) < 2:
        return joined(clauses)
    return message("{clause} and {another}", clause=clauses[0], another=clauses[1])


def _describe_leaves_briefly(collected: list[Collected]) -> Text:
    clauses = _leaf_clauses([fact for fact in collected if fact.leaf])
    if not clauses:
        return message("`backward` is done.")
    return message("`backward` is done: {leaves}.", leaves=_first_two(clauses))


def _describe_leaves(done: FinishedStep, collected: list[Collected]) -> Text:
    clauses = _leaf_clauses(collected)
    leaves = _first_two(clauses)
    if len(clauses) > 2:
        leaves = message("{leaves}, and {count} more leaves have a gradient", leaves=leaves, count=len(clauses) - 2)
    storages = [fact.storage for fact in collected if fact.storage is not None]
    made = {fact.storage for fact in done.all(Allocated)}
    if len(storages) == 1:
        where = message("storage {storage}", storage=storages[0].id)
    elif made.issuperset(storages):
        where = message("{count} new storages", count=len(storages))
    else:
        where = message("{count} storages", count=len(storages))
    if not made.intersection(storages):
        return message(
            "`backward` is done and has added to existing gradients in place: {leaves}, in {storages}.",
            leaves=leaves,
            storages=where,
        )
    freed = [each.storage for each in done.all(StorageFreed)]
    gone: Text = ""
    if len(freed) == 1:
        gone = message("Storage {storage} is freed.", storage=freed[0].id)
    elif freed:
        gone = message("{count} storages are freed.", count=len(freed))
    return fitting(
        message(
            "`backward` is done: {leaves}, in {storages}, {size}.",
            leaves=leaves,
            storages=where,
            size=bytes_message(sum(storage.nbytes for storage in storages)),
        ),
        gone,
    )
