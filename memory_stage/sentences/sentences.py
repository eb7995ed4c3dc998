"""Write one or two sentences for each step of a trace.

The subject is the operation or the line, the verb is in the present tense, and the numbers follow. A second sentence is
only for facts that the picture does not show. Storages have numbers, memory states look like ``a@0``, and operations
have their line. A sentence has at most 35 words, no colours, no "here", and no text of an error. Code is in backticks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_stage.messages import Text, capitalized, continued, joined, message, plural, sentences, then
from memory_stage.model import changes
from memory_stage.model.changes import Called, Made, Named, Resumed, Returned, Viewed
from memory_stage.model.compound_names import is_local, is_local_of, without_function
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.backward import say_backward
from memory_stage.sentences.naming import describe_freed, describe_moved_name, name_of, name_or_operation, say_names
from memory_stage.sentences.refusals import say_error
from memory_stage.sentences.results import raises_only, say_made, say_reshaped, say_viewed
from memory_stage.sentences.several import brief, say_several
from memory_stage.sentences.sharing import say_elsewhere, say_moved, say_unversioned
from memory_stage.sentences.words import code, fitting
from memory_stage.sentences.writes import kept_for_backward, say_write
from memory_stage.trace.amounts import bytes_message

NOTHING = message("The program has no statement that touches memory.")

#: For each kind of change that an operation makes, the function that describes a step with this change only.
_SAYS: dict[type, Callable[[FinishedStep, Any], Text]] = {
    changes.Made: say_made,
    changes.Viewed: say_viewed,
    changes.Wrote: say_write,
    changes.Reshaped: say_reshaped,
    changes.Moved: say_moved,
    changes.Unversioned: say_unversioned,
    changes.Elsewhere: say_elsewhere,
}


def say(done: FinishedStep) -> Text:
    """Return the sentence of a finished step."""
    said = _say(done)
    if str(said).startswith(changes.UNREPORTED_WRITE):
        said = capitalized(said)
    unseen = {str(fact.text): fact.text for fact in done.all(changes.Unseen)}
    if unseen:
        others = list(unseen.values())
        return sentences([said, *others] if _main(done) or done.error is not None else others)
    # A screen reader reads a sentence only if it differs from the previous one.
    if str(said) != done.previous:
        return said
    return message("Again, {sentence}", sentence=continued(said))


def _say(done: FinishedStep) -> Text:
    if done.error is not None:
        return say_error(done, _main(done))
    if done.phase == "backward":
        return say_backward(done) or _forward(done)
    return _forward(done)


def _forward(done: FinishedStep) -> Text:
    ops = _main(done)
    if done.all(changes.Called):
        return say_call(done, ops)
    if done.all(changes.Returned):
        return say_return(done, ops)
    if done.all(changes.Resumed):
        return say_resumed(done, ops)
    if not ops:
        return _describe_released(done) or say_names(done)
    raised = raises_only(ops)
    if len(raised) == 1 and len(ops) == 2:
        return say_reshaped(done, next(fact for fact in ops if fact is not raised[0]), raised[0])
    if len(ops) > 1:
        return say_several(done, ops)
    (fact,) = ops
    return _SAYS[type(fact)](done, fact)


def _main(done: FinishedStep) -> list[Any]:
    """Return the changes that operations made, without views that only served a write of the same line."""
    ops = done.all(*_SAYS)
    ops = [fact for fact in ops if not (isinstance(fact, changes.Elsewhere) and fact.storage.freed)]
    if any(isinstance(fact, changes.Moved) and fact.op == "set_" for fact in ops):
        ops = [
            fact
            for fact in ops
            if not (isinstance(fact, changes.Viewed) and fact.op == "as_strided" and fact.tensor.freed)
        ]
    if any(fact.tensor.is_array for fact in done.all(changes.Named)):  # as in `n = x.detach().numpy(share=True)`
        ops = [fact for fact in ops if not (isinstance(fact, changes.Viewed) and fact.tensor.freed)]
    written = [fact.tensor for fact in ops if isinstance(fact, (changes.Wrote, changes.Unversioned))]
    written += [entry for fact in ops if isinstance(fact, changes.Wrote) for entry in fact.reads]
    return [
        fact
        for fact in ops
        if not (isinstance(fact, changes.Viewed) and fact.tensor in written and not fact.tensor.was_named)
        and not (isinstance(fact, changes.Made) and fact.op == "cast" and len(ops) > 1 and fact.tensor.freed)
    ]


def _describe_released(done: FinishedStep) -> Text:
    """Describe the memory that a GPU's allocator gave back to the GPU."""
    if not done.unreserved or done.events:
        return ""
    return message(
        "Line {line} returns {size} of reserved memory that held no tensor: {reserved} stay reserved. Allocated "
        "memory does not change.",
        line=done.line,
        size=bytes_message(done.unreserved),
        reserved=f"{done.reserved:,}",
    )


