"""Fixes for a program of PyTorch that overwrites a tensor before backward() reads it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_names import ProgramNames
from memory_stage.explanation.whole_run.program_text import ProgramText, differentiated, is_fed_back
from memory_stage.explanation.whole_run.second_pass import detached, find_kept_state
from memory_stage.explanation.whole_run.write_fixes import (
    OverwrittenValue,
    fix_leaf_write,
    fix_read,
    fix_step_order,
    fix_write,
    owner_of_call,
    repeat_forward,
)
from memory_stage.messages import joined, message
from memory_stage.recorder.reachable_tensors import own_variables
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.backward_graph import nodes_behind, saved_by
from memory_stage.watch.torch.watched_run import WatchedRun

MOST_STATES = 16  # the largest number of tensors of one state, such as the two of an LSTM

#: Advice for a function of the program that keeps a tensor in an attribute of its ``ctx``.
_SAVE_CHECKED = message(
    "In any case, keep tensors with `ctx.save_for_backward(...)`, and read them from `ctx.saved_tensors`: torch then "
    "raises an error if one has been overwritten."
)


def fixes(watch: WatchedRun, lost: OverwrittenValue, frames: list[FrameType]) -> Iterator[Fix]:
    """Yield the fixes that fit, the best first."""
    if not lost.written_in:
        return
    if lost.is_optimizer_step:
        yield from _fix_step(watch, lost, frames)
        return
    cleared = _fix_cleared_gradient(lost)
    if cleared is not None:
        yield cleared
        return
    if lost.is_leaf and not lost.is_result:
        yield fix_leaf_write(lost)
        return
    yield from fix_write(lost, frames, _is_shared)
    yield from fix_read(lost)
    if lost.attribute:
        yield Fix(_SAVE_CHECKED)


def _fix_cleared_gradient(lost: OverwrittenValue) -> Fix | None:
    """Return the fix that drops a gradient where the program fills it with zeros, or None for another write.

    After ``backward(create_graph=True)``, a graph may need the numbers of ``.grad``.
    """
    text = ProgramText(lost.written_in[0].file)
    edits: list[Edit] = []
    for line in lost.written_in:
        statement = text.statement_at(line.number)
        if statement is None or not text.is_alone(statement):
            return None
        source = ast.unparse(statement)
        dropped = re.sub(r"\bset_to_none=False\b", "set_to_none=True", source) if ".zero_grad(" in source else ""
        zeroed = re.fullmatch(r"([\w.\[\]'\"]+\.grad)(\.data|\.detach\(\)|\.detach_\(\))?\.zero_\(\)", source)
        if zeroed is None and dropped in ("", source):
            return None
        edits += text.replace(statement, dropped if zeroed is None else f"{zeroed[1]} = None")
        block = text.block_of(statement)
        before = block[block.index(statement) - 1] if block.index(statement) else None
        if before is not None and zeroed is not None and ast.unparse(before) == f"{zeroed[1]}.detach_()":
            edits += text.replace(before)
    sentence = message(
        "Drop the gradient instead of filling it with zeros: the next backward pass makes a new one, and the graph "
        "keeps the old numbers."
    )
    return Fix(sentence, text.file, tuple(edits))


# ---------- a step between forward and backward ----------


def _fix_step(watch: WatchedRun, lost: OverwrittenValue, frames: list[FrameType]) -> Iterator[Fix]:
    step = lost.written_in[0]
    text = ProgramText(step.file)
    carried = _fix_carried_state(watch, lost, frames, text)
    if carried is not None:
        yield carried
        return
    again, later = fix_step_order(lost)
    yield repeat_forward(lost, frames, text, _is_stale) or again
    yield _fix_by_earlier_backward(lost, text) or later


def _fix_by_earlier_backward(lost: OverwrittenValue, text: ProgramText) -> Fix | None:
    """Return the fix that moves a backward pass before the step, and restricts it to another optimizer's parameters.

    Without the restriction, the pass would add to the gradients that the step uses. Only calls of ``zero_grad`` may be
    between the step and the pass, because the step could change the result of any other statement.
    """
    step, asking = text.statement_at(lost.written_in[0].number), text.statement_at(lost.asked_in.number)
    if step is None or asking is None or lost.asked_in.file != text.file:
        return None
    block, root, stepped = text.block_of(step), differentiated(asking), owner_of_call(step, "step")
    if asking not in block or block.index(asking) < block.index(step) or not root or not stepped:
        return None
    moved = block[block.index(step) + 1 : block.index(asking)]
    later = [owner_of_call(each, "step") for each in block[block.index(asking) + 1 :]]
    optimizer = next((each for each in later if each), "")
    if optimizer in ("", stepped) or not all(owner_of_call(each, "zero_grad") for each in moved):
        return None
    if not all(text.is_alone(each) for each in (step, *moved, asking)):
        return None
    parameters = f"[p for group in {optimizer}.param_groups for p in group['params']]"
    lines = [*map(ast.unparse, moved), f"{root}.backward(inputs={parameters})"]
    sentence = message(
        "Or differentiate `{name}` before line {line}, for the parameters of `{optimizer}` only: its gradients are "
        "then those of the parameters before the step.",
        name=root,
        line=step.lineno,
        optimizer=optimizer,
    )
    removed = [edit for each in (*moved, asking) for edit in text.replace(each)]
    return Fix(sentence, text.file, (*text.insert_before(step, *lines), *removed))


def _is_stale(value: Any) -> bool:
    """Return True for a tensor whose graph needs a tensor that was overwritten."""
    if not isinstance(value, torch.Tensor):
        return False
    return any(each.is_stale for node in nodes_behind(value) for each in saved_by(node))


def _fix_carried_state(
    watch: WatchedRun, lost: OverwrittenValue, frames: list[FrameType], text: ProgramText
) -> Fix | None:
    """Return a fix if a variable still attaches the graph of an earlier iteration to this iteration's graph."""
    step = text.statement_at(lost.written_in[0].number)
    if step is None or not text.is_alone(step):
        return None
    earlier = [each for each in watch.passes if each.line == watch.passes[-1].line] if watch.passes else []
    if not earlier or watch.lines[earlier[-1].line] != lost.asked_in or earlier[-1].time < lost.time:
        return None
    states = _attached_names(earlier[-1].next_node, frames)
    if not states:
        return _fix_kept_state(lost, earlier[-1].next_node, frames)
    edits = text.insert_after(step, *(f"{name} = {detached(name, several)}" for name, several in states.items()))
    sentence = message(
        "Detach {names} after the step: each iteration then differentiates its own operations only, and the graphs of "
        "earlier iterations are freed.",
        names=joined(f"`{name}`" for name in states),
    )
    return Fix(sentence, text.file, (*edits, *_drop_retain_graph(text, lost.asked_in.number)))


