"""Generate the docstrings of operations from the rows of the table, in the words of a vocabulary.

The first line is ``Row.doc``, with the vocabulary's names for operands and arguments. The rest is generated from the
fields of the row that also determine the code. If the shapes of operands and result do not follow from broadcasting,
the row describes them in ``Row.takes`` and ``Row.gives``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from minitensor.engine.operations.rule_words import Spelled, in_words
from minitensor.engine.table import Row


@dataclass(frozen=True)
class Wording:
    """The parts of docstrings that differ between vocabularies.

    Attributes:
        shape: the error class for wrong shapes, and for a write to a leaf.
        dtype: the error class for a result that the written tensor cannot hold.
        weak: the text for operands whose dtype counts in promotion only by its kind, not by its width.
    """

    shape: str
    dtype: str
    weak: str = "A number"


def described(
    row: Row, in_place: bool, signature: str, renamed: Mapping[str, str], wording: Wording, spelled: Spelled
) -> str:
    """Return the docstring of an operation of ``row`` in one vocabulary.

    Args:
        signature: the operation's parameters in the vocabulary, as source text.
        renamed: the vocabulary's names for the row's operands and arguments, if they differ.
        wording: the vocabulary's own texts.
        spelled: returns the name and the arguments of an operation in the vocabulary.

    Returns:
        A docstring in Google's style. Its lines are not wrapped.
    """
    names = parameters_of(signature)

    def called(text: str) -> str:
        return re.sub(r"\b[a-z]\w*\b(?!\()", lambda found: renamed.get(found[0], found[0]), text)

    operands = [name for x in row.operands if (name := called(x)) in names]
    target = called(row.target)
    parts = [called(row.doc) + (f" In place: {target} is overwritten and returned." if in_place else "")]
    if operands:
        text = _operands(row, in_place, target, called(row.takes), len(operands), wording.weak)
        if row.same_dtype:
            text += f" {_listed(map(called, row.same_dtype))} must have the same dtype; none is converted."
        parts.append(f"Args:\n    {', '.join(operands)}: {text}")
    parts.append(f"Returns:\n    {_result(row, in_place, target, called(row.gives))}")
    axes = [axis for name in row.argument_names if name in ("axis", "dim") and (axis := called(name)) in names]
    refuses = [f"IndexError: for {axis} that is not a dimension of {target}." for axis in axes]
    refuses += [called(line).replace("ValueError", wording.shape, 1) for line in row.refuses]
    if row.accepts:
        refuses.append(f"TypeError: for operands that are not {row.accepts}.")
    if row.same_dtype:
        refuses.append(f"{wording.dtype}: for different dtypes of {_listed(map(called, row.same_dtype))}.")
    parts.append(f"Raises:\n{_errors(row, in_place, target, refuses, wording)}")
    rules = row.rules_in_place if in_place else row.rules
    shown = [(called(x), called(rule)) for x, rule in rules.items() if called(x) in names]
    lines = [f"    {x}: {in_words(rule, x, spelled)}" for x, rule in shown] + [
        f"    where {mark} is {in_words(called(expression), target, spelled)}"
        for mark, expression in row.marks.items()
        if any(re.search(rf"\b{mark}\b", rule) for _, rule in shown)
    ]
    if lines:
        parts.append("\n".join(["Gradient of each operand, where g is the gradient of the result:", *lines]))
    return "\n\n".join(parts)


def parameters_of(signature: str) -> list[str]:
    """Return the names of the parameters in ``signature``, which is source text."""
    return re.findall(r"(?:^|,)\s*\**(\w+)", re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", signature))


def _operands(row: Row, in_place: bool, target: str, takes: str, count: int, weak: str) -> str:
    dtypes = _promote(row, in_place, target, weak) if len(row.promote) > 1 and not row.same_dtype else ""
    if takes:
        return f"{'a tensor' if count == 1 else 'tensors'}. Shapes: {takes}.{dtypes}"
    if count == 1:
        return "a tensor of any shape."
    shapes = f"to the shape of {target}" if in_place else "against each other"
    return f"tensors, arrays or numbers, at least one a tensor. Shapes are broadcast {shapes}.{dtypes}"


def _listed(names: Iterable[str]) -> str:
    """Return "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _promote(row: Row, in_place: bool, target: str, weak: str) -> str:
    if in_place and row.zero_slopes:
        return ""  # a comparison stores its truth values in any dtype
    if in_place:
        return f" They are converted to the dtype of {target}, which never changes."
    kinds = {
        "": "a float dtype wins over integers, an integer dtype wins over bools, and the wider of two dtypes of one "
        f"kind wins. {weak} counts by its kind, not by its width.",
        "integers or bools": "an integer dtype wins over bools, and the wider of two integer dtypes wins.",
        "integers": "the wider of the two wins.",
    }
    return f" Two dtypes are promoted to one: {kinds[row.accepts]}"


def _result(row: Row, in_place: bool, target: str, gives: str) -> str:
    if in_place:
        return f"{target} itself: its shape and dtype do not change, its version rises by one."
    shape = "the broadcast shape" if row.elementwise and len(row.operands) > 1 else f"the shape of {target}"
    dtype = "; of float32, if the operands hold integers" if row.floats else ""
    return f"A new tensor of {gives or shape}, on a new storage{dtype}."


def _errors(row: Row, in_place: bool, target: str, refuses: list[str], wording: Wording) -> str:
    found = ["TypeError: for an operand that is not a tensor, array or number."]
    if row.takes:
        found.append(f"{wording.shape}: for other shapes.")
    elif row.elementwise and len(row.operands) > 1:
        fit = f"cannot be broadcast to that of {target}" if in_place else "cannot be broadcast against each other"
        found.append(f"{wording.shape}: for shapes that {fit}.")
    found += refuses
    if {"index", "indices", "rows"}.intersection(row.operands):
        found.append("IndexError: for an index out of range.")
    if in_place:
        if row.rules_in_place:
            found.append(f"{wording.shape}: for a leaf that requires a gradient, or a view of one, in grad mode.")
        if {row.target, *row.marks} & {*row.saved_in_place}:
            found.append(f'{wording.shape}: under the policy "2.5", if backward needs the overwritten values.')
        if row.floats or (len(row.promote) > 1 and not row.same_dtype and not row.zero_slopes):
            found.append(f"{wording.dtype}: for a result that the dtype of {target} cannot hold.")
        found.append(f"RuntimeError: if elements of {target} share memory, or {target} is read-only.")
        found.append("In all these cases, nothing is written.")
    return "\n".join(f"    {line}" for line in found)
