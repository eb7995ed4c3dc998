"""Find the expression that dropped the history of a loss: ``.data``, ``detach()``, ``torch.tensor`` or ``grad``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from memory_stage.explanation.whole_run import program_text
from memory_stage.explanation.whole_run.faults import Evidence, Fix
from memory_stage.explanation.whole_run.refused_writes import RefusedStatement
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine

#: Attributes, methods and functions whose result has the numbers of a tensor without its history.
_ATTRIBUTES, _METHODS = ("data",), ("detach", "item", "tolist", "numpy")
_DIFFERENTIATING = ("torch.autograd.grad", "autograd.grad", "grad")
#: Functions whose results have no history, like those of comparisons.
_WITHOUT_HISTORY = ("argmax", "argmin", "argsort", "eq", "ne", "gt", "ge", "lt", "le", "isclose", "nonzero")
_COPYING = ("tensor", "as_tensor", "Tensor", "FloatTensor")

STACK = message("`torch.stack` joins the results and keeps their histories.")


def fixes_of_cut_history(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that keeps the history of the tensor whose ``backward`` was refused; [] if none is found."""
    cut = _cut(refused)
    if cut is None:
        return []
    node, base = cut
    sentence = message(
        "Line {line} drops the history of `{name}`. Compute the loss from `{name}` itself.", line=node.lineno, name=base
    )
    if isinstance(node, ast.Call) and program_text.name_of(node.func) == "grad":
        sentence = message(
            "Pass `create_graph=True` in line {line}: the gradient then has a history, and backward can follow it.",
            line=node.lineno,
        )
        kept = [each for each in node.keywords if each.arg != "create_graph"]
        keywords = [*kept, ast.keyword("create_graph", ast.Constant(True))]
        source = ast.unparse(ast.Call(node.func, node.args, keywords))
        return [refused.fix(sentence, refused.text.replaced(node, source))]
    source = ast.unparse(node)
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    tensor = program_text.in_parentheses(ast.parse(base, mode="eval").body, base)
    if isinstance(node, ast.Attribute) or (is_method and source == f"{base}.detach()"):
        return [refused.fix(sentence, refused.text.replaced(node, tensor))]
    joined = _joined(refused, node)
    if joined:
        return [refused.fix(STACK, refused.text.replaced(node, joined))]
    return [refused.fix(sentence)]


def _joined(refused: RefusedStatement, node: ast.expr) -> str:
    """Return the call of ``torch.stack`` that joins a list of results; "" unless each is known to be one number."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return ""
    given = node.args[0]
    parts = given.elts if isinstance(given, ast.List) else [given.elt] if isinstance(given, ast.ListComp) else []
    value = refused.variable(given.id) if isinstance(given, ast.Name) else None
    is_list = isinstance(value, list) and bool(value) and all(getattr(each, "shape", None) == () for each in value)
    is_joined = is_list or (bool(parts) and all(_is_one_number(refused, each) for each in parts))
    return f"torch.stack({ast.unparse(given)})" if is_joined else ""


def _is_one_number(refused: RefusedStatement, part: ast.expr) -> bool:
    """Return True for an expression of a tensor without dimensions: a variable, a sum, a mean, or a loss."""
    if isinstance(part, ast.Name):
        return getattr(refused.variable(part.id), "shape", None) == ()
    if not isinstance(part, ast.Call):
        return False
    name = program_text.name_of(part.func)
    return (name in ("sum", "mean") and not part.args) or name.endswith(("loss", "cross_entropy", "criterion"))


def evidence_of_cut_history(refused: RefusedStatement) -> tuple[Evidence, ...]:
    """Return the line that drops the history of a loss, as evidence; () if none is found."""
    cut = _cut(refused)
    if cut is None:
        return ()
    node, base = cut
    role = message("drops the history of `{name}`", name=base)
    return (Evidence(ProgramLine(refused.text.file, node.lineno, refused.line.function), role),)


def _cut(refused: RefusedStatement) -> tuple[ast.expr, str] | None:
    """Return the last expression that drops a history on the way to the loss, and the tensor that had it; or None."""
    root = "" if refused.statement is None else program_text.differentiated(refused.statement)
    if not root:
        return None
    needed = {root}
    for statement in _before(refused.text, refused.line.number):
        if not program_text.assigned_names(statement) & needed:
            continue
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr):
            return None
        for node in reversed(list(ast.walk(value))):  # the innermost first
            base = _base_of_cut(node)
            if base and any(has_history(refused.variable(name)) for name in names_with_history(ast.parse(base))):
                return node, base  # type: ignore[return-value]  # it is an expression
        needed |= program_text.names_in(value)
    return None


def _before(text: program_text.ProgramText, line: int) -> Iterator[ast.stmt]:
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
    """Return the code of the tensor or tensors whose history an expression drops, or ""."""
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        return ast.unparse(node.value)
    if not isinstance(node, ast.Call):
        return ""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if ast.unparse(node.func) in _DIFFERENTIATING and node.args and not _records(node):
        return ast.unparse(node.args[0])
    if name in _COPYING and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node.func.value) if name in _METHODS and isinstance(node.func, ast.Attribute) else ""


def _records(call: ast.Call) -> bool:
    """Return True unless a call of ``torch.autograd.grad`` is known to return gradients without a history."""
    given = {each.arg: each.value for each in call.keywords}
    return getattr(given.get("create_graph"), "value", "create_graph" in given or None in given) is not False


def names_with_history(node: ast.AST) -> set[str]:
    """Return the names that an expression reads, except in comparisons and in functions such as ``argmax``."""
    called = program_text.name_of(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Compare) or called in _WITHOUT_HISTORY:
        return set()
    own = {node.id} if isinstance(node, ast.Name) else set()
    return own.union(*map(names_with_history, ast.iter_child_nodes(node)))


def has_history(value: Any) -> bool:
    """Return True for a tensor that requires a gradient, a module with such a parameter, or a list with one of them."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return any(bool(getattr(each, "requires_grad", False)) or _is_trained_module(each) for each in values)


def _is_trained_module(value: Any) -> bool:
    parameters = getattr(value, "parameters", None)
    if not callable(parameters) or not isinstance(getattr(value, "_parameters", None), dict):
        return False
    return any(bool(getattr(each, "requires_grad", False)) for each in parameters())


def without_cuts(expression: ast.expr) -> ast.expr:
    """Return a copy of an expression without ``item()``, ``detach()``, ``float`` and the like, which drop a history."""
    return _Uncut().visit(ast.parse(ast.unparse(expression), mode="eval").body)


class _Uncut(ast.NodeTransformer):
    """Removes calls of methods that return numbers without a history."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args:
            return node.func.value
        is_float = isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1
        return node.args[0] if is_float else node
