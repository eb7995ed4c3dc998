"""Diagnose an error with which a framework refuses a statement, because of a leaf, a view, an overlap or a stride.

Each rule applies to the errors whose message contains a certain text. The rule builds the fix from the statement that
raised the error, or from the statement that made the tensor in question.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from memory_stage.explanation.rewrite import out_of_place
from memory_stage.explanation.whole_run import named_tensors, refused_writes
from memory_stage.explanation.whole_run.cut_history import evidence_of_cut_history, fixes_of_cut_history
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, target_of
from memory_stage.explanation.whole_run.refused_writes import RefusedStatement
from memory_stage.messages import Message, Text, message
from memory_stage.watch.lines import Lines, ProgramLine, is_library_file


@dataclass(frozen=True)
class _Rule:
    """A rule for the errors whose message contains a text; ``verdict`` has a placeholder for the line."""

    part: str
    verdict: Message
    reason: Text
    fixes: Callable[[RefusedStatement], list[Fix]]
    evidence: Callable[[RefusedStatement], tuple[Evidence, ...]] = lambda refused: ()
    is_vague: bool = False  # True if other causes raise the same message; then a fault is reported only with a fix


def diagnose_error(
    lines: Lines, made_in: Callable[[Any], ProgramLine], error: BaseException, traceback: TracebackType | None
) -> Fault | None:
    """Return the fault of an error that ended the program; None if no rule applies, or if a vague rule has no fix.

    Args:
        lines: knows which frames belong to the program.
        made_in: returns the line that made a tensor; a line without a number if it is unknown.
    """
    error_text = str(error)
    rule = next((each for each in _RULES if each.part in error_text), None)
    frames = []
    while traceback is not None:
        if lines.is_program(traceback.tb_frame):
            frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    if rule is None or not frames:
        return None
    frame, number = frames[-1]
    line = _line_inside(error_text) or ProgramLine(frame.f_code.co_filename, number, frame.f_code.co_name)
    number = line.number
    text = ProgramText(line.file)
    refusal = RefusedStatement(made_in, frame, line, text, text.statement_at(number), error_text)
    try:
        fixes = tuple(rule.fixes(refusal))
    finally:
        del frame, frames
    if rule.is_vague and not fixes:
        return None
    evidence = (*rule.evidence(refusal), Evidence(line, message("refused")))
    return Fault("refused", message(rule.verdict.text, line=number), evidence, rule.reason, fixes)


#: A line of the traceback that Paddle puts into the message of an error that a hook has raised.
_INSIDE = re.compile(r"^  (.+)\((\d+)\): (\S+)$", re.MULTILINE)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def _line_inside(error_text: str) -> ProgramLine | None:
    """Return the program's innermost line in the traceback that an error's message contains; None if it has none."""
    for file, number, function in _INSIDE.findall(error_text):
        if not is_library_file(file) and not file.startswith(_PACKAGE) and os.path.exists(file):
            return ProgramLine(file, int(number), function)
    return None


def _fix_optimized_result(refused: RefusedStatement) -> list[Fix]:
    import torch

    for name in [each.id for each in refused.nodes(ast.Name)]:
        value = refused.variable(name)
        if isinstance(value, torch.Tensor) and value.grad_fn is not None and refused.statement is not None:
            made = refused.made_in(value)
            where = message("line {line}", line=made.number) if made.number else message("code that is not watched")
            edits = refused.text.insert_before(refused.statement, f"{name} = {name}.detach().requires_grad_()")
            sentence = message(
                "`{name}` is the result of an operation ({place}), and backward stores gradients in leaves only. "
                "Detach it, so that it becomes a leaf.",
                name=name,
                place=where,
            )
            return [refused.fix(sentence, edits)]
    sentence = message("Pass leaves to the optimizer: parameters, or tensors on which you called requires_grad_().")
    return [refused.fix(sentence)]


def _fix_integers(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that gives the numbers a floating dtype where the program asks for their gradient."""
    sentence = message("Use a floating dtype: integers have no gradient.")
    for call in refused.nodes(ast.Call):
        keywords = {each.arg: each.value for each in call.keywords}
        function = ast.unparse(call.func)
        if "requires_grad" in keywords and "dtype" in keywords:
            return [refused.fix(sentence, refused.text.wrapped(keywords["dtype"], "torch.float32"))]
        if "requires_grad" in keywords:
            edits = refused.text.wrapped(keywords["requires_grad"], "{}, dtype=torch.float32")
            return [refused.fix(sentence, edits)]
        if function.endswith("Parameter") and call.args:
            return [refused.fix(sentence, refused.text.wrapped(call.args[0], "{}.float()"))]
        if function.endswith(".requires_grad_") and isinstance(call.func, ast.Attribute):
            kept = [each for each in refused.text.statements() if isinstance(each, ast.Expr) and each.value is call]
            name = ast.unparse(call.func.value)
            # The statement can become an assignment only if it consists of this call.
            is_assignable = bool(kept) and name.isidentifier()
            edits = refused.replaced(f"{name} = {name}.float().requires_grad_()") if is_assignable else ()
            return [refused.fix(sentence, edits or refused.text.wrapped(call.func.value, "{}.float()"))]
    target = refused.statement.targets[0] if isinstance(refused.statement, ast.Assign) else None
    name = ast.unparse(target.value) if isinstance(target, ast.Attribute) else ""
    edits = refused.replaced(f"{name} = {name}.float().requires_grad_()") if name.isidentifier() else ()
    return [refused.fix(sentence, edits)]


