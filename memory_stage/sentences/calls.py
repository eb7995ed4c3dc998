"""Sentences about functions of the notebook that are called, return or yield. Rules: see ``sentences``."""

from __future__ import annotations

from typing import Any

from memory_stage.model.changes import Called, Made, Named, Resumed, Returned, Viewed
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.naming import called, freed, moved
from memory_stage.sentences.several import brief
from memory_stage.sentences.words import both, code, fitting
from memory_stage.sentences.writes import kept_for_backward


def say_call(done: FinishedStep, ops: list[Any]) -> str:
    """Describe a call of a function, and its names for tensors."""
    function = done.all(Called)[-1].function
    inside = f" in {function.rpartition('.')[2]}"
    names = [fact for fact in done.all(Named) if fact.name.endswith(inside)]
    first = f"Line {done.line} calls {code(function)}."
    if ops:
        first = f"{brief(done, ops[-1])}; then line {done.line} calls {code(function)}."
    known = [(fact, [n for n in fact.tensor.names if n != fact.name]) for fact in names]
    clauses = [
        f"{code(fact.name)} is a name for the tensor of {code(others[0])}"
        if others
        else f"{code(fact.name)} names the tensor on storage {fact.tensor.storage.id}"
        for fact, others in known
    ]
    return fitting(first, f"{both(clauses[:2])}." if clauses else "")


def say_return(done: FinishedStep, ops: list[Any]) -> str:
    """Describe the return of a function and its value; a generator may only be suspended."""
    returned = done.all(Returned)[-1]
    function, named = returned.function, done.all(Named)
    if returned.may_go_on:
        own = [fact.name for fact in named if fact.tensor is returned.value and " in " not in fact.name]
        got = f": {code(own[0])} is what it yielded" if own else ""
        return fitting(f"{code(function)} hands over to line {done.line}{got}.", freed(done))
    back = f"{code(function)} is done, and its own names are gone."
    call = next((fact for fact in ops if isinstance(fact, (Made, Viewed)) and _is_call(fact)), None)
    if call is not None:
        result = called(done, call.tensor)
        whose = f"{result} is its result" if result.startswith("`") else "It has a result"
        return fitting(
            f"{code(function)} is done. {whose}, and {code(call.called)} is recorded as what made it.",
            kept_for_backward(call.node, call.called),
        )
    if ops:
        return fitting(f"{back[:-1]}; {brief(done, ops[-1])}.", moved(done))
    return fitting(f"{back}{_match_names(named, returned)}", freed(done))


def _match_names(named: list[Named], returned: Returned) -> str:
    """Return whether names that were bound at a return are for the returned tensor, one of the function, or another."""
    if not named:
        return ""
    names = [code(fact.name) for fact in named]
    few = both(names[:2] + ([f"{len(names) - 2} more"] if len(names) > 2 else []))
    one = len(names) == 1
    if all(fact.tensor is returned.value for fact in named):
        return f" {few} {'names' if one else 'name'} what it returned."
    if all(fact.tensor in returned.inside for fact in named):
        return f" {few} {'is a tensor' if one else 'are tensors'} in what it returned."
    if all(fact.tensor.step >= returned.since for fact in named):
        return f" {few} {'names a tensor' if one else 'name tensors'} that it made."
    others = [name for name in named[0].tensor.names if name != named[0].name]
    if one and others:
        return f" {few} names the tensor of {code(others[0])}."
    return f" {few} {'names a tensor that was' if one else 'name tensors that were'} there already."


def say_resumed(done: FinishedStep, ops: list[Any]) -> str:
    """Describe a resumed generator, the names that it had, and the tensors that it was sent."""
    fact = done.all(Resumed)[-1]
    inside = f" in {fact.place}"
    named = [each for each in done.all(Named) if each.name.endswith(inside)]
    had = [each for each in named if fact.names.get(each.name.removesuffix(inside)) is each.tensor]
    new = [each for each in named if each not in had]
    first = f"{code(fact.function)} goes on where it waited"
    if ops:
        first = f"{brief(done, ops[-1])}; then {first}"
    if had:
        first += f", with {both([code(each.name) for each in had[:3]])}"
    owner = ""
    if new:
        others = [name for name in new[0].tensor.names if name != new[0].name]
        whose = f"is a name for the tensor of {code(others[0])}" if others else "names a tensor that it was given"
        owner = f"{code(new[0].name)} {whose}."
    return fitting(f"{first}.", owner)


def _is_call(fact: Made | Viewed) -> bool:
    """Return True if it is the result of a custom layer."""
    return fact.node is not None and (fact.node.inner or (isinstance(fact, Viewed) and not fact.same_group))
