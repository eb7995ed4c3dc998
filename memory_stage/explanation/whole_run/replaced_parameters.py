"""Diagnose parameters of PyTorch that a program replaced after an optimizer received the old ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import message


def diagnose_end(variables: dict[str, Any], file: str) -> Iterator[Fault]:
    """Yield a fault for each statement that replaced a part of a module, if no optimizer received the new part.

    The replacement is a fault only if backward has reached the new parameters, no optimizer has them, an optimizer has
    parameters that no module has, and the same block made an optimizer before.
    """
    optimizers = [each for each in variables.values() if isinstance(each, torch.optim.Optimizer)]
    modules = {name: each for name, each in variables.items() if isinstance(each, torch.nn.Module)}
    owned = {id(p) for each in modules.values() for p in each.parameters()}
    given = {id(p): p for each in optimizers for group in each.param_groups for p in group["params"]}
    if all(key in owned for key in given):
        return
    text = ProgramText(file)
    found: set[int] = set()
    for name, module in modules.items():
        for path, parameter in module.named_parameters():
            if id(parameter) in given or parameter.grad is None:
                continue
            statement = _replacing(text, name, path)
            optimizer = None if statement is None else _optimizer_before(text, statement, optimizers)
            if statement is not None and optimizer is not None and statement.lineno not in found:
                found.add(statement.lineno)
                yield _fault(text, f"{name}.{path}", statement, optimizer)


def _replacing(text: ProgramText, name: str, path: str) -> ast.Assign | None:
    """Return the statement ``name.part = ...`` that assigned the part with the parameter ``path``, or None."""
    whole = f"{name}.{path}"
    for each in text.statements():
        target = ast.unparse(each.targets[0]) if isinstance(each, ast.Assign) else ""
        if isinstance(each, ast.Assign) and "." in target and (whole == target or whole.startswith(f"{target}.")):
            return each
    return None


def _optimizer_before(text: ProgramText, statement: ast.stmt, optimizers: list[Any]) -> ast.stmt | None:
    """Return the statement that made an optimizer in the same block, before ``statement``; or None."""
    kinds = {type(each).__name__ for each in optimizers}
    block = text.block_of(statement)
    for each in block[: block.index(statement)]:
        value = each.value if isinstance(each, ast.Assign) else None
        if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in kinds:
            return each
    return None


def _fault(text: ProgramText, name: str, statement: ast.stmt, optimizer: ast.stmt) -> Fault:
    made, replaced = (text.line_of(each) for each in (optimizer, statement))
    edits: tuple[Edit, ...] = ()
    if text.is_alone(optimizer) and text.is_alone(statement):
        edits = (*text.replace(optimizer), *text.insert_after(statement, ast.unparse(optimizer)))
    verdict = message(
        "Line {line} replaces `{name}` after the optimizer of line {made} received the old parameter, so the new one "
        "is never updated.",
        line=statement.lineno,
        name=name,
        made=optimizer.lineno,
    )
    reason = message("An optimizer refers to parameters, and not to the attributes of a module.")
    return Fault(
        "replaced",
        verdict,
        (
            Evidence(made, message("receives the parameters of that moment")),
            Evidence(replaced, message("replaces `{name}`", name=name)),
        ),
        reason,
        (Fix(message("Make the optimizer after the replacement."), text.file, edits),),
        is_silent=True,
    )
