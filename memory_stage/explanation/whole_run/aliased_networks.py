"""Diagnose networks of PyTorch that share their parameters, and new parameters that no optimizer received."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import message


def diagnose_end(variables: dict[str, Any], file: str) -> Iterator[Fault]:
    """Yield a fault for each loop that moves a network towards another if their parameters share memory."""
    text = ProgramText(file)
    for loop in text.statements():
        pair = _paired(loop)
        if pair is None:
            continue
        moved, source = (variables.get(name) for name in pair)
        if not isinstance(moved, torch.nn.Module) or not isinstance(source, torch.nn.Module):
            continue
        both = list(zip(moved.parameters(), source.parameters(), strict=False))
        if not both or any(x.data_ptr() != y.data_ptr() or not x.numel() for x, y in both):
            continue
        made = [each for each in text.statements() if isinstance(each, ast.Assign) and _makes_alias(each, *pair)]
        if made:
            yield _fault(text, pair, made, loop, moved is source)


def _paired(statement: ast.stmt) -> tuple[str, str] | None:
    """Return ``("target", "net")`` for ``for t, p in zip(target.parameters(), net.parameters())``, or None.

    The body of the loop writes in place into the parameters of the first network and reads those of the second.
    """
    if not isinstance(statement, ast.For) or not isinstance(statement.target, ast.Tuple):
        return None
    call = statement.iter
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "zip" or len(call.args) != 2:
        return None
    owners = [ast.unparse(each).removesuffix(".parameters()") for each in call.args]
    targets = [ast.unparse(each) for each in statement.target.elts]
    if not all(each.isidentifier() for each in (*owners, *targets)) or len(targets) != 2:
        return None
    moved = 0 if _writes(statement.body, *targets) else 1 if _writes(statement.body, *reversed(targets)) else -1
    return None if moved < 0 else (owners[moved], owners[1 - moved])


def _writes(body: list[ast.stmt], moved: str, source: str) -> bool:
    """Return True if a statement writes into the variable ``moved`` in place and reads ``source``."""
    for each in body:
        call = each.value if isinstance(each, ast.Expr) else None
        names = [ast.unparse(node) for node in ast.walk(each) if isinstance(node, ast.Name)]
        is_in_place = (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")
        )
        if is_in_place and names and source in names and ast.unparse(each).startswith(f"{moved}."):
            return True
    return False


def _makes_alias(statement: ast.Assign, moved: str, source: str) -> bool:
    """Return True for ``target = net``, and for ``target.weight.data = net.weight.data``."""
    target, value = ast.unparse(statement.targets[0]), ast.unparse(statement.value)
    if (target, value) == (moved, source):
        return True
    is_part = target.startswith(f"{moved}.") and value.startswith(f"{source}.")
    return is_part and target.removeprefix(moved) == value.removeprefix(source)


def _fault(text: ProgramText, names: tuple[str, str], made: list[ast.Assign], loop: ast.stmt, is_same: bool) -> Fault:
    moved, source = names
    edits: tuple[Edit, ...] = ()
    if all(ast.unparse(each.targets[0]).endswith(".data") for each in made):
        edits = tuple(edit for each in made for edit in text.wrapped(each.value, "{}.clone()"))
    elif len(made) == 1 or not is_same:  # a module refuses a parameter that is no `Parameter`, such as a clone
        for each in made:
            imports = () if edits or text.has(r"^import (.*, )?copy\b") else ("import copy",)
            source_of = f"{ast.unparse(each.targets[0])} = copy.deepcopy({ast.unparse(each.value)})"
            edits = (*edits, *text.replace(each, *imports, source_of))
    giving = message("gives `{copy}` the parameters of `{original}`", copy=moved, original=source)
    moving = message("moves the parameters towards themselves")
    verdict = message(
        "`{copy}` is not a copy of `{original}`: line {line} gives it the same parameters, so each step of the "
        "optimizer changes both.",
        copy=moved,
        original=source,
        line=made[0].lineno,
    )
    sentence = message("Copy the network.") if is_same else message("Copy the numbers.")
    return Fault(
        "shared",
        verdict,
        (Evidence(text.line_of(made[0]), giving), Evidence(text.line_of(loop), moving)),
        message("An assignment copies no tensor."),
        (Fix(sentence, text.file, edits),),
        is_silent=True,
    )


def diagnose_replaced(variables: dict[str, Any], file: str) -> Iterator[Fault]:
    """Yield a fault for each statement that replaced a part of a module, if no optimizer received the new part.

    The replacement is a fault only if backward() reached the new parameters, no optimizer has them, an optimizer has
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
                yield _replaced(text, f"{name}.{path}", statement, optimizer)


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


def _replaced(text: ProgramText, name: str, statement: ast.stmt, optimizer: ast.stmt) -> Fault:
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
