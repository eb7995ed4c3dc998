"""Fixes for a line that overwrites a tensor before backward() reads it, for every framework."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from memory_stage.explanation.rewrite import out_of_place, respelled_code
from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import (
    ProgramText,
    assigned_names,
    differentiated,
    name_of,
    names_in,
    owner_of,
    target_of,
)
from memory_stage.messages import message, sentences
from memory_stage.recorder.reachable_tensors import own_variables
from memory_stage.watch.lines import ProgramLine

_VIEWS = frozenset(("data", "T", "mT", "view", "detach", "squeeze", "unsqueeze", "narrow", "select"))


@dataclass(frozen=True)
class OverwrittenValue:
    """The facts about a saved tensor that was overwritten.

    Attributes:
        name: the program's name for the tensor, or "".
        is_result: True if the saved tensor is the result of the operation that saved it.
        saved_in: the line that saved the tensor.
        written_in: the lines that overwrote it after that, the earliest first.
        asked_in: the line of the backward pass.
        time: the number of recorded writes before the tensor was saved.
        operation: the name of the first operation that overwrote it.
        is_saved_once: True if only one line saved the tensor.
        is_leaf: True if the tensor has the memory of a trained leaf, such as a parameter.
        library: the name of the framework.
        attribute: the attribute, such as ``ctx.x``, in which a function of the program keeps the tensor; "" for other
            saved tensors. The framework does not compare versions of attributes.
    """

    name: str
    is_result: bool
    saved_in: ProgramLine
    written_in: list[ProgramLine]
    asked_in: ProgramLine
    time: int
    operation: str
    is_saved_once: bool = True
    is_leaf: bool = False
    library: str = "torch"
    attribute: str = ""

    @property
    def is_optimizer_step(self) -> bool:
        """True if the step of an optimizer overwrote the tensor."""
        return bool(self.written_in) and re.search(r"\.step\(", self.written_in[0].text) is not None


def fix_write(lost: OverwrittenValue, frames: list[FrameType], is_shared: Callable[[Any], bool]) -> Iterator[Fix]:
    """Yield the fix that changes the writing line.

    Args:
        is_shared: returns True for a view or a leaf, because other tensors may share its memory.
    """
    line = lost.written_in[0]
    text = ProgramText(line.file)
    statement = text.statement_at(line.number)
    if statement is None or not text.is_alone(statement):
        return
    operation = lost.operation.strip("_")
    layers = () if operation in line.text else text.without_keyword("inplace", operation)
    if layers:
        sentence = message("Let the layer write into new memory, so that backward finds the old numbers.")
        yield Fix(sentence, text.file, layers)
        return
    inside = _inside_an_expression(text, statement, lost.library, frames, is_shared)
    if inside is not None:
        yield inside
        return
    statement_read, source = _without_data(statement)
    target = target_of(statement_read)
    function = text.function_at(line.number)
    last = _end_without_return(function, target) if function is not None and target else None
    rewritten = _rewritten(source, lost.library)
    reads_first = line == lost.saved_in and not lost.is_result  # a copy made before the line would be saved, too
    if reads_first and not rewritten and any(fix_read(lost)):
        return
    if not target or (reads_first and not rewritten) or not _is_rebindable(text, statement, target, frames, is_shared):
        sentence = message(
            "Write into new memory in that line, and let the program use the new tensor; or clone the tensor first."
        )
        yield Fix(sentence)
        return
    if rewritten:
        sentence = message("Write the result into new memory, so that backward finds the old numbers.")
        edits = text.replace(statement, rewritten)
    else:
        sentence = message("Write into a copy, so that backward finds the old numbers.")
        copied = f"{target} = {target}.clone()"
        is_written = statement_read is statement
        edits = text.insert_before(statement, copied) if is_written else text.replace(statement, copied, source)
    if last is not None:
        added = text.insert_after(last, f"return {target}")
        edits = (*edits, *added) if added else ()
    yield Fix(sentence, text.file, edits)


def _rewritten(source: str, library: str) -> str:
    """Return the out-of-place form of an in-place statement, with the library's names; "" if there is none."""
    rewritten = out_of_place(source)
    return respelled_code(rewritten) if library == "paddle" else rewritten


def _without_data(statement: ast.stmt) -> tuple[ast.stmt, str]:
    """Return the statement with ``x`` in place of ``x.data`` or ``x.detach()`` as its target, and the new source."""
    source = ast.unparse(statement)
    found = re.match(r"(\w+)\.(data|detach\(\))(?=[.\[ ])", source)
    is_plain = found is not None and not re.match(r"\w+\.data = ", source)
    if found is None or not is_plain:
        return statement, source
    written = ast.parse(found[1] + source[found.end() :]).body[0]
    ast.copy_location(written, statement)
    return written, ast.unparse(written)


