"""Fixes for an optimizer's step between a forward pass and its backward pass, for every framework."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import (
    ProgramText,
    assigned_names,
    differentiated,
    name_of,
    names_in,
    owner_of,
)
from memory_stage.explanation.whole_run.write_fixes import OverwrittenValue
from memory_stage.messages import message, sentences
from memory_stage.watch.lines import ProgramLine


def fix_step_order(lost: OverwrittenValue) -> Iterator[Fix]:
    """Yield two fixes: repeat the forward pass after the step, or run backward before it. The user has to choose."""
    step = lost.written_in[0].number
    again = message(
        "Run the forward pass of line {line} again after line {step}: its loss then belongs to the parameters after "
        "the step.",
        line=lost.saved_in.number,
        step=step,
    )
    yield Fix(again)
    earlier = message(
        "Or call this backward() before line {step}, with the parameters that it should train as `inputs=`: its "
        "gradients are then those of the parameters before the step. Without `inputs=`, line {step} uses them, too.",
        step=step,
    )
    if lost.library == "paddle":  # Paddle's backward() has no argument for the parameters
        earlier = message(
            "Or compute these gradients before line {step} with `paddle.grad(loss, parameters)`, which changes no "
            "`.grad`: they are then those of the parameters before the step.",
            step=step,
        )
    yield Fix(earlier)


def repeat_forward(
    lost: OverwrittenValue, frames: list[FrameType], text: ProgramText, is_stale: Callable[[Any], bool]
) -> Fix | None:
    """Return the fix that repeats statements after the step, because the step made their results stale; or None.

    These are assignments in the block of the step that make a tensor whose graph needs an overwritten tensor. The
    backward pass has to be in the same block.

    Args:
        text: the file of the step.
        is_stale: True for a tensor whose graph needs a tensor that was overwritten.
    """
    step, asking = text.statement_at(lost.written_in[0].number), text.statement_at(lost.asked_in.number)
    if step is None or asking is None or not frames or lost.asked_in.file != text.file or not text.is_alone(step):
        return None
    block = text.block_of(step)
    root = differentiated(asking)
    if asking not in block or step not in block or block.index(asking) < block.index(step) or not root:
        return None
    variables = {**frames[0].f_globals, **frames[0].f_locals}
    needed, repeated = {root}, []
    for statement in reversed(block[: block.index(asking)]):
        names = assigned_names(statement) & needed
        if not names or not any(is_stale(variables.get(name)) for name in names):
            continue
        if not isinstance(statement, ast.Assign) or not _assigns_names(statement):
            return None
        if block.index(statement) < block.index(step):
            repeated.append(_with_needed_targets(statement, needed))
        needed |= names_in(statement.value)
    if not repeated:
        return None
    lines = [ast.unparse(each) for each in reversed(repeated)]
    last, line = _last_write(lost, text, block, step)
    advised = [
        message(
            "Run the forward pass again after line {line}: `{name}` then belongs to the parameters after the step.",
            line=line,
            name=root,
        )
    ]
    if lost.saved_in.function != lost.asked_in.function:  # the repeated call runs lines that are not shown
        advised.append(message("If it draws random numbers, it draws new ones."))
    return Fix(sentences(advised), text.file, text.insert_after(last, *lines))


def _last_write(
    lost: OverwrittenValue, text: ProgramText, block: list[ast.stmt], step: ast.stmt
) -> tuple[ast.stmt, int]:
    """Return the last statement of a block that overwrites the tensor before backward, and the line of the write."""
    before = [each.number for each in lost.written_in if each.file == text.file and each.number < lost.asked_in.number]
    found = [(each, line) for each in block for line in before if each.lineno <= line <= (each.end_lineno or 0)]
    return max(found, key=lambda each: each[1], default=(step, lost.written_in[0].number))


def _assigns_names(statement: ast.Assign) -> bool:
    """Return True for an assignment to one name, or to a tuple of names."""
    (target, *others) = statement.targets
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return not others and all(isinstance(each, ast.Name) for each in parts)


def _with_needed_targets(statement: ast.Assign, needed: set[str]) -> ast.Assign:
    """Return an assignment with ``_`` in place of the names of a tuple that are not needed."""
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple):
        return statement
    names = [each.id if isinstance(each, ast.Name) and each.id in needed else "_" for each in target.elts]
    return ast.Assign([ast.Tuple([ast.Name(name) for name in names])], statement.value, lineno=statement.lineno)


def fix_leaf_write(lost: OverwrittenValue) -> Fix:
    """Return the fix that moves the write behind the backward pass; only its sentence if a move may be wrong."""
    tensor, asked = f"`{lost.name}`" if lost.name else message("the parameter"), lost.asked_in.number
    edits = _move_behind(lost)
    sentence = message(
        "Change {tensor} after the backward pass in line {asked}, which needs the numbers of the forward pass.",
        tensor=tensor,
        asked=asked,
    )
    if edits:
        return Fix(sentence, lost.asked_in.file, edits)
    if not lost.saved_in.number:
        return Fix(sentence)
    sentence = message(
        "Change {tensor} after the backward pass in line {asked}, or before the forward pass that reads it in line "
        "{line}; or let line {line} read a clone of it.",
        tensor=tensor,
        asked=asked,
        line=lost.saved_in.number,
    )
    return Fix(sentence)


def _move_behind(lost: OverwrittenValue) -> tuple[Edit, ...]:
    """Return the edits that move the write behind the backward pass in the same block; () if it must not be moved.

    Only calls of ``zero_grad`` or ``clear_grad`` may be between write and pass, and the write must not use a gradient.
    """
    text = ProgramText(lost.asked_in.file)
    asking = text.statement_at(lost.asked_in.number)
    if asking is None or not text.is_alone(asking) or any(each.file != text.file for each in lost.written_in):
        return ()
    block = text.block_of(asking)
    for each in reversed(block[: block.index(asking)]):
        if all(_runs(text, each, line) for line in lost.written_in):
            first, last = each.lineno, each.end_lineno or each.lineno
            lines = tuple(text.lines[first - 1 : last])
            is_movable = text.is_alone(each) and not any(_uses_gradient(text, each, line) for line in lost.written_in)
            behind = (asking.end_lineno or asking.lineno) + 1
            return (Edit(first, last - first + 1, ()), Edit(behind, 0, lines)) if is_movable else ()
        if not owner_of_call(each, "zero_grad") and not owner_of_call(each, "clear_grad"):
            return ()
    return ()


def _runs(text: ProgramText, statement: ast.stmt, line: ProgramLine) -> bool:
    """Return True if a statement contains a line, or calls the function around the line and ignores its result."""
    if statement.lineno <= line.number <= (statement.end_lineno or 0):
        return isinstance(statement, (ast.Expr, ast.For, ast.With, ast.AugAssign, ast.Assign))
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = name_of(call.func) if isinstance(call, ast.Call) else ""
    return bool(name) and name == line.function and text.function_at(line.number) is not None


def _uses_gradient(text: ProgramText, statement: ast.stmt, line: ProgramLine) -> bool:
    function = text.function_at(line.number)
    is_inside = statement.lineno <= line.number <= (statement.end_lineno or 0)
    return ".grad" in ast.unparse(statement if is_inside or function is None else function)


def owner_of_call(statement: ast.stmt, method: str) -> str:
    """Return the object whose method a statement calls without arguments, or ""."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return owner_of(call) if isinstance(call, ast.Call) and not call.args and name_of(call.func) == method else ""
