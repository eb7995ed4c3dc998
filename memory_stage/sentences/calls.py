"""Sentences about calls of recorded functions, and about functions that return or yield."""

from __future__ import annotations

from typing import Any

from memory_stage.messages import Text, joined, message, plural, sentences, then
from memory_stage.model.changes import Called, Made, Named, Resumed, Returned, Viewed
from memory_stage.model.compound_names import is_local, is_local_of, without_function
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.naming import describe_freed, describe_moved_name, name_of, name_or_operation
from memory_stage.sentences.several import brief
from memory_stage.sentences.words import code, fitting
from memory_stage.sentences.writes import kept_for_backward


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
    """True if a tensor is the result of a custom function."""
    return fact.node is not None and (fact.node.inner or (isinstance(fact, Viewed) and not fact.same_group))
