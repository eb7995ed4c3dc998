"""One sentence, or two, for each step of a trace.

Subject: the operation or the line. Verb in the present tense. Then the numbers. A second sentence tells only what the
picture does not show yet. Storages go by number, memory states as ``a@0``, operations with their line. At most 35
words, no colours, no "here". Code stands in backticks; an error's own text stands elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

from minitensor.notebook.recording.entries import NodeEntry
from minitensor.notebook.recording.facts import (
    Called,
    Done,
    Made,
    Moved,
    Named,
    Relaid,
    Returned,
    Unversioned,
    Viewed,
    Wrote,
)
from minitensor.notebook.wording.backwords import say_backward
from minitensor.notebook.wording.naming import called, freed, kept, moved, name_of, say_names
from minitensor.notebook.wording.refusals import say_error
from minitensor.notebook.wording.savers import preserved_text, stale_text
from minitensor.notebook.wording.sharing import (
    brief_moved,
    brief_unversioned,
    say_borrowed,
    say_moved,
    say_unversioned,
)
from minitensor.notebook.wording.words import both, bytes_text, code, count_of, fitting
from minitensor.notebook.wording.writes import cells_text, distinct, kept_for_backward, say_write

NOTHING = "The program has no statement that touches memory."
MOST_CODE = 28  # characters of the reader's own code quoted in a sentence


def say(done: Done) -> str:
    """The sentence of a step."""
    said = _say(done)
    # Whoever listens to the page hears a sentence only when it is another one.
    return f"Again, {said[0].lower() if said.startswith('Line ') else said[0]}{said[1:]}" if said == done.told else said


def _say(done: Done) -> str:
    if done.error is not None:
        return say_error(done)
    if done.phase == "backward":
        return say_backward(done) or _forward(done)
    return _forward(done)


def _forward(done: Done) -> str:
    ops = _main(done)
    if done.all(Called):
        return say_call(done, ops)
    if done.all(Returned):
        return say_return(done, ops)
    if not ops:
        return _unreserved(done) or say_names(done)
    if len(ops) > 1:
        return _several(done, ops)
    (fact,) = ops
    if isinstance(fact, Made):
        return _made(done, fact)
    if isinstance(fact, Viewed):
        return _viewed(done, fact)
    if isinstance(fact, Wrote):
        return say_write(done, fact)
    if isinstance(fact, Moved):
        return say_moved(done, fact)
    if isinstance(fact, Unversioned):
        return say_unversioned(done, fact)
    return _relaid(done, fact)


def _unreserved(done: Done) -> str:
    """A GPU's allocator has given memory back."""
    if not done.unreserved or done.events:
        return ""
    return (
        f"Line {done.line} gives {bytes_text(done.unreserved)} back that were reserved and held no tensor: "
        f"{done.reserved:,} stay reserved. What is allocated stays."
    )


def _main(done: Done) -> list[Any]:
    """What operations did, without views that only served a write of the same line."""
    ops = done.all(Made, Viewed, Wrote, Relaid, Moved, Unversioned)
    if any(isinstance(fact, Moved) and fact.op == "set_" for fact in ops):
        ops = [fact for fact in ops if not (isinstance(fact, Viewed) and fact.op == "as_strided" and fact.tensor.freed)]
    if any(fact.tensor.is_array for fact in done.all(Named)):  # `n = x.detach().numpy(share=True)`
        ops = [fact for fact in ops if not (isinstance(fact, Viewed) and fact.tensor.freed)]
    written = [fact.tensor for fact in ops if isinstance(fact, (Wrote, Unversioned))]
    written += [entry for fact in ops if isinstance(fact, Wrote) for entry in fact.reads]
    return [
        fact
        for fact in ops
        if not (isinstance(fact, Viewed) and fact.tensor in written and not fact.tensor.was_named)
        and not (isinstance(fact, Made) and fact.op == "cast" and len(ops) > 1 and fact.tensor.freed)
    ]


def _subject(done: Done, op: str) -> str:
    """What makes something: the reader's own expression when it is short, else the operation."""
    text = done.statement.text
    if not done.partly and text and len(text) <= MOST_CODE and "`" not in text and done.statement.kind != "return":
        return code(text)
    return code(op)


