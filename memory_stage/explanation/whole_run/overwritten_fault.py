"""Compose the fault of an overwritten tensor, in the same words for every framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix, named_lines
from memory_stage.explanation.whole_run.write_fixes import OverwrittenValue
from memory_stage.messages import Text, capitalized, message, plural
from memory_stage.watch.lines import Lines, ProgramLine
from memory_stage.watch.write_log import LineWrites

#: The most lines that a fault names: lines that wrote, and lines whose operation saved the tensor.
MOST_WRITERS = MOST_SAVERS = 3

NEEDED_UNCHANGED = message("backward needs it as it was when it was saved")

#: The reason why a write to a tensor in an attribute of a ``ctx`` raises no error.
NOT_COMPARED = message(
    "torch compares the versions of tensors that `ctx.save_for_backward` saves, and not those of attributes of `ctx`."
)


def overwritten_fault(
    lost: OverwrittenValue,
    saved_by: str,
    savers: Iterable[tuple[ProgramLine, str]],
    operations: dict[ProgramLine, str],
    reason: Text,
    fixes: Iterable[Fix],
    is_silent: bool,
    first_node: int,
    also: int = 0,
) -> Fault:
    """Return the fault of a tensor that was overwritten before backward() read it.

    Args:
        saved_by: the name of the operation that saved it.
        savers: the lines that saved the tensor, each with the name of its operation, the earliest first.
        operations: maps each line that overwrote the tensor to the name of its operation.
        reason: the derivative that needs the tensor.
        fixes: ways to mend the program, the best first.
        is_silent: True if the backward pass raises no error.
        first_node: the number of the first node that saved the tensor.
        also: how many other saved tensors the same lines have overwritten.
    """
    known = [(line, operation) for line, operation in savers if line.number][:MOST_SAVERS]
    evidence = [Evidence(line, _saving(lost, operation, saved_by)) for line, operation in known]
    is_detached = set(operations.values()) == {"detach_"}
    for line, operation in operations.items():
        role = message("`{operation}` overwrites it", operation=operation)
        if is_detached:
            role = message("`{operation}` detaches it from its graph", operation=operation)
        evidence.append(Evidence(line, role, is_culprit=not is_detached))
    evidence.append(Evidence(lost.asked_in, NEEDED_UNCHANGED))
    tensors = _words_for(lost, saved_by)
    if also:
        others = plural("{count} other tensor", "{count} other tensors", also, count=f"{also:,}")
        tensors = message("{tensor} and {others}", tensor=tensors, others=others)
    verdict = _verdict(lost, tensors, is_silent, is_detached, are_several=also > 0)
    kind = "overwritten silently" if is_silent else "overwritten"
    return Fault(kind, capitalized(verdict), evidence, reason, fixes, is_silent, first_node=first_node)


def _verdict(lost: OverwrittenValue, tensors: Text, is_silent: bool, is_detached: bool, are_several: bool) -> Text:
    count = len(lost.written_in)
    values: dict[str, Any] = {"tensors": tensors, "asked": lost.asked_in.number, "lines": named_lines(lost.written_in)}
    if not count and not is_silent:
        return message(
            "A write that was not watched overwrites {tensors}, which the backward pass in line {asked} still needs.",
            **values,
        )
    if lost.attribute:
        return plural(
            "Wrong gradients: {lines} overwrites {tensors}, kept as `{attribute}`, and the backward pass in line "
            "{asked} uses the new numbers.",
            "Wrong gradients: {lines} overwrite {tensors}, kept as `{attribute}`, and the backward pass in line "
            "{asked} uses the new numbers.",
            count,
            attribute=lost.attribute,
            **values,
        )
    if is_silent and are_several:
        return plural(
            "Wrong gradients: {lines} overwrites {tensors} without raising their versions, and the backward pass in "
            "line {asked} uses the new numbers.",
            "Wrong gradients: {lines} overwrite {tensors} without raising their versions, and the backward pass in "
            "line {asked} uses the new numbers.",
            count,
            **values,
        )
    if is_silent:
        return plural(
            "Wrong gradients: {lines} overwrites {tensors} without raising its version, and the backward pass in line "
            "{asked} uses the new numbers.",
            "Wrong gradients: {lines} overwrite {tensors} without raising its version, and the backward pass in line "
            "{asked} uses the new numbers.",
            count,
            **values,
        )
    if is_detached:
        return plural(
            "{lines} detaches {tensors} in place, which the backward pass in line {asked} still needs.",
            "{lines} detach {tensors} in place, which the backward pass in line {asked} still needs.",
            count,
            **values,
        )
    return plural(
        "{lines} overwrites {tensors}, which the backward pass in line {asked} still needs.",
        "{lines} overwrite {tensors}, which the backward pass in line {asked} still needs.",
        count,
        **values,
    )


def _words_for(lost: OverwrittenValue, operation: str) -> Text:
    """Return words for a tensor that an operation saved: its name as code, or its role in the operation."""
    if lost.name:
        return f"`{lost.name}`"
    if lost.is_result:
        return message("the result of `{operation}`", operation=operation)
    return message("the input of `{operation}`", operation=operation)


def _saving(lost: OverwrittenValue, operation: str, saved_by: str) -> Text:
    """Return a phrase about an operation that saved the same tensor as ``saved_by``."""
    if lost.attribute:
        return message(
            "`{operation}` keeps {tensor} as `{attribute}`",
            operation=operation,
            tensor=_words_for(lost, saved_by),
            attribute=lost.attribute,
        )
    if lost.name or operation != saved_by:
        return message("`{operation}` saves {tensor}", operation=operation, tensor=_words_for(lost, saved_by))
    if lost.is_result:
        return message("`{operation}` saves its result", operation=operation)
    return message("`{operation}` saves its input", operation=operation)


def operations_by_line(lines: Lines, writers: Iterable[LineWrites]) -> dict[ProgramLine, str]:
    """Return the first lines that wrote, each with the name of its first operation."""
    found: dict[ProgramLine, str] = {}
    for each in writers:
        found.setdefault(lines[each.line], each.operation)
    return dict(list(found.items())[:MOST_WRITERS])
