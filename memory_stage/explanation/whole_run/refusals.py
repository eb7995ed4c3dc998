"""Diagnose an error with which a framework refuses a statement: a leaf, a view, an overlap, a stride.

Each rule contains a part of an error message. It builds the fix from the statement that raised the error, or from the
statement that made the tensor that the error is about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from memory_stage.explanation.rewrite import out_of_place
from memory_stage.explanation.whole_run import named_tensors, refused_writes
from memory_stage.explanation.whole_run.cut_history import evidence_of_cut_history, fixes_of_cut_history
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, target_of
from memory_stage.explanation.whole_run.refused_statement import RefusedStatement
from memory_stage.messages import Message, Text, message, said
from memory_stage.watch.lines import Lines, ProgramLine


@dataclass(frozen=True)
class _Rule:
    """A rule for the errors whose message contains a text; ``verdict`` has a placeholder for the line."""

    part: str
    verdict: Message
    reason: Text
    fixes: Callable[[RefusedStatement], list[Fix]]
    evidence: Callable[[RefusedStatement], tuple[Evidence, ...]] = lambda of: ()
    is_vague: bool = False  # True if other causes raise the same message; then a fault is reported only with a fix


def diagnose_error(
    lines: Lines, made_in: Callable[[Any], ProgramLine], error: BaseException, traceback: TracebackType | None
) -> Fault | None:
    """Return the fault of an error that ended the program, or None if no rule knows its message.

    Args:
        lines: knows which frames belong to the program.
        made_in: returns the line that made a tensor; a line without a number if it is unknown.
        error: the error.
        traceback: its traceback.
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
    line = ProgramLine(frame.f_code.co_filename, number, frame.f_code.co_name)
    text = ProgramText(line.file)
    refusal = RefusedStatement(made_in, frame, line, text, text.statement_at(number), error_text)
    verdict = said(message(rule.verdict.text, line=number))
    try:
        fixes = tuple(rule.fixes(refusal))
    finally:
        del frame, frames
    if rule.is_vague and not fixes:
        return None
    refused = Evidence(line, said(message("refused")))
    return Fault("refused", verdict, (*rule.evidence(refusal), refused), said(rule.reason), fixes)


def _of_optimized(of: RefusedStatement) -> list[Fix]:
    import torch

    names = [each.id for each in ast.walk(of.statement) if isinstance(each, ast.Name)] if of.statement else []
    for name in names:
        value = of.variable(name)
        if isinstance(value, torch.Tensor) and value.grad_fn is not None and of.statement is not None:
            made = of.made_in(value)
            where = message("line {line}", line=made.number) if made.number else message("code that is not watched")
            edit = of.text.insert_before(of.statement, f"{name} = {name}.detach().requires_grad_()")
            sentence = message(
                "`{name}` is the result of an operation ({place}), and backward stores gradients in leaves only. "
                "Detach it, so that it becomes a leaf.",
                name=name,
                place=where,
            )
            return [of.fix(sentence, (edit,) if of.text.is_alone(of.statement) else ())]
    sentence = message("Pass leaves to the optimizer: parameters, or tensors on which you called requires_grad_().")
    return [of.fix(sentence)]


def _of_integers(of: RefusedStatement) -> list[Fix]:
    """Return the fix that makes the numbers floating-point where the program asks for their gradient."""
    sentence = message("Use a floating dtype: integers have no gradient.")
    for call in [each for each in ast.walk(of.statement) if isinstance(each, ast.Call)] if of.statement else []:
        given = {each.arg: each for each in call.keywords}
        function = ast.unparse(call.func)
        if "requires_grad" in given and "dtype" in given:
            return [of.fix(sentence, of.text.wrapped(given["dtype"].value, "torch.float32"))]
        if "requires_grad" in given:
            return [of.fix(sentence, of.text.wrapped(given["requires_grad"].value, "{}, dtype=torch.float32"))]
        if function.endswith("Parameter") and call.args:
            return [of.fix(sentence, of.text.wrapped(call.args[0], "{}.float()"))]
        if function.endswith(".requires_grad_") and isinstance(call.func, ast.Attribute):
            kept = [each for each in of.text.statements() if isinstance(each, ast.Expr) and each.value is call]
            name = ast.unparse(call.func.value)
            is_named = bool(kept) and name.isidentifier()  # the statement gives the new tensor no name
            edits = of.replaced(f"{name} = {name}.float().requires_grad_()") if is_named else ()
            return [of.fix(sentence, edits or of.text.wrapped(call.func.value, "{}.float()"))]
    target = of.statement.targets[0] if isinstance(of.statement, ast.Assign) else None
    name = ast.unparse(target.value) if isinstance(target, ast.Attribute) else ""
    return [of.fix(sentence, of.replaced(f"{name} = {name}.float().requires_grad_()") if name.isidentifier() else ())]


