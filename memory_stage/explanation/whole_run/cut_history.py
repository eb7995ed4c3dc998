"""Find the expression of a program that has cut the history of a loss: ``.data``, ``detach()``, ``torch.tensor``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from memory_stage.explanation.whole_run.faults import Evidence, Fix
from memory_stage.explanation.whole_run.program_text import (
    ProgramText,
    assigned_names,
    differentiated,
    names_in,
)
from memory_stage.explanation.whole_run.refused_statement import RefusedStatement
from memory_stage.watch.lines import ProgramLine

#: How a loss may lose its history; ``tensor`` and its like are functions that copy numbers.
_ATTRIBUTES, _METHODS = ("data",), ("detach", "item", "tolist", "numpy")
_COPYING = ("tensor", "as_tensor", "Tensor", "FloatTensor")


def fixes_of_cut_history(of: RefusedStatement) -> list[Fix]:
    """Return the fix that keeps the history of the tensor from which a statement runs backward; [] if none is found."""
    cut = _cut(of)
    if cut is None:
        return []
    node, base = cut
    sentence = f"Line {node.lineno} drops the history of `{base}`. Compute the loss from `{base}` itself."
    source = ast.unparse(node)
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    if isinstance(node, ast.Attribute) or (is_method and source == f"{base}.detach()"):
        return [of.fix(sentence, of.text.wrapped(node, base))]
    return [Fix(sentence)]


def evidence_of_cut_history(of: RefusedStatement) -> tuple[Evidence, ...]:
    """Return the line that drops the history of a loss, as evidence; () if none is found."""
    cut = _cut(of)
    if cut is None:
        return ()
    node, base = cut
    return (Evidence(ProgramLine(of.text.file, node.lineno, of.line.function), f"drops the history of `{base}`"),)


def _cut(of: RefusedStatement) -> tuple[ast.expr, str] | None:
    """Return the last expression that drops the history of a value on the way to the loss, and the value."""
    root = "" if of.statement is None else differentiated(of.statement)
    if not root:
        return None
    needed = {root}
    for statement in _before(of.text, of.line.number):
        if not assigned_names(statement) & needed:
            continue
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr):
            return None
        for node in reversed(list(ast.walk(value))):  # the innermost first
            base = _base_of_cut(node)
            if base and any(_has_history(of.variable(name)) for name in names_in(ast.parse(base))):
                return node, base  # type: ignore[return-value]  # it is an expression
        needed |= names_in(value)
    return None


def _before(text: ProgramText, line: int) -> Iterator[ast.stmt]:
    """Yield the assignments before a line in the same function, the last first."""
    function = text.function_at(line)
    found = [
        each
        for each in text.statements()
        if isinstance(each, (ast.Assign, ast.AugAssign))
        and each.lineno < line
        and text.function_at(each.lineno) is function
    ]
    yield from sorted(found, key=lambda each: each.lineno, reverse=True)


def _base_of_cut(node: ast.AST) -> str:
    """Return the tensor, or the tensors, whose history an expression drops, or ""."""
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        return ast.unparse(node.value)
    if not isinstance(node, ast.Call):
        return ""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in _COPYING and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node.func.value) if name in _METHODS and isinstance(node.func, ast.Attribute) else ""


def _has_history(value: Any) -> bool:
    values = value if isinstance(value, (list, tuple)) else [value]
    return any(bool(getattr(each, "requires_grad", False)) for each in values)