def _fix_inference(refused: RefusedStatement) -> list[Fix]:
    edits = tuple(
        Edit(number, 1, (line.replace("inference_mode", "no_grad"),))
        for number, line in enumerate(refused.text.lines, 1)
        if "inference_mode()" in line or line.strip().endswith("inference_mode")
    )
    return [refused.fix(message("Make the tensor under torch.no_grad(): a later graph can then use it."), edits)]


def _fix_reversed_array(refused: RefusedStatement) -> list[Fix]:
    names = ("from_numpy", "tensor", "as_tensor", "asarray")
    calls = [each for each in refused.nodes(ast.Call) if getattr(each.func, "attr", "") in names]
    edits = refused.text.wrapped(calls[0].args[0], "{}.copy()") if len(calls) == 1 and calls[0].args else ()
    return [refused.fix(message("Copy the array. The copy has positive strides."), edits)]


def _fix_cast(refused: RefusedStatement) -> list[Fix]:
    target = target_of(refused.statement) if refused.statement is not None else ""
    source = ast.unparse(refused.statement) if refused.statement is not None else ""
    rewritten = out_of_place(source)
    sentence = message(
        "An in-place operation keeps the dtype of {array}. Create {array} with a floating dtype, or make a new array.",
        array=f"`{target}`" if target else message("the array"),
    )
    return [refused.fix(sentence, refused.replaced(rewritten) if rewritten else ())]


def _wrap(
    refused: RefusedStatement, sentence: Text, functions: tuple[str, ...], pattern: str, owner: bool
) -> list[Fix]:
    """Return the fix that wraps a part of a call; it has edits only if the statement has one call of ``functions``.

    Args:
        owner: True to wrap the object whose method is called, False to wrap the first argument.
    """
    calls = [each for each in refused.nodes(ast.Call) if getattr(each.func, "attr", "") in functions]
    wrapped: ast.expr | None = None
    if len(calls) == 1:
        function, arguments = calls[0].func, calls[0].args
        if owner and isinstance(function, ast.Attribute):
            wrapped = function.value
        elif arguments:
            wrapped = arguments[0]
    return [refused.fix(sentence, () if wrapped is None else refused.text.wrapped(wrapped, pattern))]


def _fix_incompatible_view(refused: RefusedStatement) -> list[Fix]:
    source = "" if refused.statement is None else ast.unparse(refused.statement)
    edits = refused.replaced(source.replace(".view(", ".reshape(", 1)) if source.count(".view(") == 1 else ()
    writing = message(
        "If a later line writes through the view, call contiguous() before view(), and write into the tensor that "
        "contiguous() returns."
    )
    return [refused.fix(message("Use reshape: it copies where no view is possible."), edits), refused.fix(writing)]


def _fix_exported_tensor(refused: RefusedStatement) -> list[Fix]:
    sentence = message("Detach the tensor first: the array needs its numbers only.")
    return _wrap(refused, sentence, ("numpy", "__array__"), "{}.detach()", owner=True)


def _fix_deep_copy(refused: RefusedStatement) -> list[Fix]:
    holder = _attribute_with_history(refused)
    if holder:
        sentence = message(
            "`{name}` is the result of an operation, and the copy would include it. Drop it before the copy.",
            name=holder,
        )
        return [refused.fix(sentence, refused.text.insert_before(refused.statement, f"{holder} = None"))]
    sentence = message("Copy the numbers without the history, if the copy should be independent of this graph.")
    return _wrap(refused, sentence, ("deepcopy",), "{}.detach()", owner=False)


