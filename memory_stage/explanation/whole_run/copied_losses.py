"""Diagnose a backward pass that stops at a copy of numbers, such as ``torch.tensor(losses, requires_grad=True)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FrameType
from typing import Any

from memory_stage.explanation.whole_run.cut_history import STACK, has_history, names_with_history, without_cuts
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, name_of
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.backward_graph import leaves_behind
from memory_stage.watch.torch.shared_arrays import COPYING, NumberCopy
from memory_stage.watch.torch.watched_run import WatchedRun

_REASON = message(
    "Backward follows histories. A copy of numbers has none, and requires_grad=True only gives the copy a gradient."
)


def diagnose(watch: WatchedRun, roots: Any, frame: FrameType, known: set[Any]) -> list[Fault]:
    """Return a fault for each call that copied the numbers of a loss, if a backward pass reaches the copy.

    The pass may also reach parameters, through other terms of the loss such as a penalty.

    Args:
        known: keys of the faults that were returned before; this call adds the keys of its faults.
    """
    leaves = list({id(x): x for x in leaves_behind(roots)}.values())
    copies = [copy for x in leaves if (copy := watch.copies.find(x)) is not None]
    found = []
    for copy in dict.fromkeys(copies):
        line = watch.lines[copy.line]
        if ("copy", line) not in known:
            known.add(("copy", line))
            has_other_terms = len(copies) < len(leaves)
            fault = _fault(copy, line, watch.line_of(frame), watch.program_frames(frame), has_other_terms)
            found += [] if fault is None else [fault]
    return found


def _fault(
    copy: NumberCopy, line: ProgramLine, asking: ProgramLine, frames: list[FrameType], has_other_terms: bool
) -> Fault | None:
    text = ProgramText(line.file)
    statement = text.statement_at(line.number)
    nodes = [] if statement is None else list(ast.walk(statement))
    calls = [each for each in nodes if isinstance(each, ast.Call) and name_of(each.func) in COPYING and each.args]
    if statement is None or len(calls) != 1 or _is_trained(text, statement):
        return None
    if has_other_terms and _is_handed_on(text, statement):
        return None
    call = calls[0]
    given = call.args[0]
    if not copy.shapes and not _copies_results(text, given, frames):
        return None
    edits = _edits(text, statement, call, copy)
    sentence = STACK if copy.is_list else message("Use the result itself.")
    verdict = message(
        "Line {line} copies the numbers of `{results}` into a new leaf, so the backward pass in line {asked} reaches "
        "no parameter and changes no `.grad`.",
        line=line.number,
        results=ast.unparse(given),
        asked=asking.number,
    )
    if has_other_terms:
        verdict = message(
            "Line {line} copies the numbers of `{results}` into a new leaf, so in the backward pass in line {asked} "
            "they add nothing to any parameter's `.grad`; only the other terms of the loss do.",
            line=line.number,
            results=ast.unparse(given),
            asked=asking.number,
        )
    copying = message("`{function}` copies numbers without their history", function=ast.unparse(call.func))
    return Fault(
        "history cut",
        verdict,
        (Evidence(line, copying), Evidence(asking, message("ends at the copy"))),
        _REASON,
        (Fix(sentence, text.file, edits),),
        is_silent=True,
    )


def _is_trained(text: ProgramText, statement: ast.stmt) -> bool:
    """Return True if the program uses the gradient of the copy, so that the copy is meant to be a leaf."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return False
    name = re.escape(ast.unparse(target))
    return text.has(rf"{name}\.grad\b|[\[(]\s*{name}\s*,?\s*[\])]\s*,\s*\w+\s*=|grad\([^()]*,\s*\[?{name}\b|\[{name}\]")


def _is_handed_on(text: ProgramText, statement: ast.stmt) -> bool:
    """Return True if other code may train the copy: it is an attribute, or a line puts it into a list, dict or call."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if target is None:
        return not isinstance(statement, (ast.Expr, ast.AugAssign))
    if not isinstance(target, ast.Name):
        return True
    holders = [
        each
        for other in text.statements()
        for each in ast.walk(other)
        if isinstance(each, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Return))
        or (isinstance(each, ast.Call) and ast.unparse(each.func) != "print")
    ]
    inside = [part for each in holders for part in ast.iter_child_nodes(each)]
    return any(isinstance(part, ast.Name) and part.id == target.id for part in inside)


def _copies_results(text: ProgramText, given: ast.expr, frames: list[FrameType]) -> bool:
    """Return True if the numbers in the argument of a call come from tensors with a history."""
    values = [given, *(each.args[0] for each in _appends(text, given))]
    cut = [each for each in values if ast.unparse(without_cuts(each)) != ast.unparse(each)]
    names = {name for each in cut for name in names_with_history(each)}
    variables = [{**frame.f_globals, **frame.f_locals} for frame in frames]
    return any(has_history(each.get(name)) for name in names for each in variables)


def _appends(text: ProgramText, given: ast.expr) -> list[ast.Call]:
    """Return the calls that append to the list that a name denotes."""
    if not isinstance(given, ast.Name):
        return []
    owners = [(each, getattr(each.func, "value", None)) for each in text.calls("append") if each.args]
    return [call for call, owner in owners if isinstance(owner, ast.Name) and owner.id == given.id]


def _edits(text: ProgramText, statement: ast.stmt, call: ast.Call, copy: NumberCopy) -> tuple[Edit, ...]:
    """Return the edits that keep the history; () if the call cannot be replaced."""
    given = call.args[0]
    plain = ast.unparse(without_cuts(given))
    options = [ast.unparse(each) for each in call.keywords if each.arg in ("dtype", "device")]
    if len(call.args) > 1 or any(each.arg not in ("dtype", "device", "requires_grad") for each in call.keywords):
        return ()
    added: list[Edit] = []
    if not copy.shapes:
        for each in _appends(text, given):
            added += text.wrapped(each.args[0], ast.unparse(without_cuts(each.args[0])))
        if copy.is_list and not added and plain == ast.unparse(given):
            return ()
    if copy.is_list and any(shape for shape in copy.shapes):
        return ()
    joined = f"torch.stack({plain})" if copy.is_list else plain
    converted = f".to({', '.join(options)})" if options else ""
    needs_brackets = bool(converted) and not copy.is_list and not isinstance(given, (ast.Name, ast.Attribute, ast.Call))
    joined = f"({joined})" if needs_brackets else joined
    here = text.wrapped(call, f"{joined}{converted}".replace("{", "{{").replace("}", "}}"))
    return (*added, *here, *_without_flag(text, statement)) if here else ()


def _without_flag(text: ProgramText, statement: ast.stmt) -> Iterator[Edit]:
    """Yield the edit that removes ``loss.requires_grad = True``, which torch refuses for the result of an operation."""
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    flags = (f"{target}.requires_grad = True", f"{target}.requires_grad_()", f"{target}.requires_grad_(True)")
    for each in text.siblings_after(statement):
        if target and ast.unparse(each) in flags:
            yield from text.replace(each)