# ---------- one operation ----------


def _made(done: Done, fact: Made) -> str:
    tensor, storage = fact.tensor, fact.tensor.storage
    numbers = count_of(storage.length, "number")
    if storage.is_borrowed:
        return say_borrowed(done, fact, _subject(done, fact.op))
    if not fact.inputs:
        if not tensor.look["stop_gradient"]:
            return fitting(
                f"Line {done.line} makes a leaf: {called(done, tensor)} wants a gradient, and storage {storage.id} "
                f"holds its {numbers}, {bytes_text(storage.nbytes)}.",
                moved(done),
            )
        first = (
            f"Line {done.line} makes storage {storage.id}, {numbers} in {bytes_text(storage.nbytes)}, "
            f"and a tensor of shape {tensor.look['shape']} that looks at it."
        )
        if tensor.freed:
            return fitting(first, "Nothing names the tensor, so both are freed at once.")
        named = f"{code(tensor.names[0])} is a name for that tensor." if tensor.names else ""
        return fitting(first, moved(done) or named)
    subject = _subject(done, fact.op)
    if fact.op == "clone":
        first = f"{subject} copies {numbers} into a new storage {storage.id}, {bytes_text(storage.nbytes)}."
    elif fact.op in ("reshape", "flatten"):
        first = (
            f"{code(fact.op)} can not show these cells in shape {tensor.look['shape']} without moving them, "
            f"so it copies them to storage {storage.id}, {bytes_text(storage.nbytes)}."
        )
    else:
        new = f"the tensor {called(done, tensor)}" if tensor.names and not moved(done) else "a new tensor"
        first = f"{subject} makes storage {storage.id}, {bytes_text(storage.nbytes)}, and {new}."
    if done.partly and tensor.held:
        return fitting(f"{first[:-1]}, held by the running line.", _saved(fact.node, fact.op))
    if tensor.freed:
        return fitting(first, "Nothing names it, so it is freed at once." if storage.freed else kept(done, storage))
    to, saves = moved(done), _saved(fact.node, fact.op)
    if tensor.names == ["_"]:
        first = f"{subject} makes storage {storage.id}, {bytes_text(storage.nbytes)}, and a new tensor."
        return fitting(first, f"The notebook keeps it as its output, {code('_')}.", saves)
    if to or saves:
        return fitting(first, to, saves)
    return fitting(first, _share_nothing(done, fact))


def _share_nothing(done: Done, fact: Made) -> str:
    names = [name_of(done, entry) for entry in fact.inputs if entry.names]
    if not names or not fact.tensor.names:
        return ""
    return f"{both([*map(code, dict.fromkeys(names)), code(name_of(done, fact.tensor))])} share nothing."


def _saved(node: NodeEntry | None, op: str) -> str:
    """What an operation keeps for backward."""
    if node is not None and not node.saves:
        return f"{code(op)} saves nothing for backward."
    return kept_for_backward(node, op)


def _viewed(done: Done, fact: Viewed) -> str:
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    size, cells = math.prod(tensor.look["shape"]), distinct(tensor)
    whole = size == cells == storage.length
    name = called(done, tensor)
    if fact.op == "detach":
        on = f"{code('detach')} makes a second tensor on storage {storage.id}, one that wants no gradient."
        if base is not None and not base.look["stop_gradient"]:
            return fitting(on, f"A write through {name} will change {called(done, base)}, and no history will tell.")
        return fitting(on, "No number is copied.")
    if fact.op == "data":
        return fitting(
            f"{code('data')} makes a second tensor on storage {storage.id}, with a count of versions of its own.",
            f"What is written through {name} neither version nor history will tell.",
        )
    subject = _subject(done, fact.op) if fact.op in ("getitem", "slice", "select") else code(fact.op)
    if done.statement.kind == "for":
        subject = f"The loop in line {done.line}"
    if whole:
        first = f"{subject} makes a second tensor on storage {storage.id}: no number is copied, no byte is added."
        if tensor.names and base is not None and base.names:
            first = f"{first[:-1]}. {called(done, base)} and {name} look at the same cells."
    elif cells < size:
        few = count_of(cells, "cell")
        first = f"{subject} makes a tensor whose {size:,} elements look at {few} of storage {storage.id}."
    else:
        first = f"{subject} makes a tensor on {size:,} of the {storage.length:,} cells of storage {storage.id}."
        if done.statement.kind == "for" and tensor.names:
            first = f"{first[:-1]}: {code(tensor.names[0])} for this round."
    if base is not None and not base.look["stop_gradient"]:
        if fact.same_family:
            shared = both([called(done, base), name])
            return fitting(first, f"{shared} share one history from now on." if tensor.names and base.names else "")
        return fitting(first, f"Under {code('no_grad')} {name} wants no gradient and stays out of the history.")
    return fitting(first, moved(done) if whole else "No byte is added.")


