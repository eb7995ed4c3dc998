"""Diagnose averages or copies of parameters that still share the parameters' memory."""

from __future__ import annotations

import ast
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, name_of
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine

MOST_ENTRIES = 64

_REASON = message("`.data` and `detach()` copy nothing: the tensor that they return uses the memory of the parameter.")
_REASON_OF_STATE = message("`state_dict()` copies no tensor.")


@dataclass(frozen=True)
class _Container:
    """A dict or a list of tensors.

    Attributes:
        path: the code that reaches it, such as ``ema.shadow``.
        file: the file whose code fills it.
        entries: the tensors.
    """

    path: str
    file: str
    entries: tuple[torch.Tensor, ...]

    @property
    def name(self) -> str:
        """The last part of the path: ``shadow`` for ``ema.shadow``, which is ``self.shadow`` in methods of ``ema``."""
        return self.path.rpartition(".")[2]


def diagnose_end(variables: dict[str, Any], file: str) -> Iterator[Fault]:
    """Yield a fault for each dict or list that holds aliases of parameters that the program treats as copies.

    The program does so if it updates an entry in place from the parameter, or copies the entries into the parameters.
    """
    owned = {x.data_ptr(): x for x in _trained(variables) if x.layout is torch.strided and x.numel()}
    seen: set[tuple[int, ...]] = set()
    for each in sorted(_containers(variables, file), key=lambda found: found.path.count(".")):
        key = tuple(map(id, each.entries))
        if key in seen or not all(_is_alias(x, owned.get(x.data_ptr())) for x in each.entries):
            continue
        seen.add(key)
        text = ProgramText(each.file)
        kept = [found for statement in text.statements() for found in _stored_aliases(text, statement, each.name)]
        if not kept:
            continue
        averaged = next((one for one in text.statements() if _averages(text, one, each.name)), None)
        restored = next((one for one in text.statements() if _restores(one, each.name)), None)
        is_loaded = restored is not None and "load_state_dict" in ast.unparse(restored)
        if is_loaded and any(is_state for _, is_state in kept):
            restored = None  # the class `StateDicts` reports this call of load_state_dict while the program runs
        if averaged is not None or restored is not None:
            yield _fault(text, each, kept, averaged, restored)


