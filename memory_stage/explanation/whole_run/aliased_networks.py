"""Diagnose a second network, such as a target network, that shares the parameters of the first one."""

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

    The body of the loop writes in place into the parameters of the network returned first, and reads the other's.
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
    if is_same and len(made) == 1:
        imports = () if text.has(r"^import (.*, )?copy\b") else ("import copy",)
        edits = text.replace(made[0], *imports, f"{moved} = copy.deepcopy({source})")
    elif not is_same:
        edits = tuple(edit for each in made for edit in text.wrapped(each.value, "{}.clone()"))
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