def _of_inference(of: RefusedStatement) -> list[Fix]:
    edits = tuple(
        Edit(number, 1, (line.replace("inference_mode", "no_grad"),))
        for number, line in enumerate(of.text.lines, 1)
        if "inference_mode()" in line or line.strip().endswith("inference_mode")
    )
    return [of.fix(message("Make the tensor under torch.no_grad(): a later graph can then use it."), edits)]


def _of_reversed_array(of: RefusedStatement) -> list[Fix]:
    names = ("from_numpy", "tensor", "as_tensor", "asarray")
    nodes = [] if of.statement is None else list(ast.walk(of.statement))
    calls = [each for each in nodes if isinstance(each, ast.Call) and getattr(each.func, "attr", "") in names]
    edits = of.text.wrapped(calls[0].args[0], "{}.copy()") if len(calls) == 1 and calls[0].args else ()
    return [of.fix(message("Copy the array. The copy has positive strides."), edits)]


def _of_casting(of: RefusedStatement) -> list[Fix]:
    target = target_of(of.statement) if of.statement is not None else ""
    source = of.text.source_of(of.statement) if of.statement is not None else ""
    rewritten = out_of_place(source)
    sentence = message(
        "An in-place operation keeps the dtype of {array}. Create {array} with a floating dtype, or make a new array.",
        array=f"`{target}`" if target else message("the array"),
    )
    return [of.fix(sentence, of.replaced(rewritten) if rewritten else ())]


def _wrapping(of: RefusedStatement, sentence: Text, functions: tuple[str, ...], pattern: str, owner: bool) -> list[Fix]:
    """Return the fix that wraps the owner or the first argument of the one call of these functions in the statement."""
    nodes = [] if of.statement is None else list(ast.walk(of.statement))
    calls = [each for each in nodes if isinstance(each, ast.Call) and getattr(each.func, "attr", "") in functions]
    wrapped: ast.expr | None = None
    if len(calls) == 1:
        function, arguments = calls[0].func, calls[0].args
        if owner and isinstance(function, ast.Attribute):
            wrapped = function.value
        elif arguments:
            wrapped = arguments[0]
    return [of.fix(sentence, () if wrapped is None else of.text.wrapped(wrapped, pattern))]


def _of_incompatible_view(of: RefusedStatement) -> list[Fix]:
    source = "" if of.statement is None else of.text.source_of(of.statement)
    edits = of.replaced(source.replace(".view(", ".reshape(", 1)) if source.count(".view(") == 1 else ()
    writing = message(
        "If a later line should write through the view: call contiguous() first, and write into the tensor that it "
        "returns."
    )
    return [of.fix(message("Use reshape: it copies where no view is possible."), edits), of.fix(writing)]


def _of_exported_gradient(of: RefusedStatement) -> list[Fix]:
    sentence = message("Detach the tensor first: the array needs its numbers only.")
    return _wrapping(of, sentence, ("numpy", "__array__"), "{}.detach()", owner=True)


def _of_copied_result(of: RefusedStatement) -> list[Fix]:
    holder = _attribute_with_history(of)
    if holder:
        sentence = message(
            "`{name}` is the result of an operation, and the copy would include it. Drop it before the copy.",
            name=holder,
        )
        is_alone = of.statement is not None and of.text.is_alone(of.statement)
        return [of.fix(sentence, (of.text.insert_before(of.statement, f"{holder} = None"),) if is_alone else ())]  # type: ignore[arg-type]
    sentence = message("Copy the numbers without the history, if the copy should be independent of this graph.")
    return _wrapping(of, sentence, ("deepcopy",), "{}.detach()", owner=False)