def _attribute_with_history(refused: RefusedStatement) -> str:
    """Return the attribute of the copied object that refers to the result of an operation, or ""."""
    for call in (each for each in refused.nodes(ast.Call) if each.args):
        copied = call.args[0]
        value = refused.variable(copied.id) if isinstance(copied, ast.Name) else None
        if value is None or "deepcopy" not in ast.unparse(call.func) or hasattr(value, "grad_fn"):
            continue
        for path, x in named_tensors.in_variables({ast.unparse(copied): value}, lambda each: hasattr(each, "grad_fn")):
            if x.grad_fn is not None:
                return path
    return ""


def _fix_flag(refused: RefusedStatement) -> list[Fix]:
    statement = refused.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = ast.unparse(target.value) if isinstance(target, ast.Attribute) else ""
    if not name and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        name = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    sentence = message("A result gets `requires_grad` from its operands. Detach it to continue without its history.")
    return [refused.fix(sentence, refused.replaced(f"{name} = {name}.detach()") if name else ())]


def _fix_readonly_array(refused: RefusedStatement) -> list[Fix]:
    """Return the fix that copies the array in the line where the program made the array."""
    target = target_of(refused.statement) if refused.statement is not None else ""
    sentence = message(
        "Copy {array} where it is made: a program can write into the copy.",
        array=f"`{target}`" if target else message("the array"),
    )
    for each in refused.text.statements():
        if (
            isinstance(each, ast.Assign)
            and ast.unparse(each.targets[0]) == target
            and each.lineno < refused.line.number
        ):
            return [refused.fix(sentence, refused.text.wrapped(each.value, "{}.copy()"))]
    return [refused.fix(sentence)]


def _fix_missing_gradient(refused: RefusedStatement) -> list[Fix]:
    """Return the fix for a tensor whose ``.grad`` is None because the tensor is the result of an operation."""
    for each in refused.nodes(ast.Attribute):
        if each.attr != "grad" or not isinstance(each.value, ast.Name):
            continue
        name = each.value.id
        value = refused.variable(name)
        if getattr(value, "is_leaf", True) or not hasattr(value, "grad_fn"):
            continue
        made = refused.made_in(value)
        statement = refused.text.statement_at(made.number) if made.file == refused.text.file else None
        where = message("line {line}", line=made.number) if made.number else message("an operation")
        update = _in_place_update(refused, statement, name)
        if update:
            sentence = message(
                "`{name}` is the result of {place}, and not a leaf any more. Update the leaf in place, without "
                "recording, and clear its gradient.",
                name=name,
                place=where,
            )
            return [refused.fix(sentence, update)]
        sentence = message(
            "`{name}` is the result of {place}, so backward stores no gradient in it. Detach it, so that it becomes a "
            "leaf; or call `{name}.retain_grad()` if you only want to see its gradient.",
            name=name,
            place=where,
        )
        is_made_there = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name
        edits: tuple[Edit, ...] = ()
        if is_made_there:
            edits = refused.text.insert_after(statement, f"{name} = {name}.detach().requires_grad_()")
        return [refused.fix(sentence, edits)]
    return []


