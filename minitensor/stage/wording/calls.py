"""Sentences about functions of the notebook: one is called, comes back, or hands over. Rules: see ``sentences``."""

from __future__ import annotations

from typing import Any

from minitensor.stage.recording.done import Done
from minitensor.stage.recording.facts import Called, Made, Named, Returned, Viewed
from minitensor.stage.wording.naming import called, freed, moved
from minitensor.stage.wording.several import brief
from minitensor.stage.wording.words import both, code, fitting
from minitensor.stage.wording.writes import kept_for_backward


def say_call(done: Done, ops: list[Any]) -> str:
    """A function is entered, and its own names for tensors."""
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
    """A function comes back, and what it gave; a generator may only wait."""
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
    return fact.node is not None and (fact.node.inner or isinstance(fact, Viewed) and not fact.same_group)
