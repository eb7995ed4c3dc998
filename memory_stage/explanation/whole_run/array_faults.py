"""Diagnose writes into memory that a tensor of PyTorch shares with an array of NumPy or a buffer."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix, capitalized, named_lines
from memory_stage.explanation.whole_run.program_text import ProgramText, assigned_name, writes_array
from memory_stage.watch.lines import Lines, ProgramLine

MOST_WRITERS = 3


@dataclass(frozen=True)
class SharingCall:
    """The call that made a tensor and an array share their memory.

    Attributes:
        line: its line.
        function: the function, such as ``from_numpy``.
    """

    line: ProgramLine
    function: str

    def copying(self, text: ProgramText) -> tuple[Edit, ...]:
        """Return the edit that copies the array there; () if the line has no such call, or several."""
        calls = [each for each in text.calls(self.function) if each.lineno == self.line.number]
        if len(calls) != 1:
            return ()
        if self.function == "numpy":
            return text.wrapped(calls[0], "{}.copy()")
        if self.function == "frombuffer":
            return text.wrapped(calls[0], "{}.clone()")
        return text.wrapped(calls[0].args[0], "{}.copy()") if calls[0].args else ()


def array_names(frames: list[FrameType], extent: tuple[int, int]) -> list[str]:
    """Return the names of arrays in frames that have memory in an extent."""
    found = []
    for name, array in named_tensors.in_frames(frames, lambda value: isinstance(value, np.ndarray)):
        begin = array.__array_interface__["data"][0]
        if extent[0] <= begin < extent[1] or begin <= extent[0] < begin + array.nbytes:
            found.append(name)
    return list(dict.fromkeys(found))


def array_fault(
    name: str, saved: Evidence, asked: Evidence, sharing: SharingCall, arrays: Sequence[str], reason: str
) -> Fault:
    """Return the fault of a saved tensor whose memory NumPy has overwritten.

    Args:
        name: the name of the tensor, or "".
        saved: the line that saved it.
        asked: the line of the backward pass.
        sharing: the call that made it share memory with an array.
        arrays: names of arrays with that memory.
        reason: why backward needs the tensor.
    """
    text = ProgramText(asked.line.file)
    writes = {
        statement.lineno: array
        for array in arrays
        for statement in text.statements()
        if statement.lineno > sharing.line.number and writes_array(statement, array)
    }
    lines = [ProgramLine(text.file, number, "") for number in sorted(writes)][:MOST_WRITERS]
    tensor = f"`{name}`" if name else "a tensor"
    subject = named_lines(lines) if lines else "a write of NumPy"
    evidence = [] if not sharing.line.number else [Evidence(sharing.line, f"{tensor} shares its memory with an array")]
    evidence.append(saved)
    evidence += [
        Evidence(line, f"writes into the array `{writes[line.number]}`, and so into {tensor}") for line in lines
    ]
    sentence = "Copy the array where the tensor is made: each then has its own memory."
    edits = sharing.copying(ProgramText(sharing.line.file)) if sharing.line.number else ()
    return Fault(
        "overwritten silently",
        f"Wrong gradients: {subject} {'overwrite' if len(lines) > 1 else 'overwrites'} {tensor} through an array of "
        f"NumPy, which raises no version, and the backward pass in line {asked.line.number} uses the new numbers.",
        (*evidence, asked),
        reason,
        (Fix(sentence, sharing.line.file if edits else "", edits),),
        is_silent=True,
    )


def diagnose_readonly(writes: Mapping[tuple[int, int], str], lines: Lines) -> list[Fault]:
    """Return a fault for each line that wrote, through a tensor, into memory that NumPy or Python hold as read-only.

    Args:
        writes: the operation by the indices of the line that shared the memory and of the line that wrote it.
        lines: the lines that the indices refer to.
    """
    by_sharing: dict[int, list[tuple[ProgramLine, str]]] = {}
    for (sharing, writing), operation in writes.items():
        by_sharing.setdefault(sharing, []).append((lines[writing], operation))
    return [_readonly_fault(lines[sharing], written) for sharing, written in by_sharing.items()]


def _readonly_fault(made: ProgramLine, written: list[tuple[ProgramLine, str]]) -> Fault:
    text = ProgramText(made.file)
    name = assigned_name(made)
    tensor = f"`{name}`" if name else "the tensor"
    calls: list[Any] = [
        call for call in text.calls("from_numpy", "as_tensor", "asarray", "frombuffer") if call.lineno == made.number
    ]
    function = getattr(calls[0].func, "attr", "") if calls else ""
    edits = SharingCall(made, function).copying(text) if function else ()
    subject = capitalized(named_lines(line for line, _ in written[:MOST_WRITERS]))
    return Fault(
        "shared",
        f"{subject} {'write' if len(written) > 1 else 'writes'} into {tensor}, whose memory is a read-only buffer: the "
        f"bytes change that the rest of the program takes for constant.",
        (
            Evidence(made, f"{tensor} gets the memory of a read-only array"),
            *(Evidence(line, f"`{operation}` writes into it") for line, operation in written[:MOST_WRITERS]),
        ),
        "PyTorch has no read-only tensors, so it writes into the buffer of another object, such as `bytes`.",
        (Fix("Copy the array: the tensor then has its own memory.", text.file if edits else "", edits),),
        is_silent=True,
    )


def diagnose_repeated(writes: Mapping[tuple[int, int], str], lines: Lines) -> list[Fault]:
    """Return a fault for each line that changes the numbers of an array through a tensor, each time it is read.

    Args:
        writes: the operation by the indices of the line that shared the memory and of the line that wrote it.
        lines: the lines that the indices refer to.
    """
    return [
        _repeated_fault(lines[sharing], lines[writing], operation) for (sharing, writing), operation in writes.items()
    ]


def _repeated_fault(made: ProgramLine, written: ProgramLine, operation: str) -> Fault:
    text = ProgramText(made.file)
    name = assigned_name(made)
    tensor = f"`{name}`" if name else "a tensor"
    calls: list[Any] = [call for call in text.calls("from_numpy", "as_tensor", "asarray") if call.lineno == made.number]
    array = ast.unparse(calls[0].args[0]) if calls and calls[0].args else "the array"
    edits = SharingCall(made, getattr(calls[0].func, "attr", "")).copying(text) if calls else ()
    return Fault(
        "shared",
        f"Line {written.number} changes `{array}` each time that it is read: {tensor} has its memory, and the second "
        f"reading starts from the numbers that the first has left.",
        (
            Evidence(made, f"{tensor} gets the memory of `{array}`"),
            Evidence(written, f"`{operation}` writes into both"),
        ),
        "`torch.from_numpy` copies nothing.",
        (
            Fix("If each reading is to start from the same numbers: copy.", text.file if edits else "", edits),
            Fix("If the array is meant to change with each reading, the program is right as it is."),
        ),
    )