def _fix_kept_state(lost: OverwrittenValue, next_node: int, frames: list[FrameType]) -> Fix | None:
    """Return the fix of an attribute, such as ``self.hidden``, whose graph has nodes before ``next_node``; or None."""
    tensors = ProgramNames(frames).all_tensors()
    names = [name for name, x in tensors if any(node._sequence_nr() < next_node for node in nodes_behind(x))]
    text = ProgramText(lost.saved_in.file)
    readers = [each.lineno for each in text.statements() if not hasattr(each, "body")]
    for number in (lost.saved_in.number, *readers):
        found = find_kept_state(ProgramLine(text.file, number, ""), names)
        if found is not None:
            fix, dropped = found[1], _drop_retain_graph(ProgramText(lost.asked_in.file), lost.asked_in.number)
            return Fix(fix.sentence, fix.file, (*fix.edits, *(dropped if lost.asked_in.file == fix.file else ())))
    return None


def _attached_names(next_node: int, frames: list[FrameType]) -> dict[str, bool]:
    """Return the variables of a frame that are computed from their last values and have nodes before ``next_node``.

    The value is True for a variable that is a tuple or list of tensors.
    """
    for frame in frames:
        found = {}
        text = ProgramText(frame.f_code.co_filename)
        for name, value in list(own_variables(frame).items()):
            are_several = isinstance(value, (tuple, list)) and len(value) <= MOST_STATES
            tensors = value if are_several else [value]
            if not tensors or not all(isinstance(x, torch.Tensor) for x in tensors) or not is_fed_back(text, name):
                continue
            if any(node._sequence_nr() < next_node for x in tensors for node in nodes_behind(x)):
                found[name] = are_several
        if found:
            return found
    return {}


def _drop_retain_graph(text: ProgramText, line: int) -> tuple[Edit, ...]:
    statement = text.statement_at(line)
    if statement is None:
        return ()
    removed = False
    for call in [each for each in ast.walk(statement) if isinstance(each, ast.Call)]:
        kept = [each for each in call.keywords if each.arg != "retain_graph"]
        removed = removed or len(kept) < len(call.keywords)
        call.keywords = kept
    return text.replace(statement, ast.unparse(statement)) if removed else ()


def _is_shared(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value._is_view() or (value.is_leaf and value.requires_grad))