def say_call(done: FinishedStep, ops: list[Any]) -> Text:
    """Describe a call of a function, and the function's names for tensors."""
    function = done.all(Called)[-1].function
    place = function.rpartition(".")[2]
    names = [fact for fact in done.all(Named) if is_local_of(fact.name, place)]
    first = message("Line {line} calls {function}.", line=done.line, function=code(function))
    if ops:
        first = message(
            "{clause}; then line {line} calls {function}.",
            clause=brief(done, ops[-1]),
            line=done.line,
            function=code(function),
        )
    clauses = [_parameter(fact) for fact in names[:2]]
    return fitting(first, message("{clauses}.", clauses=joined(clauses)) if clauses else "")


def _parameter(fact: Named) -> Text:
    """Return a clause about a function's local name for a tensor."""
    others = [name for name in fact.tensor.names if name != fact.name]
    if others:
        return message("{name} is a name for the tensor of {other}", name=code(fact.name), other=code(others[0]))
    storage = fact.tensor.storage.id
    return message("{name} names the tensor on storage {storage}", name=code(fact.name), storage=storage)


def say_return(done: FinishedStep, ops: list[Any]) -> Text:
    """Describe the return of a function, and its value. A generator may be suspended instead."""
    returned = done.all(Returned)[-1]
    function, named = code(returned.function), done.all(Named)
    if returned.is_generator:
        return fitting(_describe_yield(done, returned, named), describe_freed(done))
    call = next((fact for fact in ops if isinstance(fact, (Made, Viewed)) and _is_call(fact)), None)
    if call is not None:
        layer = code(call.called)
        first = message(
            "{function} is done. It has a result, recorded as the output of {layer}.", function=function, layer=layer
        )
        if name_of(done, call.tensor):
            first = message(
                "{function} is done. {result} is its result, recorded as the output of {layer}.",
                function=function,
                result=name_or_operation(done, call.tensor),
                layer=layer,
            )
        return fitting(first, kept_for_backward(call.node, call.called))
    if ops:
        return fitting(
            message(
                "{function} is done, and its local names are deleted; {clause}.",
                function=function,
                clause=brief(done, ops[-1]),
            ),
            describe_moved_name(done),
        )
    back = message("{function} is done, and its local names are deleted.", function=function)
    return fitting(sentences([back, _match_names(named, returned)] if named else [back]), describe_freed(done))


def _describe_yield(done: FinishedStep, returned: Returned, named: list[Named]) -> Text:
    """Describe a generator that has yielded a value."""
    function = code(returned.function)
    own = [fact.name for fact in named if fact.tensor is returned.value and not is_local(fact.name)]
    if own:
        return message(
            "{function} yields, and line {line} continues: {name} names the yielded value.",
            function=function,
            line=done.line,
            name=code(own[0]),
        )
    return message("{function} yields, and line {line} continues.", function=function, line=done.line)


def _match_names(named: list[Named], returned: Returned) -> Text:
    """Describe names that were bound at a return: they name the result, a tensor in it, or another tensor."""
    shown = [code(fact.name) for fact in named[:2]]
    if len(named) > 2:
        shown.append(message("{count} more", count=len(named) - 2))
    names, count = joined(shown), len(named)
    if all(fact.tensor is returned.value for fact in named):
        return plural("{names} names its return value.", "{names} name its return values.", count, names=names)
    if all(fact.tensor in returned.inside for fact in named):
        return plural("{names} is a tensor in its result.", "{names} are tensors in its result.", count, names=names)
    if all(fact.tensor.step >= returned.since for fact in named):
        return plural("{names} names a tensor that it made.", "{names} name tensors that it made.", count, names=names)
    others = [name for name in named[0].tensor.names if name != named[0].name]
    if count == 1 and others:
        return message("{name} names the tensor of {other}.", name=names, other=code(others[0]))
    return plural("{names} names an existing tensor.", "{names} name existing tensors.", count, names=names)


def say_resumed(done: FinishedStep, ops: list[Any]) -> Text:
    """Describe a resumed generator, its local names, and the tensors that were sent to it."""
    fact = done.all(Resumed)[-1]
    named = [each for each in done.all(Named) if is_local_of(each.name, fact.place)]
    had = [each for each in named if fact.names.get(without_function(each.name)) is each.tensor]
    new = [each for each in named if each not in had]
    clause: Text = message("{function} resumes where it waited", function=code(fact.function))
    if had:
        names = joined([code(each.name) for each in had[:3]])
        clause = message("{function} resumes where it waited, with {names}", function=code(fact.function), names=names)
    if ops:
        clause = then([brief(done, ops[-1]), clause])
    owner: Text = ""
    if new:
        name, others = code(new[0].name), [name for name in new[0].tensor.names if name != new[0].name]
        owner = message("{name} names a tensor that it received.", name=name)
        if others:
            owner = message("{name} is a name for the tensor of {other}.", name=name, other=code(others[0]))
    return fitting(message("{clause}.", clause=clause), owner)


def _is_call(fact: Made | Viewed) -> bool:
    """True if a tensor is the result of a custom layer."""
    return fact.node is not None and (fact.node.inner or (isinstance(fact, Viewed) and not fact.same_group))