def _relaid(done: Done, fact: Relaid) -> str:
    tensor, old = fact.tensor, fact.old
    new = tensor.look
    change = f"the shape of {called(done, tensor)} from {old['shape']} to {new['shape']}"
    if old["shape"] == new["shape"] and old["strides"] == new["strides"]:
        return f"{code(fact.op)} leaves shape and strides of {called(done, tensor)} as they were, and writes nothing."
    if old["shape"] == new["shape"]:
        change = f"the strides of {called(done, tensor)} from {old['strides']} to {new['strides']}"
    names = [named.name for named in done.all(Named) if named.tensor is tensor]
    return fitting(
        f"{code(fact.op)} changes {change}.",
        f"{code(names[-1])} is a second name for the same tensor." if names else "",
        f"It writes nothing: storage {tensor.storage.id} stays at version {tensor.storage.version}.",
    )


# ---------- several operations in one line ----------


def _several(done: Done, ops: list[Any]) -> str:
    if all(isinstance(fact, Viewed) for fact in ops) and len({(fact.op, fact.tensor.storage.id) for fact in ops}) == 1:
        return _views(done, ops)
    writes = [fact for fact in ops if isinstance(fact, Wrote)]
    made = [fact for fact in ops if isinstance(fact, Made)]
    if len(writes) == len(ops) > 1 and len({fact.op for fact in ops}) == 1:
        first = f"Line {done.line}: {code(ops[0].op)} writes {_written_names(done, writes)}, each one version on."
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
        first = f"{runs}: {both(parts)}." if parts else f"{runs}; no byte is added."
    temporary = [fact.tensor.storage for fact in made if fact.tensor.freed]
    gone = [storage for storage in temporary if storage.freed]
    lost = _lost(made, writes)
    taken = next((text for fact in writes if (text := stale_text(fact) or preserved_text(fact))), "")
    again = ""
    if gone:
        numbers = both([f"storage {storage.id}" for storage in gone[:2]]) if len(gone) < 3 else f"{len(gone)} of them"
        again = f"{numbers[0].upper()}{numbers[1:]} {'is' if len(gone) == 1 else 'are'} freed again: nothing needs it."
        again = again if len(gone) == 1 else again.replace("needs it", "needs them")
    staying = [storage for storage in temporary if not storage.freed]
    last = ops[-1].tensor
    held = kept(done, staying[0]) if staying and not (last.names and last.storage is staying[0]) else ""
    result = f"{called(done, last)} names the last result." if last.names and not isinstance(ops[-1], Wrote) else ""
    return fitting(first, taken, moved(done) or result, again, lost, held)


def _views(done: Done, ops: list[Viewed]) -> str:
    """One operation that gives several views."""
    names = [code(fact.tensor.names[0]) for fact in ops if fact.tensor.names]
    which = f", {both(names[:3])}" if names and len(names) == len(ops) <= 3 else ""
    first = f"{code(ops[0].op)} makes {len(ops)} tensors on storage {ops[0].tensor.storage.id}{which}"
    base = next((code(fact.base.names[0]) for fact in ops if fact.base is not None and fact.base.names), "")
    if ops[0].same_family and names and base and not ops[0].tensor.look["stop_gradient"]:
        return fitting(f"{first}: no number is copied.", f"{both([base, *names[:3]])} share one history from now on.")
    return f"{first}: no number is copied."


