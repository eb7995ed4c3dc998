"""One sentence, or two, for each step of a trace.

Subject: the operation or the line. Verb in the present tense. Then the numbers. A second sentence tells only what the
picture does not show yet. Storages go by number, memory states as ``a@0``, operations with their line. At most 35
words, no colours, no "here". Code stands in backticks; an error's own text stands elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

from minitensor.notebook.recording.cells import SMALL, merged, runs_of
from minitensor.notebook.recording.entries import NodeEntry, TensorEntry
from minitensor.notebook.recording.facts import Called, Done, Made, Named, Relaid, Returned, Viewed, Wrote
from minitensor.notebook.wording.backwords import say_backward
from minitensor.notebook.wording.naming import called, freed, kept, moved, name_of, say_names
from minitensor.notebook.wording.refusals import say_error
from minitensor.notebook.wording.savers import preserved_text, spared_text, stale_text
from minitensor.notebook.wording.words import both, bytes_text, code, count_of, fitting, storages_text

NOTHING = "The program has no statement that touches memory."
MOST_CODE = 28  # characters of the reader's own code quoted in a sentence

# Operations that make a tensor out of nothing: no tensor goes in.
_NEW = ("to_tensor", "full", "zeros", "ones", "arange", "rand", "randn")


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
        return say_names(done)
    if len(ops) > 1:
        return _several(done, ops)
    (fact,) = ops
    if isinstance(fact, Made):
        return _made(done, fact)
    if isinstance(fact, Viewed):
        return _viewed(done, fact)
    if isinstance(fact, Wrote):
        return _wrote(done, fact)
    return _relaid(done, fact)


def _main(done: Done) -> list[Any]:
    """What operations did, without views that only served a write of the same line."""
    ops = done.all(Made, Viewed, Wrote, Relaid)
    written = [fact.tensor for fact in ops if isinstance(fact, Wrote)]
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
    if fact.op in _NEW and not fact.inputs:
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
    return _saved_without_copy(node, op)


def _saved_without_copy(node: NodeEntry | None, op: str) -> str:
    """What it keeps of storages that tensors look at: what it read or, in place, its own result."""
    saves = node.saves if node is not None else []
    labels = list(dict.fromkeys(code(save.label) for save in saves if save.storage.seen_by_tensor))
    return f"{code(op)} saves {both(labels)}, because its gradient needs those numbers." if labels else ""


def _viewed(done: Done, fact: Viewed) -> str:
    tensor, storage, base = fact.tensor, fact.tensor.storage, fact.base
    size, cells = math.prod(tensor.look["shape"]), _distinct(tensor)
    whole = size == cells == storage.length
    name = called(done, tensor)
    if fact.op == "detach":
        on = f"{code('detach')} makes a second tensor on storage {storage.id}, one that wants no gradient."
        if base is not None and not base.look["stop_gradient"]:
            return fitting(on, f"A write through {name} will change {called(done, base)}, and no history will tell.")
        return fitting(on, "No number is copied.")
    subject = _subject(done, fact.op) if fact.op == "getitem" else code(fact.op)
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


def _distinct(tensor: TensorEntry) -> int:
    """How many cells a tensor looks at, each counted once; of a large tensor, its elements."""
    look = tensor.look
    runs, total = runs_of(look["shape"], look["strides"], look["offset"], SMALL)
    if total > SMALL:
        return math.prod(look["shape"])
    return sum(last - first + 1 for first, last in merged(runs))


def _wrote(done: Done, fact: Wrote) -> str:
    tensor, storage = fact.tensor, fact.storage
    subject = f"Line {done.line}" if fact.op == "setitem" else code(fact.op)
    through = f" through {called(done, tensor)}" if _says_through(done, fact) else ""
    versions = f", which goes from version {fact.before} to version {storage.version}"
    if through:
        versions = f": version {storage.version}"
    what = f"{_cells(fact)} of storage {storage.id}{through}"
    if fact.own:
        first = f"{_kept_first(subject, fact)} {what}: version {storage.version}."
    elif fact.node is None and not tensor.look["stop_gradient"]:
        leaf = "a leaf may be written" if tensor.look["leaf"] else "nothing is recorded"
        who = subject.replace("Line", "line")
        first = (
            f"Under {code('no_grad')} {leaf}: {who} writes {what}{'' if through else versions}, and leaves no history."
        )
    else:
        first = f"{subject} writes {what}{versions}."
        names = [named.name for named in done.all(Named) if named.tensor is tensor and named.name != tensor.name]
        if names:
            first = f"{subject} writes {what}, now at version {storage.version}." if through else first
            first = (
                f"{first[:-1]}, and returns {called(done, tensor)} itself: {code(names[0])} is a second name for the "
                f"same tensor."
            )
    return fitting(
        first,
        stale_text(fact),
        preserved_text(fact),
        spared_text(fact),
        _saved_without_copy(fact.node, fact.op),
        _joined(done, fact),
        _unknown_to_history(done, fact),
        _family_moves(done, fact),
        _seen(done, fact),
    )


def _cells(fact: Wrote) -> str:
    if fact.count == 0:
        return "no cell"
    if fact.count == fact.storage.length:
        return f"all {fact.count:,} cells" if fact.count > 1 else "the one cell"
    if len(fact.runs) == 1 and fact.runs[0][1] - fact.runs[0][0] + 1 == fact.count and fact.storage.length > 8:
        first, last = fact.runs[0]
        return f"cells {first:,} to {last:,}" if last > first else f"cell {first:,}"
    return count_of(fact.count, "cell")


def _kept_first(subject: str, fact: Wrote) -> str:
    """What an operation keeps of the input that it is about to overwrite, up to the verb."""
    size = bytes_text(sum(storage.nbytes for storage in fact.own))
    where = storages_text(fact.own)
    if any(save.event.get("marks") for save in fact.node.saves):
        return f"{subject} keeps marks of its input, 1 bit per element, {size} in {where}, then writes"
    return f"{subject} needs its input for backward, so it first copies {size} to {where}. Then it writes"


def _joined(done: Done, fact: Wrote) -> str:
    """A tensor without a history was overwritten with numbers that have one."""
    if fact.node is None or fact.wanted_gradient:
        return ""
    return f"From now on {called(done, fact.tensor)} has a history and wants a gradient."


def _aliases(done: Done, fact: Wrote) -> list[TensorEntry]:
    """Other named tensors on the storage that was written."""
    others = [entry for entry in done.ledger.tensors.values() if entry.storage is fact.storage]
    return [entry for entry in others if entry is not fact.tensor and entry.names]


def _says_through(done: Done, fact: Wrote) -> bool:
    """Whether it helps to say through which tensor the write went."""
    tensor = fact.tensor
    return bool(tensor.name) and fact.op != "setitem" and (bool(_aliases(done, fact)) or "." in tensor.name)


def _unknown_to_history(done: Done, fact: Wrote) -> str:
    if not fact.tensor.look["stop_gradient"]:
        return ""
    wanting = [entry for entry in _aliases(done, fact) if not entry.look["stop_gradient"]]
    if not wanting:
        return ""
    return f"{code(wanting[0].names[0])} changes with it, and its history does not know."


def _family_moves(done: Done, fact: Wrote) -> str:
    if fact.node is None:
        return ""
    others = [entry for entry in _aliases(done, fact) if entry.family is fact.tensor.family]
    if not others:
        return ""
    return f"The write joins the history they share, so {code(others[0].names[0])} moves on with it."


def _seen(done: Done, fact: Wrote) -> str:
    if _family_moves(done, fact) or _unknown_to_history(done, fact):
        return ""
    others = [entry for entry in _aliases(done, fact) if _overlap(entry, fact)]
    if not others:
        return ""
    names = both([code(entry.names[0]) for entry in others[:3]])
    return f"{names} {'sees' if len(others) == 1 else 'see'} the new numbers, too."


def _overlap(entry: TensorEntry, fact: Wrote) -> bool:
    """Whether a tensor surely looks at a cell that was written."""
    look = entry.look
    if fact.count and _distinct(entry) == fact.storage.length:
        return True
    runs, total = runs_of(look["shape"], look["strides"], look["offset"], SMALL)
    if not fact.exact or total > SMALL:
        return False
    return any(a <= d and c <= b for a, b in runs for c, d in fact.runs)


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
    writes = [fact for fact in ops if isinstance(fact, Wrote)]
    made = [fact for fact in ops if isinstance(fact, Made)]
    if len(ops) <= 3:
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
    taken = next((text for fact in writes if (text := stale_text(fact) or preserved_text(fact))), "")
    again = ""
    if gone:
        numbers = both([f"storage {storage.id}" for storage in gone[:2]]) if len(gone) < 3 else f"{len(gone)} of them"
        again = f"{numbers[0].upper()}{numbers[1:]} {'is' if len(gone) == 1 else 'are'} freed again: nothing needs it."
        again = again if len(gone) == 1 else again.replace("needs it", "needs them")
    staying = [storage for storage in temporary if not storage.freed]
    held = kept(done, staying[0]) if staying else ""
    last = ops[-1].tensor
    result = f"{called(done, last)} names the last result." if last.names and not isinstance(ops[-1], Wrote) else ""
    return fitting(first, taken, moved(done) or result, again, held)


def brief(done: Done, fact: Any) -> str:
    if isinstance(fact, Made):
        return f"{code(fact.op)} makes storage {fact.tensor.storage.id}, {bytes_text(fact.tensor.storage.nbytes)}"
    if isinstance(fact, Viewed):
        return f"{code(fact.op)} makes a view on storage {fact.tensor.storage.id}"
    if isinstance(fact, Wrote):
        return f"{code(fact.op)} writes {_cells(fact)} of storage {fact.storage.id}, version {fact.before + 1}"
    return f"{code(fact.op)} changes the shape of {called(done, fact.tensor)}"


# ---------- functions ----------


def say_call(done: Done, ops: list[Any]) -> str:
    function = done.all(Called)[-1].function
    names = [fact for fact in done.all(Named) if fact.name.endswith(f" in {function}")]
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
    named = [code(fact.name) for fact in done.all(Named)]
    back = f"{code(function)} is done, and its own names are gone."
    if ops:
        return fitting(f"{back[:-1]}; {brief(done, ops[-1])}.", moved(done))
    if named and any(c in named[0] for c in ".["):
        return fitting(f"{back} {both(named[:2])} {'is' if len(named) == 1 else 'are'} what it made.", freed(done))
    if named:
        return fitting(
            f"{back} {both(named[:2])} {'names' if len(named) == 1 else 'name'} what it returned.", freed(done)
        )
    return fitting(back, freed(done))
