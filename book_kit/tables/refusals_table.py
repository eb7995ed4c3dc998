"""Tables of writes that PyTorch refuses or computes differently, with the results of ``minitensor.torch``.

The functions in the tables are those that ``explain`` mentions. Each line runs in minitensor while the page is built.
PyTorch's answers are read from ``facts/learners.json``.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from book_kit.tables.reference_tables import markdown
from book_kit.tables.table_words import said
from memory_stage.explanation.minitensor.pytorch_refusals import SAVES
from memory_stage.messages import message, then
from minitensor import torch

#: The recorded questions about writes that read a part of the memory that they overwrite begin with this text.
OVERLAPS = "a part of itself: "
PRINTED = "; print(x)"
#: The recorded questions about writes to a tensor that requires a gradient begin with this text.
IN_PLACE = "in place on what requires a gradient: "
BACKWARD = "; x.sum().backward(); print(w.grad)"
#: Maps a part of PyTorch's error to the origin of the tensor. PyTorch refuses the write because of this origin.
ORIGINS = {
    "This view is the output of a function that returns multiple views": message("one of several views"),
    "A view was created in no_grad mode": message("a view made under `no_grad`"),
    "A view was created in inference mode": message("a view made in inference mode"),
    "Inplace update to inference tensor": message("a tensor made in inference mode"),
    "Inference tensors cannot be saved": message("a tensor made in inference mode"),
}
#: Writes that overwrite an operand that PyTorch saves for the backward of the same write.
ITSELF = ("x *= x", "x /= x", "x **= x", "x.mul_(x.detach())")


def recorded(facts: Path) -> dict[str, dict[str, Any]]:
    """Return a dict that maps each recorded question to PyTorch's answer."""
    versions = json.loads((facts / "learners.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = next(each["answers"] for each in versions.values() if each["library"] == "torch")
    return found


def run(program: str) -> str:
    """Run a recorded program with ``minitensor.torch``. Return its output, or the type of its error."""
    own = program.replace("import torch.nn.functional as F", "F = torch.nn.functional")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(own, {"torch": torch})
    except Exception as error:
        return type(error).__name__
    return out.getvalue().strip()


def saved_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table of functions, each with a later write that makes PyTorch's backward raise an error."""
    lines, errors = [], set()
    for saved in SAVES.values():
        for part in saved.kept:
            answer = records[f"overwritten: {saved.asked}, its {part} written"]
            written = "x.add_(1)" if part == "input" else "y.add_(1)"
            errors.add(_error_start(answer))
            lines.append((f"`y = {saved.call}`", f"`{written}`", f"`{run(answer['program'])}`"))
    for write in ITSELF:
        answer = records[f"{IN_PLACE}{write}{BACKWARD}"]
        errors.add(_error_start(answer))
        lines.append(("", f"`{write}`", f"`{run(answer['program'])}`"))
    heads = (message("The function"), message("The write"), message("The gradient in minitensor"))
    return _below(errors, markdown(heads, lines))


def overlaps_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table of writes that PyTorch refuses because they read a part of their target."""
    lines, errors = [], set()
    for question, answer in records.items():
        if question.startswith(OVERLAPS) and "error" in answer:
            line = question.removeprefix(OVERLAPS).removesuffix(PRINTED)
            errors.add(_error_start(answer))
            lines.append((f"`{line}`", f"`{run(answer['program'])}`"))
    return _below(errors, markdown((message("The write"), message("`x` in minitensor")), lines))


def made_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table of writes that PyTorch refuses because of the tensor's origin, with minitensor's gradients.

    A write for which minitensor computes no gradient is left out.
    """
    lines = []
    for question, answer in records.items():
        error = answer.get("error", "")
        if not question.startswith(IN_PLACE) or not any(part in error for part in ORIGINS):
            continue
        here = run(answer["program"])
        if here.startswith("tensor"):
            line = question.removeprefix(IN_PLACE).removesuffix(BACKWARD)
            origin = next(ORIGINS[part] for part in ORIGINS if part in error)
            lines.append((then(f"`{part}`" for part in line.splitlines()), origin, f"`{here}`"))
    heads = (message("The write"), message("Why PyTorch refuses"), message("The gradient in minitensor"))
    return markdown(heads, lines)


def unseen_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table of writes that read a part of their target, and that PyTorch accepts. In PyTorch, their result
    would differ if they read a copy.
    """
    lines = []
    for question, answer in records.items():
        plain = question.replace(".clone()", "")
        if not question.startswith(OVERLAPS) or plain == question or "out" not in records.get(plain, {}):
            continue
        there = records[plain]
        if "error" in there or "error" in answer or there["out"] == answer["out"]:
            continue
        line = plain.removeprefix(OVERLAPS).removesuffix(PRINTED)
        lines.append(
            (f"`{line}`", f"`{there['out'].strip()}`", f"`{answer['out'].strip()}`", f"`{run(there['program'])}`")
        )
    heads = (
        message("The write"),
        message("`x` in PyTorch"),
        message("With `clone()` there"),
        message("`x` in minitensor"),
    )
    return markdown(heads, lines)


def _below(errors: set[str], table: str) -> str:
    """Return a table with a sentence above it about the error that PyTorch raises for every line.

    Raises:
        ValueError: if the lines have different errors.
    """
    (error,) = errors
    above = message("The error of PyTorch is {error}.", error=f"`{error}`")
    return f"{said(above)}\n\n{table}"


def _error_start(answer: dict[str, Any]) -> str:
    """Return the first part of PyTorch's error message.

    Raises:
        ValueError: if PyTorch raised no error.
    """
    if "error" not in answer:
        raise ValueError(f"PyTorch did not refuse: {answer['program']}")
    return answer["error"].partition(": [")[0].partition(". ")[0]