def _attribute_with_history(of: RefusedStatement) -> str:
    """Return the attribute of the copied object that refers to the result of an operation, or ""."""
    nodes = [] if of.statement is None else list(ast.walk(of.statement))
    for call in (each for each in nodes if isinstance(each, ast.Call) and each.args):
        copied = call.args[0]
        value = of.variable(copied.id) if isinstance(copied, ast.Name) else None
        if value is None or "deepcopy" not in ast.unparse(call.func) or hasattr(value, "grad_fn"):
            continue
        for path, x in named_tensors.in_variables({ast.unparse(copied): value}, lambda each: hasattr(each, "grad_fn")):
            if x.grad_fn is not None:
                return path
    return ""


def _of_flag(of: RefusedStatement) -> list[Fix]:
    statement = of.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = ast.unparse(target.value) if isinstance(target, ast.Attribute) else ""
    if not name and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        name = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    sentence = message("A result gets its flag from its operands. Detach it to continue without its history.")
    return [of.fix(sentence, of.replaced(f"{name} = {name}.detach()") if name else ())]


def _of_readonly_array(of: RefusedStatement) -> list[Fix]:
    """Return the fix that copies the array in the line where the program made the array."""
    target = target_of(of.statement) if of.statement is not None else ""
    sentence = message(
        "Copy {array} where it is made: a program can write into the copy.",
        array=f"`{target}`" if target else message("the array"),
    )
    for each in of.text.statements():
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == target and each.lineno < of.line.number:
            return [of.fix(sentence, of.text.wrapped(each.value, "{}.copy()"))]
    return [of.fix(sentence)]


def _of_missing_gradient(of: RefusedStatement) -> list[Fix]:
    """Return the fix for a tensor whose ``.grad`` is None because the tensor is the result of an operation."""
    nodes = [] if of.statement is None else list(ast.walk(of.statement))
    for each in nodes:
        if not (isinstance(each, ast.Attribute) and each.attr == "grad" and isinstance(each.value, ast.Name)):
            continue
        name = each.value.id
        value = of.variable(name)
        if getattr(value, "is_leaf", True) or not hasattr(value, "grad_fn"):
            continue
        made = of.made_in(value)
        statement = of.text.statement_at(made.number) if made.file == of.text.file else None
        where = message("line {line}", line=made.number) if made.number else message("an operation")
        update = _in_place_update(of, statement, name)
        if update:
            sentence = message(
                "`{name}` is the result of {place}, and not a leaf any more. Update the leaf in place, without "
                "recording, and clear its gradient.",
                name=name,
                place=where,
            )
            return [of.fix(sentence, update)]
        sentence = message(
            "`{name}` is the result of {place}, so backward stores no gradient in it. Detach it, so that it becomes a "
            "leaf; or call `{name}.retain_grad()` if you only want to see its gradient.",
            name=name,
            place=where,
        )
        is_made_there = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name
        edits: tuple[Edit, ...] = ()
        if is_made_there and statement is not None and of.text.is_alone(statement):
            edits = (of.text.insert_after(statement, f"{name} = {name}.detach().requires_grad_()"),)
        return [of.fix(sentence, edits)]
    return []