def _trained(variables: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Yield the parameters that an optimizer updates or that have a gradient, and the buffers of their modules."""
    optimizers = [each for each in variables.values() if isinstance(each, torch.optim.Optimizer)]
    updated = {id(p) for each in optimizers for group in each.param_groups for p in group["params"]}
    for module in [each for each in variables.values() if isinstance(each, torch.nn.Module)]:
        trained = [p for p in module.parameters() if id(p) in updated or p.grad is not None]
        yield from trained
        yield from module.buffers() if trained else ()


def _is_alias(x: torch.Tensor, parameter: torch.Tensor | None) -> bool:
    return parameter is not None and x is not parameter and x.shape == parameter.shape


def _containers(variables: dict[str, Any], file: str) -> Iterator[_Container]:
    """Yield the dicts and lists of tensors among the variables, and among the attributes of objects."""
    for name, value in list(variables.items()):
        if name.startswith("_") or isinstance(value, (type, ModuleType)):
            continue
        yield from _container(name, file, value)
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict and len(attributes) <= MOST_ENTRIES:
            module = type(value).__module__
            source = file if module == "__main__" else getattr(sys.modules.get(module), "__file__", None)
            for key, entry in list(attributes.items()):
                if type(key) is str and not key.startswith("_") and source:
                    yield from _container(f"{name}.{key}", source, entry)


def _container(path: str, file: str, value: Any) -> Iterator[_Container]:
    if type(value) not in (dict, list, OrderedDict):
        return
    entries = tuple(value if type(value) is list else value.values())[:MOST_ENTRIES]
    if entries and all(isinstance(x, torch.Tensor) and x.layout is torch.strided and x.numel() for x in entries):
        yield _Container(path, file, entries)


# ---------- statements of the program ----------


def _stored_aliases(text: ProgramText, statement: ast.stmt, name: str) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the aliases, such as ``p.data``, that a statement stores in the dict or list ``name``.

    The bool beside an alias is True if it is a state dict or an entry of a state dict.
    """
    values: list[ast.expr] = []
    of_state = {id(each) for each in _values_of_state_dicts(text, statement)}
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        both = isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
        pairs = zip(target.elts, statement.value.elts, strict=False) if both else [(target, statement.value)]  # type: ignore[attr-defined]
        for part, value in pairs:
            if isinstance(part, ast.Subscript) and name_of(part.value) == name:
                values.append(value)
            elif name_of(part) == name and isinstance(value, ast.DictComp):
                values.append(value.value)
            elif name_of(part) == name and isinstance(value, ast.ListComp):
                values.append(value.elt)
            elif name_of(part) == name and isinstance(value, ast.Call):
                values.append(value)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.args:
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr == "append" and name_of(function.value) == name:
            values.append(statement.value.args[0])
    for each in values:
        is_data = isinstance(each, ast.Attribute) and each.attr == "data"
        if is_data or (isinstance(each, ast.Call) and name_of(each.func) == "detach" and not each.args):
            yield each, False
        elif id(each) in of_state:
            yield each, True


def _values_of_state_dicts(text: ProgramText, statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions that are a state dict, a shallow copy of one, or a loop variable for its entries."""
    loops = [(each.target, each.iter) for each in text.loops_around(statement.lineno)]
    comprehensions = [each for each in ast.walk(statement) if isinstance(each, ast.comprehension)]
    loops += [(each.target, each.iter) for each in comprehensions]
    pairs = [target for target, source in loops if _is_state_dict(source, "items") and isinstance(target, ast.Tuple)]
    single = [target for target, source in loops if _is_state_dict(source, "values")]
    names = {name_of(each) for each in (*single, *(pair.elts[-1] for pair in pairs))}
    for each in ast.walk(statement):
        if isinstance(each, ast.Name) and each.id in names and isinstance(each.ctx, ast.Load):
            yield each
        elif isinstance(each, ast.Call):
            copied = each.args[0] if name_of(each.func) in ("dict", "OrderedDict") and each.args else each
            if _is_state_dict(copied):
                yield each


def _is_state_dict(expression: ast.expr, method: str = "") -> bool:
    """Return True for ``net.state_dict()``; with a ``method``, such as "items", for ``net.state_dict().items()``."""
    if method and isinstance(expression, ast.Call) and name_of(expression.func) == method:
        return isinstance(expression.func, ast.Attribute) and _is_state_dict(expression.func.value)
    return not method and isinstance(expression, ast.Call) and name_of(expression.func) == "state_dict"


def _averages(text: ProgramText, statement: ast.stmt, name: str) -> bool:
    """Return True if a statement writes in place into an entry of ``name``, with numbers from the parameter."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        written, given = _written_by(statement.value)
    elif isinstance(statement, ast.AugAssign):
        written, given = statement.target, [statement.value]
    else:
        return False
    entries, parameters = _loop_names(text, statement.lineno, name)
    root = written.value if isinstance(written, ast.Subscript) else written
    if name_of(root) != name and not (isinstance(root, ast.Name) and root.id in entries):
        return False
    for each in _assignments_before(text, statement):
        if _reads(each.value, parameters):
            parameters |= {name_of(target) for target in each.targets} - {""}
    return any(_reads(each, parameters) for each in given)


def _written_by(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """Return the tensor that a chain of in-place calls writes, with the arguments of all these calls."""
    given: list[ast.expr] = []
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not node.func.attr.endswith("_"):
            return None, []
        given += node.args
        node = node.func.value
    return node, given


def _loop_names(text: ProgramText, line: int, name: str) -> tuple[set[str], set[str]]:
    """Return the variables of the loops around a line: those for entries of a container, and those for parameters."""
    entries: set[str] = set()
    parameters: set[str] = set()
    for loop in text.loops_around(line):
        call = loop.iter
        is_zip = isinstance(call, ast.Call) and name_of(call.func) == "zip" and isinstance(loop.target, ast.Tuple)
        pairs = zip(loop.target.elts, call.args, strict=False) if is_zip else [(loop.target, call)]  # type: ignore[attr-defined]
        for target, source in pairs:
            words = ast.unparse(source)
            names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
            if "parameters()" in words or "state_dict()" in words:
                parameters |= names
            elif name in {name_of(each) for each in ast.walk(source)}:
                entries |= names
    return entries, parameters


def _assignments_before(text: ProgramText, statement: ast.stmt) -> list[ast.Assign]:
    block = text.block_of(statement)
    return [each for each in block[: block.index(statement)] if isinstance(each, ast.Assign)]


def _reads(expression: ast.AST, names: set[str]) -> bool:
    """Return True if an expression reads one of these variables, except in an index or before ``.grad``."""
    if isinstance(expression, ast.Name):
        return expression.id in names
    if isinstance(expression, ast.Attribute) and expression.attr == "grad":
        return False
    if isinstance(expression, ast.Subscript):
        return _reads(expression.value, names)
    return any(_reads(each, names) for each in ast.iter_child_nodes(expression))


def _restores(statement: ast.stmt, name: str) -> bool:
    """Return True if a statement copies an entry, as in ``p.copy_(best[n])``, or loads the whole dict."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args or not isinstance(call.func, ast.Attribute):
        return False
    given = call.args[0]
    if call.func.attr == "load_state_dict":
        return name_of(given) == name
    return call.func.attr == "copy_" and isinstance(given, ast.Subscript) and name_of(given.value) == name


# ---------- the fault ----------


def _fault(
    text: ProgramText,
    of: _Container,
    kept: list[tuple[ast.expr, bool]],
    averaged: ast.stmt | None,
    restored: ast.stmt | None,
) -> Fault:
    lines = [text.line_of(each) for each, _ in kept]
    evidence = [Evidence(lines[0], message("keeps the memory of the parameters in `{name}`", name=of.path))]
    if averaged is not None:
        verdict = message(
            "`{name}` is not an average: line {kept} keeps the parameters' own memory in it, so each step of the "
            "optimizer changes it, and line {line} changes the parameters.",
            name=of.path,
            kept=lines[0].number,
            line=averaged.lineno,
        )
        evidence.append(Evidence(text.line_of(averaged), message("writes into the parameters themselves")))
    else:
        number = restored.lineno if restored is not None else 0
        verdict = message(
            "Line {line} restores nothing: line {kept} keeps the parameters' own memory in `{name}`, and they have "
            "been trained further.",
            line=number,
            kept=lines[0].number,
            name=of.path,
        )
        role = message("copies the parameters onto themselves")
        evidence.append(Evidence(ProgramLine(text.file, number, ""), role))
    copied = "{{k: v.clone() for k, v in {}.items()}}"
    patterns = [copied if is_state and isinstance(each, ast.Call) else "{}.clone()" for each, is_state in kept]
    edits = tuple(edit for (each, _), x in zip(kept, patterns, strict=True) for edit in text.wrapped(each, x))
    reason = _REASON_OF_STATE if kept[0][1] else _REASON
    fix = Fix(message("Copy the numbers in the line that keeps them."), text.file, edits)
    return Fault("shared", verdict, evidence, reason, (fix,), is_silent=True)