def _written_names(done: Done, writes: list[Wrote]) -> str:
    """``4 storages: those of `net.weight`, `net.bias` and 2 more``."""
    storages = list({fact.storage.id: fact for fact in writes}.values())
    names = [code(fact.tensor.names[0]) for fact in storages if fact.tensor.names]
    if not names:
        return f"{len(storages)} storages"
    more = [f"{len(storages) - 2} more"] if len(storages) > 2 else []
    return f"{len(storages)} storages, of {both(names[:2] + more)}"


def _lost(made: list[Made], writes: list[Wrote]) -> str:
    """A copy was written and is gone: what it was taken of is as before."""
    for fact in made:
        if fact.op == "getitem" and fact.tensor.freed and any(wrote.tensor is fact.tensor for wrote in writes):
            names = [entry.names[0] for entry in fact.inputs if entry.names]
            return f"{code(names[0])} keeps its numbers." if names else ""
    return ""


def brief(done: Done, fact: Any) -> str:
    if isinstance(fact, Made):
        return f"{code(fact.op)} makes storage {fact.tensor.storage.id}, {bytes_text(fact.tensor.storage.nbytes)}"
    if isinstance(fact, Viewed):
        return f"{code(fact.op)} makes a view on storage {fact.tensor.storage.id}"
    if isinstance(fact, Wrote):
        cells = cells_text(fact.storage, fact.cover)
        return f"{code(fact.op)} writes {cells} of storage {fact.storage.id}, version {fact.before + 1}"
    if isinstance(fact, Moved):
        return brief_moved(done, fact)
    if isinstance(fact, Unversioned):
        return brief_unversioned(done, fact)
    return f"{code(fact.op)} changes the shape of {called(done, fact.tensor)}"


# ---------- functions ----------


def say_call(done: Done, ops: list[Any]) -> str:
    function = done.all(Called)[-1].function
    inside = f" in {function.rpartition('.')[2]}"
    names = [fact for fact in done.all(Named) if fact.name.endswith(inside)]
    first = f"Line {done.line} calls {code(function)}."
    if ops:
        first = f"{brief(done, ops[-1])}; then line {done.line} calls {code(function)}."
    known = [(fact, [n for n in fact.tensor.names if n != fact.name]) for fact in names]
    told = [
        f"{code(fact.name)} is a name for the tensor of {code(others[0])}"
        if others
        else f"{code(fact.name)} names the tensor on storage {fact.tensor.storage.id}"
        for fact, others in known
    ]
    return fitting(first, f"{both(told[:2])}." if told else "")


def say_return(done: Done, ops: list[Any]) -> str:
    function = done.all(Returned)[-1].function
    if done.all(Returned)[-1].may_go_on:
        own = [fact.name for fact in done.all(Named) if " in " not in fact.name]
        got = f": {code(own[0])} is what it yielded" if own else ""
        return fitting(f"{code(function)} hands over to line {done.line}{got}.", freed(done))
    named = [code(fact.name) for fact in done.all(Named)]
    back = f"{code(function)} is done, and its own names are gone."
    call = next((fact for fact in ops if isinstance(fact, (Made, Viewed)) and _is_call(fact)), None)
    if call is not None:
        result = called(done, call.tensor)
        return fitting(
            f"{code(function)} is done. {result} is its result, and {code(call.op)} is recorded as what made it.",
            kept_for_backward(call.node, call.op),
        )
    if ops:
        return fitting(f"{back[:-1]}; {brief(done, ops[-1])}.", moved(done))
    if named and any(c in named[0] for c in ".["):
        more = [f"{len(named) - 2} more"] if len(named) > 2 else []
        return fitting(
            f"{back} {both(named[:2] + more)} {'is' if len(named) == 1 else 'are'} what it made.", freed(done)
        )
    if named:
        return fitting(
            f"{back} {both(named[:2])} {'names' if len(named) == 1 else 'name'} what it returned.", freed(done)
        )
    return fitting(back, freed(done))


def _is_call(fact: Made | Viewed) -> bool:
    """Whether it is the result of a layer written by hand."""
    return fact.node is not None and (fact.node.inner or isinstance(fact, Viewed) and not fact.same_family)
