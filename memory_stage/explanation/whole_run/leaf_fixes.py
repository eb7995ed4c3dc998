"""Fixes for a write into a leaf between a forward pass and its backward pass, for every framework."""

from __future__ import annotations

import ast

from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, name_of, owner_of
from memory_stage.explanation.whole_run.write_fixes import OverwrittenValue
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine


def fix_leaf_write(lost: OverwrittenValue) -> Fix:
    """Return the fix that moves the write behind the backward pass, so that the pass reads the old numbers."""
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
    """Return the edits that move the writing statement behind the backward pass in the same block; () if none may.

    Only calls of ``zero_grad`` or ``clear_grad`` may lie between the two, and the write may not use a gradient.
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