def _inside_an_expression(
    text: ProgramText, statement: ast.stmt, library: str, frames: list[FrameType], is_shared: Callable[[Any], bool]
) -> Fix | None:
    """Return the fix of a write whose result the statement uses, as in ``y = relu(x, inplace=True)``; or None."""
    if not isinstance(statement, (ast.Assign, ast.Return)) or statement.value is None:
        return None
    calls = [each for each in ast.walk(statement.value) if isinstance(each, ast.Call)]
    written = [(each, _rewritten(ast.unparse(ast.Expr(each)), library)) for each in calls]
    found = [(call, plain) for call, plain in written if plain]
    if len(found) != 1:
        return None
    call, plain = found[0]
    name, _, value = plain.partition(" = ")
    if not name.isidentifier() or not _is_rebindable(text, statement, name, frames, is_shared):
        return None
    scope = text.function_at(statement.lineno) or text.tree
    end = statement.end_lineno or statement.lineno
    assigned = assigned_names(statement)
    nodes = [each for each in ast.walk(scope) if isinstance(each, ast.Name) and each.id == name] if scope else []
    loops = text.loops_around(statement.lineno)
    is_read_later = name not in assigned and any(
        isinstance(each.ctx, ast.Load) and (each.lineno > end or loops) and not statement.lineno <= each.lineno <= end
        for each in nodes
    )
    source, old = ast.unparse(statement), ast.unparse(call)
    if source.count(old) != 1:
        return None
    new = (plain, source.replace(old, name)) if is_read_later else (source.replace(old, value),)
    sentence = message("Write the result into new memory, so that backward finds the old numbers.")
    return Fix(sentence, text.file, text.replace(statement, *new))


def fix_read(lost: OverwrittenValue) -> Iterator[Fix]:
    """Yield a fix in which the line that saved the tensor reads a copy, if no other line saved it."""
    if lost.is_result or not lost.is_saved_once or not lost.name.isidentifier():
        return
    text = ProgramText(lost.saved_in.file)
    statement = text.statement_at(lost.saved_in.number)
    if statement is None or not text.is_alone(statement) or lost.name not in names_in(statement):
        return
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return
    if any(isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) for each in ast.walk(value)):
        return  # a comprehension gives the name another value
    changed = copy.copy(statement)
    changed.value = _Cloned(lost.name).visit(copy.deepcopy(value))  # type: ignore[attr-defined]  # it has a value
    source = ast.unparse(changed)
    if source == ast.unparse(statement):
        return
    sentence = message(
        "Let line {line} read a copy, and write into `{name}` as before.", line=lost.saved_in.number, name=lost.name
    )
    yield Fix(sentence, text.file, text.replace(statement, source))


class _Cloned(ast.NodeTransformer):
    """Replaces a name by ``NAME.clone()`` wherever an expression reads its value, except where it calls the value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Call(ast.Attribute(node, "clone"), [], []) if node.id == self._name else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        self.generic_visit(node)
        if isinstance(function, ast.Name):
            node.func = function
        return node


def _is_rebindable(
    text: ProgramText, statement: ast.stmt, target: str, frames: list[FrameType], is_shared: Callable[[Any], bool]
) -> bool:
    """Return True if the statement may bind the name to a new tensor, because no other name needs the write."""
    for frame in frames:
        value: Any = own_variables(frame).get(target)
        if frame.f_code.co_filename == text.file and is_shared(value):
            return False
    if any(target in names_in(loop.target) for loop in text.loops_around(statement.lineno)):
        return False
    assigned = [each for each in text.statements() if isinstance(each, ast.Assign)]
    if any(ast.unparse(each.targets[0]) == target and _is_view(each.value) for each in assigned):
        return False
    function = text.function_at(statement.lineno)
    if function is None:
        return True
    if target not in _arguments(function):  # a variable from outside the function would become a local one
        return not target.isidentifier() or target in _bound_in(function)
    if function.name == "forward" and _returns_in_all(function, target):
        return True
    calls = [
        line for line in text.lines if re.search(rf"\b{function.name}\b", line) and f"def {function.name}" not in line
    ]
    used = rf"register_\w*hook\w*\(\s*{function.name}\b|(\breturn\b|=).*\b{function.name}\b"
    return bool(calls) and all(re.search(used, line) for line in calls)


def _returns_in_all(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Return True if a function has a ``return``, and each one computes a result from the argument ``name``."""
    returns = [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    return bool(returns) and all(each.value is not None and name in names_in(each.value) for each in returns)


def _is_view(value: ast.expr) -> bool:
    """Return True for an expression such as ``x[0]`` or ``x.view(2).relu_()``, which has the memory of ``x``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr.endswith("_"):
        value = value.func.value
    if isinstance(value, ast.Call):
        value = value.func
        return isinstance(value, ast.Attribute) and value.attr in _VIEWS
    return isinstance(value, ast.Subscript) or (isinstance(value, ast.Attribute) and value.attr in _VIEWS)


def _bound_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that a function binds, or declares as ``global`` or ``nonlocal``."""
    nodes = list(ast.walk(function))
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    declared = [name for each in nodes if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names]
    return bound.union(declared)


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}


def _end_without_return(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.stmt | None:
    """Return the last statement of a function, after which the function has to return its argument ``name``.

    Return None if ``name`` is not an argument, or if the function already has a ``return``.
    """
    if name not in _arguments(function) or any(isinstance(each, ast.Return) for each in ast.walk(function)):
        return None
    return function.body[-1]


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
    """Return the fix that moves the write behind the backward pass; it has no edits if a move may be wrong."""
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
