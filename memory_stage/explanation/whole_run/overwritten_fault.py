"""Compose the fault of an overwritten tensor, in the same words for every framework."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix, capitalized, named_lines
from memory_stage.explanation.whole_run.write_fixes import OverwrittenValue
from memory_stage.watch.lines import Lines, ProgramLine
from memory_stage.watch.write_log import LineWrites

#: Lines of writers, and of operations that saved the tensor, that a fault names.
MOST_WRITERS = MOST_SAVERS = 3


def overwritten_fault(
    of: OverwrittenValue,
    tensor: str,
    savers: Iterable[tuple[ProgramLine, str]],
    operations: dict[ProgramLine, str],
    reason: str,
    fixes: Iterable[Fix],
    is_silent: bool,
    first_node: int,
    also: int = 0,
) -> Fault:
    """Return the fault of a tensor that was overwritten before backward has read it.

    Args:
        of: the overwritten tensor.
        tensor: words for it.
        savers: the lines that saved it with the names of their operations, the earliest first.
        operations: the name of the operation of each line that overwrote it.
        reason: the derivative that needs the tensor.
        fixes: ways to mend the program, the best first.
        is_silent: True if the backward pass raises no error.
        first_node: the number of the first node that saved the tensor.
        also: how many other saved tensors the same lines have overwritten.
    """
    known = [(line, operation) for line, operation in savers if line.number][:MOST_SAVERS]
    evidence = [Evidence(line, f"`{operation}` saves {own_words(tensor, operation)}") for line, operation in known]
    is_detached = set(operations.values()) == {"detach_"}
    effect = "takes it away from its graph" if is_detached else "overwrites it"
    evidence += [Evidence(line, f"`{operation}` {effect}") for line, operation in operations.items()]
    evidence.append(Evidence(of.asked_in, "backward needs it as it was when it was saved"))
    subject = detaching(of.written_in) if is_detached else overwriting(of.written_in)
    others = f" and {also:,} other tensor{'s' if also > 1 else ''}" if also else ""
    clause, asked = f"{subject} {tensor}{others}", f"the backward pass in line {of.asked_in.number}"
    if is_silent:
        versions = "their versions" if also else "its version"
        verdict = f"Wrong gradients: {clause} without raising {versions}, and {asked} uses the new numbers."
    else:
        verdict = f"{capitalized(clause)}, which {asked} still needs."
    kind = "overwritten silently" if is_silent else "overwritten"
    return Fault(kind, verdict, tuple(evidence), reason, tuple(fixes), is_silent, first_node=first_node)


def words_for(name: str, is_result: bool, operation: str) -> str:
    """Return words for a tensor that an operation saved: its name in code marks, or its part in the operation."""
    return f"`{name}`" if name else f"the {'result' if is_result else 'input'} of `{operation}`"


def own_words(tensor: str, operation: str) -> str:
    """Return words for a tensor in a sentence about an operation: "its input" for "the input of `add`"."""
    return re.sub(rf"^the (\w+) of `{re.escape(operation)}`$", r"its \1", tensor)


def operations_by_line(lines: Lines, writers: Iterable[LineWrites]) -> dict[ProgramLine, str]:
    """Return the first lines that wrote, each with the name of its first operation."""
    found: dict[ProgramLine, str] = {}
    for each in writers:
        found.setdefault(lines[each.line], each.operation)
    return dict(list(found.items())[:MOST_WRITERS])


def detaching(lines: Sequence[ProgramLine]) -> str:
    """Return the subject and the verb of a sentence about the lines that detached a tensor in place."""
    return f"{named_lines(lines)} detach{'' if len(lines) > 1 else 'es'} in place"


def overwriting(lines: Sequence[ProgramLine]) -> str:
    """Return the subject and the verb of a sentence about the lines that overwrote a tensor."""
    if not lines:
        return "a write that no call of torch made overwrites"
    return f"{named_lines(lines)} overwrite{'' if len(lines) > 1 else 's'}"
