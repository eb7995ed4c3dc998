"""Diagnose variables that refer several times to one tensor or one memory, although several tensors are meant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, owner_of, target_of
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine

FEWEST_ENTRIES = 3

_GRADIENT = message(
    "A backward pass adds in place to the tensor that `.grad` refers to, so every name of that tensor shows the new "
    "sum."
)


def diagnose_gradients(
    variables: dict[str, Any], file: str, is_tensor: Callable[[Any], bool], passes: set[tuple[str, int]]
) -> list[Fault]:
    """Return a fault for each variable that refers to one gradient twice, or to a gradient that a later pass changed.

    Args:
        passes: files and lines of the backward passes.
    """
    found = dict(named_tensors.in_variables(variables, is_tensor))
    leaves = {id(x.grad): name for name, x in found.items() if _is_leaf(x) and x.grad is not None}
    names: dict[str, dict[int, list[str]]] = {}
    for name, x in found.items():
        if id(x) in leaves:
            root = name.partition("[")[0]
            names.setdefault(root, {}).setdefault(id(x), []).append(name)
    text = ProgramText(file)
    faults: list[Fault] = []
    for root, by_tensor in names.items():
        repeated = next((paths for paths in by_tensor.values() if len(paths) > 1), None)
        if repeated is not None:
            faults += _repeated_gradient(text, root, repeated, leaves[id(found[repeated[0]])])
        elif all(paths == [root] for paths in by_tensor.values()):
            faults += _changed_gradient(text, root, leaves[next(iter(by_tensor))], passes)
    return faults


def _is_leaf(x: Any) -> bool:
    try:
        return bool(x.is_leaf)
    except RuntimeError:  # a view whose history is invalid since a write to its base
        return False


def _repeated_gradient(text: ProgramText, root: str, paths: list[str], leaf: str) -> Iterator[Fault]:
    """Yield a fault if a line of the program stores the gradients in ``root``."""
    statements = [each for each in text.statements() if _keeps(each, root) and any(_gradients(each))]
    if not statements:
        return
    verdict = message(
        "`{first}` and `{second}` are one tensor, the gradient of `{leaf}`: each backward pass has changed both.",
        first=paths[0],
        second=paths[1],
        leaf=leaf,
    )
    role = message("keeps the gradient itself in `{name}`", name=root)
    yield Fault(
        "shared",
        verdict,
        (Evidence(text.line_of(statements[0]), role),),
        _GRADIENT,
        (_copied(text, statements),),
        is_silent=True,
    )


def _changed_gradient(text: ProgramText, name: str, leaf: str, passes: set[tuple[str, int]]) -> Iterator[Fault]:
    """Yield a fault if top-level code stores a gradient in a variable, runs backward, and reads the variable."""
    kept = [
        each
        for each in text.statements()
        if isinstance(each, ast.Assign) and _keeps(each, name) and any(_gradients(each))
    ]
    if len(kept) != 1 or text.function_at(kept[0].lineno) is not None or text.blocks_around(kept[0].lineno):
        return
    first = kept[0].lineno
    reads = [
        node.lineno
        for statement in text.statements()
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    between = sorted(line for file, line in passes if file == text.file and first < line)
    if not between or not any(line > between[0] for line in reads):
        return
    last = min(line for line in reads if line > between[0])
    verdict = message(
        "`{name}` is the gradient of `{leaf}` itself: the backward pass in line {line} has changed it.",
        name=name,
        leaf=leaf,
        line=between[0],
    )
    naming = message("gives the gradient the name `{name}`", name=name)
    yield Fault(
        "shared",
        verdict,
        (
            Evidence(ProgramLine(text.file, first, ""), naming),
            Evidence(ProgramLine(text.file, between[0], ""), message("adds to it")),
            Evidence(ProgramLine(text.file, last, ""), message("reads the sum")),
        ),
        _GRADIENT,
        (_copied(text, kept),),
        is_silent=True,
    )


def _copied(text: ProgramText, statements: Sequence[ast.stmt]) -> Fix:
    gradients = [each for statement in statements for each in _gradients(statement)]
    edits = text.wrapped(gradients[0], "{}.clone()") if len(gradients) == 1 else ()
    return Fix(message("Keep a copy of the gradient."), text.file, edits)


def _gradients(statement: ast.stmt) -> Iterator[ast.Attribute]:
    """Yield the expressions ``x.grad`` whose value a statement keeps."""
    inner = {
        id(each.value) for each in ast.walk(statement) if isinstance(each, (ast.Attribute, ast.Subscript, ast.BinOp))
        and hasattr(each, "value")
    }  # fmt: skip
    for each in ast.walk(statement):
        is_read = isinstance(each, ast.Attribute) and each.attr == "grad" and isinstance(each.ctx, ast.Load)
        if is_read and id(each) not in inner and not _is_compared(statement, each):
            yield each  # type: ignore[misc]  # it is an attribute


def _is_compared(statement: ast.stmt, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Compare) and node in ast.walk(each) for each in ast.walk(statement))


def _keeps(statement: ast.stmt, root: str) -> bool:
    """Return True for ``root = ...``, ``root[i] = ...`` and ``root.append(...)``."""
    if isinstance(statement, ast.Assign):
        target: Any = statement.targets[0]
        while isinstance(target, ast.Subscript):
            target = target.value
        return len(statement.targets) == 1 and ast.unparse(target) == root
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        is_kept = isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert", "update")
        return is_kept and ast.unparse(function.value) == root  # type: ignore[attr-defined]  # checked above
    return False


def diagnose_repeated(variables: dict[str, Any], file: str, is_tensor: Callable[[Any], bool]) -> list[Fault]:
    """Return a fault for each list ``[tensor] * n`` if a line writes into one of its entries."""
    text, found = ProgramText(file), []
    for name, value in list(variables.items()):
        if type(value) is not list or len(value) < 2 or not is_tensor(value[0]) or value[0] is not value[1]:
            continue
        made = [each for each in text.statements() if isinstance(each, ast.Assign) and _repeats(each, name)]
        writes = (
            [each for each in text.statements() if target_of(each) == name and each.lineno > made[0].lineno]
            if made
            else []
        )
        if len(made) == 1 and writes:
            found.append(_repeated_list(text, name, made[0], writes[0]))
    return found


def diagnose_shared_entries(
    variables: dict[str, Any],
    file: str,
    is_tensor: Callable[[Any], bool],
    imported_in: Callable[[Any], ProgramLine | None],
) -> list[Fault]:
    """Return a fault for each list whose entries are different tensors on the memory of one array of NumPy.

    Args:
        imported_in: returns the line that made a tensor share an array; None if the tensor shares none.
    """
    text, found = ProgramText(file), []
    for name, value in list(variables.items()):
        if type(value) is not list or len(value) < FEWEST_ENTRIES or not all(map(is_tensor, value)):
            continue
        if len({(x.data_ptr(), tuple(x.shape)) for x in value}) > 1 or len({id(x) for x in value}) < len(value):
            continue
        line = imported_in(value[0])
        calls = [each for each in text.calls("append") if owner_of(each) == name and each.args]
        if line is None or not value[0].numel() or len(calls) != 1:
            continue
        is_import = any("from_numpy" in ast.unparse(each) or "as_tensor" in ast.unparse(each) for each in calls)
        edits = text.wrapped(calls[0].args[0], "{}.clone()") if is_import else ()
        verdict = message(
            "All {count} entries of `{name}` share the memory of one array of NumPy, so each entry has the array's "
            "last numbers.",
            count=f"{len(value):,}",
            name=name,
        )
        reason = message(
            "`from_numpy` copies nothing: a later write to the array changes every tensor that was made from it."
        )
        found.append(
            Fault(
                "shared",
                verdict,
                (Evidence(line, message("makes a tensor on the array's memory")),),
                reason,
                (Fix(message("Keep a copy in the list."), text.file, edits),),
                is_silent=True,
            )
        )
    return found


def _repeats(statement: ast.Assign, name: str) -> bool:
    value = statement.value
    is_product = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and isinstance(value.left, ast.List)
    return is_product and len(value.left.elts) == 1 and ast.unparse(statement.targets[0]) == name  # type: ignore[attr-defined]


def _repeated_list(text: ProgramText, name: str, made: ast.Assign, write: ast.stmt) -> Fault:
    value: Any = made.value
    element = ast.unparse(value.left.elts[0])
    element = element if isinstance(value.left.elts[0], ast.Call) else f"{element}.clone()"
    edits = text.wrapped(value, f"[{element} for _ in range({ast.unparse(value.right)})]")
    verdict = message(
        "Line {line} writes into all entries of `{name}`, because line {made} made a list that repeats one tensor.",
        line=write.lineno,
        name=name,
        made=made.lineno,
    )
    return Fault(
        "shared",
        verdict,
        (
            Evidence(text.line_of(made), message("repeats one tensor")),
            Evidence(text.line_of(write), message("writes into one entry, and so into each")),
        ),
        message("`[x] * n` repeats the reference to `x` and copies nothing."),
        (Fix(message("Make a tensor for each entry."), text.file, edits),),
        is_silent=True,
    )
