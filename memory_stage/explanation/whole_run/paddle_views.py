"""Diagnose a write through a result that shares the memory of its argument, such as that of Paddle's ``transpose``."""

from __future__ import annotations

import ast
from typing import Any

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, target_of
from memory_stage.messages import message
from memory_stage.watch.paddle.paddle_calls import SharedView
from memory_stage.watch.paddle.paddle_run import WatchedPaddleRun


def diagnose_end(run: WatchedPaddleRun, variables: dict[str, Any]) -> list[Fault]:
    """Return a fault for each line that changed a tensor by writing into a view of the tensor.

    The write is a fault only if a variable still refers to the tensor, and the program reads it after the write.
    """
    found, seen = [], set()
    for view in run.calls.views.values():
        if not view.written or (view.line, view.written) in seen:
            continue
        seen.add((view.line, view.written))
        fault = _fault(run, view, variables)
        if fault is not None:
            found.append(fault)
    return found


def _fault(run: WatchedPaddleRun, view: SharedView, variables: dict[str, Any]) -> Fault | None:
    made, written = run.calls.lines[view.line], run.calls.lines[view.written]
    text = ProgramText(made.file)
    write = ProgramText(written.file).statement_at(written.number)
    target = target_of(write) if write is not None else ""
    names = [
        name
        for name, x in named_tensors.in_variables(variables, run.calls.is_tensor)
        if run.calls.state(x).address == view.base.address and name != target
    ]
    base = named_tensors.shortest(names)
    if not base or not target or not _is_read_after(text, base, written.number):
        return None
    calls = [each for each in text.calls(view.operation) if each.lineno == made.number]
    edits = text.wrapped(calls[0], "{}.clone()") if len(calls) == 1 else ()
    verdict = message(
        "Line {line} writes into `{target}` and changes `{base}`, too, because `{operation}` in line {made} copies "
        "nothing.",
        line=written.number,
        target=target,
        base=base,
        operation=view.operation,
        made=made.number,
    )
    getting = message("`{target}` gets the memory of `{base}`", target=target, base=base)
    reason = message(
        "In Paddle `{operation}` returns a view: other strides over the same memory.", operation=view.operation
    )
    copying = message("If `{base}` should keep its numbers, write into a copy.", base=base)
    leaving = message(
        "If both should change, the program is right. Write `{base}[...] = ...` to make that visible.", base=base
    )
    return Fault(
        "shared",
        verdict,
        (Evidence(made, getting), Evidence(written, message("writes into both"))),
        reason,
        (Fix(copying, text.file, edits), Fix(leaving)),
    )


def _is_read_after(text: ProgramText, name: str, line: int) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name.partition(".")[0].partition("[")[0] and node.lineno > line
        for statement in text.statements()
        for node in ast.walk(statement)
    )
