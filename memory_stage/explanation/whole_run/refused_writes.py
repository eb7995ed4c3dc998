"""Fixes for a write that a framework refuses: into a leaf, a view, or memory that elements share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from memory_stage.explanation.advice import NEW_GRADIENT
from memory_stage.explanation.rewrite import out_of_place, respelled_code
from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, name_of, names_in, path_of_target, target_of
from memory_stage.messages import Text, message
from memory_stage.watch.lines import ProgramLine

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class RefusedStatement:
    """A statement that raised an error.

    Attributes:
        made_in: returns the line that made a tensor, or ``UNKNOWN_LINE``.
        frame: the frame of the program in which the statement ran.
        line: the line of the statement.
        text: the source of the file that contains the statement.
        statement: the statement; None if the source cannot be read.
        message: the text of the error.
    """

    made_in: Callable[[Any], ProgramLine]
    frame: FrameType
    line: ProgramLine
    text: ProgramText
    statement: ast.stmt | None
    message: str

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of a kind in the statement's syntax tree."""
        return [] if self.statement is None else [each for each in ast.walk(self.statement) if isinstance(each, kind)]

    def variable(self, name: str) -> Any:
        """Return the value of a variable where the error was raised; None if there is none."""
        return self.frame.f_locals.get(name, self.frame.f_globals.get(name))

    def replaced(self, *texts: str) -> tuple[Edit, ...]:
        """Return the edit that replaces the statement; () if its lines contain more than the statement."""
        return self.text.replace(self.statement, *texts)

    def fix(self, sentence: Text, edits: tuple[Edit, ...] = ()) -> Fix:
        """Return a fix in the file of the statement."""
        return Fix(sentence, self.text.file, edits)


#: Operations that ignore the old numbers, so that they may initialize a leaf.
_INITIALIZING = re.compile(r"\.(uniform|normal|fill|zero|copy|exponential|set_value|trunc_normal|random|bernoulli)_?\(")


def fix_leaf(refused: RefusedStatement) -> list[Fix]:
    """Return fixes: put this and the next writes of the tensor under ``no_grad``; or make a new tensor."""
    if refused.statement is None:
        return []
    hook = _fix_in_hook(refused)
    if hook is not None:
        return [hook]
    framework = "paddle" if "Leaf Var" in refused.message else "torch"
    target = path_of_target(refused.statement)
    statements = [refused.statement]
    for each in refused.text.siblings_after(refused.statement):
        if not target or path_of_target(each) != target:
            break
        statements.append(each)
    source = ast.unparse(refused.statement)
    edits = (refused.text.wrapped_in_block(f"with {framework}.no_grad():", statements),)
    is_alone = all(refused.text.is_alone(each) for each in statements)
    is_update = bool(target) and f"{target}.grad" in source
    sentence = message("To change the leaf itself, for example to initialize it, write without recording.")
    if is_update:
        sentence = message("To update the leaf, write without recording.")
    value = refused.variable(target)
    is_expanded = hasattr(value, "stride") and 0 in value.stride()  # PyTorch refuses to write such a view at all
    fixes = [] if is_expanded else [refused.fix(sentence, edits if is_alone else ())]
    line = refused.line.number
    function = refused.text.function_at(line)
    is_argument = function is not None and target in {each.arg for each in function.args.args}
    # A module must keep its parameters, and an update that made a new tensor would lose the leaf and its gradient.
    can_be_new = target.isidentifier() and not is_argument and not is_update and not _INITIALIZING.search(source)
    can_be_new = can_be_new and all(target not in names_in(each.target) for each in refused.text.loops_around(line))
    leaf = re.compile(rf"\b{target}\.grad\b|(optim|Adam|SGD)\w*[.(].*\b{target}\b")
    can_be_new = can_be_new and not any(map(leaf.search, refused.text.lines[line:]))
    rewritten = out_of_place(source) if can_be_new else ""
    if rewritten and len(statements) == 1:
        new = message("Make a new tensor that has a history, and keep the leaf.")
        fixes.append(refused.fix(new, refused.replaced(rewritten)))
    return fixes


