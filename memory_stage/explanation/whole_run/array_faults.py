"""Diagnose writes into memory that a tensor of PyTorch shares with an array of NumPy or a buffer."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix, named, named_lines
from memory_stage.explanation.whole_run.program_text import ProgramText, assigned_name, writes_array
from memory_stage.messages import Text, capitalized, message, plural
from memory_stage.watch.lines import Lines, ProgramLine

MOST_WRITERS = 3


@dataclass(frozen=True)
class SharingCall:
    """The call that made a tensor and an array share memory.

    Attributes:
        line: the line of the call.
        function: the function, such as ``from_numpy``.
    """

    line: ProgramLine
    function: str

    def copy_array(self, text: ProgramText) -> tuple[Edit, ...]:
        """Return the edit that copies the array in the call; () unless the line has exactly one such call."""
        calls = [each for each in text.calls(self.function) if each.lineno == self.line.number]
        if len(calls) != 1:
            return ()
        if self.function == "numpy":
            return text.wrapped(calls[0], "{}.copy()")
        if self.function == "frombuffer":
            return text.wrapped(calls[0], "{}.clone()")
        return text.wrapped(calls[0].args[0], "{}.copy()") if calls[0].args else ()


def array_names(frames: list[FrameType], extent: tuple[int, int]) -> list[str]:
    """Return the names by which some frames refer to arrays that overlap an extent of memory."""
    found = []
    for name, array in named_tensors.in_frames(frames, lambda value: isinstance(value, np.ndarray)):
        begin = array.__array_interface__["data"][0]
        if extent[0] <= begin < extent[1] or begin <= extent[0] < begin + array.nbytes:
            found.append(name)
    return list(dict.fromkeys(found))


def array_fault(
    name: str, saved: Evidence, asked: Evidence, sharing: SharingCall, arrays: Sequence[str], reason: Text
) -> Fault:
    """Return the fault of a saved tensor whose memory NumPy has overwritten.

    Args:
        name: the name of the tensor, or "".
        saved: the line that saved the tensor.
        asked: the line of the backward pass.
        sharing: the call that made the tensor share memory with an array.
        arrays: names of the arrays that share this memory.
        reason: why backward() needs the tensor.
    """
    text = ProgramText(asked.line.file)
    writes = {
        statement.lineno: array
        for array in arrays
        for statement in text.statements()
        if statement.lineno > sharing.line.number and writes_array(statement, array)
    }
    lines = [ProgramLine(text.file, number, "") for number in sorted(writes)][:MOST_WRITERS]
    tensor = named(name)
    evidence = [Evidence(sharing.line, message("{tensor} shares its memory with an array", tensor=tensor)), saved]
    for line in lines:
        array = writes[line.number]
        role = message("writes into the array `{array}`, and so into {tensor}", array=array, tensor=tensor)
        evidence.append(Evidence(line, role))
    verdict = message(
        "Wrong gradients: NumPy overwrites {tensor} through an array, which does not increase the version, and the "
        "backward pass in line {asked} uses the new numbers.",
        tensor=tensor,
        asked=asked.line.number,
    )
    if lines:
        verdict = plural(
            "Wrong gradients: {lines} overwrites {tensor} through an array of NumPy, which does not increase the "
            "version, and the backward pass in line {asked} uses the new numbers.",
            "Wrong gradients: {lines} overwrite {tensor} through an array of NumPy, which does not increase the "
            "version, and the backward pass in line {asked} uses the new numbers.",
            len(lines),
            lines=named_lines(lines),
            tensor=tensor,
            asked=asked.line.number,
        )
    sentence = message("Copy the array where the tensor is made: each then has its own memory.")
    edits = sharing.copy_array(ProgramText(sharing.line.file)) if sharing.line.number else ()
    return Fault(
        "overwritten silently",
        verdict,
        (*evidence, asked),
        reason,
        (Fix(sentence, sharing.line.file, edits),),
        is_silent=True,
    )


def diagnose_readonly(writes: Mapping[tuple[int, int], str], lines: Lines) -> list[Fault]:
    """Return a fault for each line that made a tensor on read-only memory of NumPy or Python, if a line wrote into it.

    Args:
        writes: maps a pair of indices into ``lines`` (the line that shared the memory, and the line that wrote into it)
            to the operation that wrote.
    """
    by_sharing: dict[int, list[tuple[ProgramLine, str]]] = {}
    for (sharing, writing), operation in writes.items():
        by_sharing.setdefault(sharing, []).append((lines[writing], operation))
    return [_readonly_fault(lines[sharing], written) for sharing, written in by_sharing.items()]


def _readonly_fault(made: ProgramLine, written: list[tuple[ProgramLine, str]]) -> Fault:
    text = ProgramText(made.file)
    name = assigned_name(made)
    tensor = named(name)
    calls: list[Any] = [
        call for call in text.calls("from_numpy", "as_tensor", "asarray", "frombuffer") if call.lineno == made.number
    ]
    function = getattr(calls[0].func, "attr", "") if calls else ""
    edits = SharingCall(made, function).copy_array(text) if function else ()
    shown = written[:MOST_WRITERS]
    verdict = plural(
        "{lines} writes into {tensor}, whose memory is a read-only buffer, so bytes change that the rest of the "
        "program expects to be constant.",
        "{lines} write into {tensor}, whose memory is a read-only buffer, so bytes change that the rest of the program "
        "expects to be constant.",
        len(shown),
        lines=named_lines(line for line, _ in shown),
        tensor=tensor,
    )
    reason = message(
        "PyTorch has no read-only tensors, so it writes into the buffer of other objects, such as `bytes`."
    )
    sentence = message("Copy the array: the tensor then has its own memory.")
    return Fault(
        "shared",
        capitalized(verdict),
        (
            Evidence(made, message("{tensor} gets the memory of a read-only array", tensor=tensor)),
            *(Evidence(line, message("`{operation}` writes into it", operation=each)) for line, each in shown),
        ),
        reason,
        (Fix(sentence, text.file, edits),),
        is_silent=True,
    )


def diagnose_repeated(writes: Mapping[tuple[int, int], str], lines: Lines) -> list[Fault]:
    """Return a fault for each line that changes an array, through a tensor, each time that the program reads the array.

    Args:
        writes: maps a pair of indices into ``lines`` (the line that shared the memory, and the line that wrote into it)
            to the operation that wrote.
    """
    return [
        _repeated_fault(lines[sharing], lines[writing], operation) for (sharing, writing), operation in writes.items()
    ]


def _repeated_fault(made: ProgramLine, written: ProgramLine, operation: str) -> Fault:
    text = ProgramText(made.file)
    name = assigned_name(made)
    tensor = named(name)
    calls: list[Any] = [call for call in text.calls("from_numpy", "as_tensor", "asarray") if call.lineno == made.number]
    array: Text = message("the array")
    if calls and calls[0].args:
        array = f"`{ast.unparse(calls[0].args[0])}`"
    edits = SharingCall(made, getattr(calls[0].func, "attr", "")).copy_array(text) if calls else ()
    verdict = message(
        "Line {line} changes {array} each time that it is read, because {tensor} uses the same memory: the second "
        "reading starts from the numbers that the first one wrote.",
        line=written.number,
        array=array,
        tensor=tensor,
    )
    copying = message("If each reading should start from the same numbers, copy the array.")
    leaving = message("If the array should change with each reading, leave the program unchanged.")
    return Fault(
        "shared",
        verdict,
        (
            Evidence(made, message("{tensor} gets the memory of {array}", tensor=tensor, array=array)),
            Evidence(written, message("`{operation}` writes into both", operation=operation)),
        ),
        message("`torch.from_numpy` copies nothing."),
        (Fix(copying, text.file, edits), Fix(leaving)),
    )