def _in_place_update(refused: RefusedStatement, statement: ast.stmt | None, name: str) -> tuple[Edit, ...]:
    """Return the edit that turns ``w = w - lr * w.grad`` into an update of the leaf; () for another statement."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Sub, ast.Add)):
        return ()
    if ast.unparse(value.left) != name:
        return ()
    sign = "-" if isinstance(value.op, ast.Sub) else "+"
    update = f"    {name} {sign}= {ast.unparse(value.right)}"
    return refused.text.replace(statement, "with torch.no_grad():", update, f"{name}.grad = None")


_RULES = (
    _Rule(
        "does not require grad and does not have a grad_fn",
        message("Line {line} runs backward from a tensor without a history."),
        message(
            "Backward follows the history of a tensor to the parameters. Without one, no parameter gets a gradient."
        ),
        fixes_of_cut_history,
        evidence_of_cut_history,
        is_vague=True,
    ),
    _Rule(
        "view size is not compatible with input tensor's size and stride",
        message("Line {line} asks for a view of a tensor whose elements are not in that order in memory."),
        message("A view is a new shape over the same memory; after a transpose there may be no strides for it."),
        _fix_incompatible_view,
    ),
    _Rule(
        "Can't call numpy() on Tensor that requires grad",
        message("Line {line} turns a tensor with a history into an array."),
        message("An array has no history, so torch asks you to drop it yourself."),
        _fix_exported_tensor,
    ),
    _Rule(
        "support the deepcopy protocol",
        message("Line {line} deep-copies the result of an operation."),
        message("A deep copy would have to copy the graph behind the tensor."),
        _fix_deep_copy,
    ),
    _Rule(
        "you can only change requires_grad flags of leaf variables",
        message("Line {line} sets `requires_grad` of the result of an operation."),
        "",
        _fix_flag,
    ),
    _Rule(
        "dtype can require gradients",
        message("Line {line} asks for the gradient of integers."),
        message("A gradient is a slope: it exists only for numbers that can change by any small amount."),
        _fix_integers,
    ),
    _Rule("destination is read-only", message("Line {line} writes into a read-only array."), "", _fix_readonly_array),
    _Rule("output array is read-only", message("Line {line} writes into a read-only array."), "", _fix_readonly_array),
    _Rule(
        "NoneType",
        message("Line {line} uses a gradient that does not exist."),
        message("Backward stores gradients in leaves only."),
        _fix_missing_gradient,
        is_vague=True,
    ),
    _Rule(
        "a leaf Variable that requires grad is being used in an in-place operation",
        message("Line {line} writes in place into a leaf that requires a gradient."),
        message(
            "Backward stores the gradient of a leaf. A recorded write would make the leaf the result of an operation."
        ),
        refused_writes.fix_leaf,
    ),
    _Rule(
        "functions with out=... arguments don't support automatic differentiation",
        message("Line {line} passes `out=` to an operation that would be recorded."),
        message("Autograd does not record an operation that writes its result into a given tensor."),
        refused_writes.fix_out,
    ),
    _Rule(
        "that doesn't stop gradient can't use inplace strategy",
        message("Line {line} writes in place into a leaf that requires a gradient."),
        message(
            "Backward stores the gradient of a leaf. A recorded write would make the leaf the result of an operation."
        ),
        refused_writes.fix_leaf,
    ),
    _Rule(
        "Such functions do not allow the output views to be modified inplace",
        message("Line {line} writes into one of several views that one call has made."),
        message("Autograd records writes through a view only if the call that made the view returned no other view."),
        refused_writes.fix_several_views,
    ),
    _Rule(
        "more than one element of the written-to tensor refers to a single memory location",
        message("Line {line} writes into a tensor whose elements share memory."),
        message("`expand` repeats elements without copying them, so one write would reach several elements."),
        refused_writes.fix_expanded,
    ),
    _Rule(
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
        message("Line {line} reads the same memory that it writes."),
        message("The result would depend on the order in which the elements are written."),
        refused_writes.fix_overlap,
    ),
    _Rule(
        "of BackwardHookFunction",
        message("Line {line} runs a layer with inplace=True on the output of a layer that has a full backward hook."),
        message("The hook replaces the output by a view of it, so that it can read the gradient of the output."),
        refused_writes.fix_hooked_layer,
    ),
    _Rule(
        "can't optimize a non-leaf Tensor",
        message("Line {line} passes a tensor to the optimizer that is not a leaf."),
        "",
        _fix_optimized_result,
    ),
    _Rule(
        "Inference tensors cannot be saved for backward",
        message("Line {line} uses, in a graph, a tensor that was made under torch.inference_mode()."),
        message("Inference tensors count no versions, so no operation may save them for backward."),
        _fix_inference,
    ),
    _Rule(
        "At least one stride in the given numpy array is negative",
        message("Line {line} shares a NumPy array with a negative stride."),
        message("A tensor has no negative strides."),
        _fix_reversed_array,
    ),
    _Rule(
        "created in no_grad mode and is being modified inplace with grad mode enabled",
        message("Line {line} writes through a view that was taken under torch.no_grad()."),
        message("Autograd does not connect that view to the history of its base, so it cannot record the write."),
        refused_writes.fix_unrecorded_view,
    ),
    _Rule(
        "Cannot cast ufunc",
        message("Line {line} writes a result into an array whose dtype cannot hold it."),
        "",
        _fix_cast,
    ),
    _Rule(
        "doesn't match the broadcast shape",
        message("Line {line} writes a larger result into a smaller tensor."),
        message("An in-place operation cannot change the shape of its target."),
        refused_writes.fix_batched_write,
    ),
)