def fix_out(refused: RefusedStatement) -> list[Fix]:
    """Return the fix: put a call that writes a leaf under ``no_grad``; assign the result of any other call."""
    calls = [(call, each) for call in refused.nodes(ast.Call) for each in call.keywords if each.arg == "out"]
    sentence = message("Use the operation without `out=`, and assign its result.")
    if len(calls) != 1 or refused.statement is None:
        return [refused.fix(sentence)]
    call, out = calls[0]
    target = ast.unparse(out.value)
    given = refused.variable(target)
    if getattr(given, "requires_grad", False) and getattr(given, "is_leaf", False):
        edits = (refused.text.wrapped_in_block("with torch.no_grad():", [refused.statement]),)
        sentence = message("To change the leaf itself, for example to initialize it, write without recording.")
        return [refused.fix(sentence, edits if refused.text.is_alone(refused.statement) else ())]
    if not isinstance(refused.statement, ast.Expr) or refused.statement.value is not call or not target.isidentifier():
        return [refused.fix(sentence)]
    without = ast.Call(call.func, call.args, [each for each in call.keywords if each is not out])
    return [refused.fix(sentence, refused.replaced(f"{target} = {ast.unparse(without)}"))]


def fix_several_views(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that loops over a tensor's indices and not over all its views, or that writes to new memory."""
    import torch

    edits = []
    for loop in refused.text.loops_around(refused.line.number):
        before = ast.unparse(loop.iter)
        after = before
        for name in {each.id for each in ast.walk(loop.iter) if isinstance(each, ast.Name)}:
            if isinstance(refused.variable(name), torch.Tensor) and not re.search(rf"\b{name}\b\s*[\[.(]", before):
                after = re.sub(rf"\b{name}\b", f"({name}[i] for i in range(len({name})))", after)
        header = refused.text.lines[loop.lineno - 1]
        if after != before and before in header:
            edits.append(Edit(loop.lineno, 1, (header.replace(before, after),)))
    looped = {name for loop in refused.text.loops_around(refused.line.number) for name in names_in(loop.target)}
    is_other = refused.statement is not None and path_of_target(refused.statement) not in looped and not edits
    rewritten = out_of_place(ast.unparse(refused.statement)) if is_other and refused.statement is not None else ""
    if rewritten:
        sentence = message("Write the result into new memory: the other views keep their numbers.")
        return [refused.fix(sentence, refused.replaced(rewritten))]
    sentence = message(
        "A loop over a tensor creates all its views in one call, and torch refuses to write into them. Index the "
        "tensor in the loop instead."
    )
    return [refused.fix(sentence, tuple(edits))]


#: The methods that register a hook, in torch and in Paddle.
_REGISTERS_HOOK = re.compile(r"register_\w*hook\w*")


def _fix_in_hook(refused: RefusedStatement) -> Fix | None:
    """Return the fix of a hook that writes into the gradient that it gets; None for any other statement."""
    calls = [each for each in refused.text.nodes() if isinstance(each, ast.Call) and each.args]
    hooks = [each.args[0] for each in calls if _REGISTERS_HOOK.fullmatch(name_of(each.func))]
    line, statement = refused.line.number, refused.statement
    for hook in hooks:
        if isinstance(hook, ast.Lambda) and hook.lineno <= line <= (hook.end_lineno or 0):
            plain = _new_value(refused, ast.Expr(hook.body)).replace("{", "{{").replace("}", "}}")
            return refused.fix(NEW_GRADIENT, refused.text.wrapped(hook.body, plain) if plain else ())
    function = refused.text.function_at(line)
    is_hook = function is not None and any(name_of(each) == function.name for each in hooks)
    if function is None or statement is None or not is_hook:
        return None
    plain = _new_value(refused, statement) if statement is function.body[-1] else ""
    return refused.fix(NEW_GRADIENT, refused.replaced(f"return {plain}") if plain else ())


def _new_value(refused: RefusedStatement, statement: ast.stmt) -> str:
    """Return the expression that computes what a statement writes, or ""."""
    plain = out_of_place(ast.unparse(statement)).partition(" = ")[2]
    return respelled_code(plain) if plain and "Leaf Var" in refused.message else plain


def fix_expanded(refused: RefusedStatement) -> list[Fix]:
    """Return the fix of a hook, or the fix that copies the tensor whose elements share memory."""
    hook = _fix_in_hook(refused)
    if hook is not None:
        return [hook]
    calls = refused.text.calls("expand", "expand_as", "broadcast_to")
    sentence = message("Copy the expanded tensor, so that each element has its own memory.")
    if len(calls) == 1:
        return [refused.fix(sentence, refused.text.wrapped(calls[0], "{}.clone()"))]
    target = target_of(refused.statement) if refused.statement is not None else ""
    edits = refused.text.insert_before(refused.statement, f"{target} = {target}.clone()")
    return [refused.fix(sentence, edits if target else ())]


def fix_overlap(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that reads a copy of the tensor that the statement reads and writes."""
    statement = refused.statement
    sentence = message("Read a copy of the tensor that the statement both reads and writes.")
    target = target_of(statement) if statement is not None else ""
    if not target or not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return [refused.fix(sentence)]
    written = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if isinstance(written, ast.Subscript) and target in {
        n.id for n in ast.walk(written.slice) if isinstance(n, ast.Name)
    }:
        index = re.sub(rf"\b{target}\b", f"{target}.clone()", ast.unparse(written.slice))
        before, after = ast.unparse(written), f"{ast.unparse(written.value)}[{index}]"
        return [refused.fix(sentence, refused.replaced(ast.unparse(statement).replace(before, after, 1)))]
    value = ast.unparse(statement.value)
    copied = re.sub(rf"\b{target}\b", f"{target}.clone()", value)
    return [refused.fix(sentence, refused.replaced(ast.unparse(statement).replace(value, copied)))]


def fix_hooked_layer(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that sets ``inplace=False`` in all calls: one of them made the layer after the hooked one."""
    edits = refused.text.without_keyword("inplace")
    return [refused.fix(message("Let the layer after the hooked one write into new memory."), edits)]


def fix_unrecorded_view(refused: RefusedStatement) -> list[Fix]:
    """Return fixes: write through a new view, made by the old view's expression; or under ``no_grad``."""
    call = refused.statement.value if isinstance(refused.statement, ast.Expr) else None
    written = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    view = None if written is None else refused.text.element_of(written, refused.line.number)
    if written is None or view is None or refused.statement is None:
        indexing = message(
            "Index the tensor right before the write, where gradients are recorded; or write under torch.no_grad(), if "
            "the write needs no gradient."
        )
        return [refused.fix(indexing)]
    source = ast.unparse(refused.statement).replace(ast.unparse(written), view, 1)
    sentence = message("Take the view in the line of the write: autograd records `{view}` there.", view=view)
    unrecorded = message("Or write under torch.no_grad(), if the write needs no gradient.")
    return [refused.fix(sentence, refused.replaced(source)), refused.fix(unrecorded)]


def fix_batched_write(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that makes the target larger: inside vmap, with one part for each example."""
    import torch

    batched = [
        name
        for name, value in refused.frame.f_locals.items()
        if isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value)
    ]
    target = target_of(refused.statement) if refused.statement is not None else ""
    if not batched:
        larger = message(
            "Make a new tensor, or give {target} the larger shape first.",
            target=f"`{target}`" if target else message("the target"),
        )
        return [refused.fix(larger)]
    sentence = message(
        "Inside vmap, create `{target}` from `{argument}`: it then has one part for each example.",
        target=target,
        argument=batched[0],
    )
    for each in refused.text.statements():
        if not isinstance(each, ast.Assign) or ast.unparse(each.targets[0]) != target:
            continue
        if isinstance(each.value, ast.Call):
            function = ast.unparse(each.value.func)
            if function in ("torch.zeros", "torch.ones", "torch.empty", "torch.full"):
                source = ast.unparse(each).replace(function, f"{batched[0]}.new_{function.rpartition('.')[2]}", 1)
                return [refused.fix(sentence, refused.text.replace(each, source))]
    return [refused.fix(sentence)]