def _in_place_update(of: RefusedStatement, statement: ast.stmt | None, name: str) -> tuple[Edit, ...]:
    """Return the edit of ``w = w - lr * w.grad`` that updates the leaf; () for another statement."""
    if not isinstance(statement, ast.Assign) or not of.text.is_alone(statement):
        return ()
    value = statement.value
    if (
        not isinstance(value, ast.BinOp)
        or ast.unparse(value.left) != name
        or not isinstance(value.op, (ast.Sub, ast.Add))
    ):
        return ()
    sign = "-" if isinstance(value.op, ast.Sub) else "+"
    update = f"    {name} {sign}= {ast.unparse(value.right)}"
    return (of.text.replace(statement, "with torch.no_grad():", update, f"{name}.grad = None"),)


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
        _of_incompatible_view,
    ),
    _Rule(
        "Can't call numpy() on Tensor that requires grad",
        message("Line {line} turns a tensor with a history into an array."),
        message("An array has no history, so torch asks you to drop it yourself."),
        _of_exported_gradient,
    ),
    _Rule(
        "support the deepcopy protocol",
        message("Line {line} deep-copies the result of an operation."),
        message("A deep copy would have to copy the graph behind the tensor."),
        _of_copied_result,
    ),
    _Rule(
        "you can only change requires_grad flags of leaf variables",
        message("Line {line} changes the flag of a tensor that an operation has made."),
        "",
        _of_flag,
    ),
    _Rule(
        "dtype can require gradients",
        message("Line {line} asks for the gradient of integers."),
        message("A gradient is a slope: it exists only for numbers that can change by any small amount."),
        _of_integers,
    ),
    _Rule(
        "destination is read-only",
        message("Line {line} writes into a read-only array."),
        "",
        _of_readonly_array,
    ),
    _Rule(
        "output array is read-only",
        message("Line {line} writes into a read-only array."),
        "",
        _of_readonly_array,
    ),
    _Rule(
        "NoneType",
        message("Line {line} uses a gradient that does not exist."),
        message("Backward stores gradients in leaves only."),
        _of_missing_gradient,
        is_vague=True,
    ),
    _Rule(
        "a leaf Variable that requires grad is being used in an in-place operation",
        message("Line {line} writes in place into a leaf that requires a gradient."),
        message("Backward stores the gradient of a leaf. A recorded write would make it the result of an operation."),
        refused_writes.of_leaf,
    ),
    _Rule(
        "that doesn't stop gradient can't use inplace strategy",
        message("Line {line} writes in place into a leaf that requires a gradient."),
        message("Backward stores the gradient of a leaf. A recorded write would make it the result of an operation."),
        refused_writes.of_leaf,
    ),
    _Rule(
        "Such functions do not allow the output views to be modified inplace",
        message("Line {line} writes into one of several views that one call has made."),
        message("Autograd records writes through a view only if one call created that view alone."),
        refused_writes.of_several_views,
    ),
    _Rule(
        "more than one element of the written-to tensor refers to a single memory location",
        message("Line {line} writes into a tensor whose elements share memory."),
        message("`expand` repeats elements without copying them, so one write would reach several elements."),
        refused_writes.of_expanded,
    ),
    _Rule(
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
        message("Line {line} reads the same memory that it writes."),
        message("The result would depend on the order in which the elements are written."),
        refused_writes.of_overlap,
    ),
    _Rule(
        "of BackwardHookFunction",
        message("Line {line} runs a layer with inplace=True on the output of a layer that has a full backward hook."),
        message("The hook replaces the output by a view of it, so that it can read the gradient of the output."),
        refused_writes.of_hooked_layer,
    ),
    _Rule(
        "can't optimize a non-leaf Tensor",
        message("Line {line} passes a tensor to the optimizer that is not a leaf."),
        "",
        _of_optimized,
    ),
    _Rule(
        "Inference tensors cannot be saved for backward",
        message("Line {line} uses a tensor that was made under torch.inference_mode() in a graph."),
        message("Inference tensors count no versions, so no operation may save them for backward."),
        _of_inference,
    ),
    _Rule(
        "At least one stride in the given numpy array is negative",
        message("Line {line} shares a NumPy array with a negative stride."),
        message("A tensor has no negative strides."),
        _of_reversed_array,
    ),
    _Rule(
        "created in no_grad mode and is being modified inplace with grad mode enabled",
        message("Line {line} writes through a view that was taken under torch.no_grad()."),
        message("Autograd does not connect that view to the history of its base, so it cannot record the write."),
        refused_writes.of_unrecorded_view,
    ),
    _Rule(
        "Cannot cast ufunc",
        message("Line {line} writes a result into an array whose dtype cannot hold it."),
        "",
        _of_casting,
    ),
    _Rule(
        "doesn't match the broadcast shape",
        message("Line {line} writes a larger result into a smaller tensor."),
        message("An in-place operation cannot change the shape of its target."),
        refused_writes.of_batched_write,
    ),
)
