"""Sums of products by Einstein's convention: letters name dimensions, and those that the result lacks are summed.

The operands are multiplied from left to right, each by one batched matrix product. All views, products and sums are
recorded operations, which have gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.views.joining import expand
from minitensor.engine.views.parts import diagonal
from minitensor.engine.views.reshaping import reshape
from minitensor.engine.views.transposing import transpose

#: A label: a letter, or a negative number for a dimension of an ellipsis, counted from its end.
Label = Any
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Term(NamedTuple):
    """A tensor and the label of each of its dimensions."""

    tensor: Tensor
    labels: tuple[Label, ...]


def einsum(op: str, equation: str, operands: tuple[Tensor, ...], matrix_product: Callable[[Any, Any], Any]) -> Tensor:
    """Return the sum of products that ``equation`` describes; a view if nothing is multiplied or summed.

    Args:
        op: the name of the function in errors.
        equation: the labels of each operand, separated by commas, and after ``->`` the labels of the result. Without
            ``->``, the result has the dimensions of ``...``, then every letter that occurs once, in alphabetical order.
        operands: tensors. Dimensions with the same letter must have the same length; those of length 1 are broadcast.
        matrix_product: multiplies two batches of matrices.

    Raises:
        ValueError: if the equation and the operands do not fit together.
        TypeError: if the equation is not text, or an operand is not a tensor.
    """
    if not isinstance(equation, str):
        raise TypeError(f"{op}: equation must be a text such as 'ij,jk->ik', not {shown(equation)}")
    for x in operands:
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: operands must be tensors, not {type(x).__name__}")
    inputs, output = _parse(op, equation, operands)
    lengths = _lengths(op, equation, inputs, operands)
    terms = [_distinct(Term(x, labels)) for x, labels in zip(operands, inputs, strict=True)]
    terms = [_stretch(term, lengths) for term in terms]
    result = terms[0]
    for i, other in enumerate(terms[1:], 1):
        later = set(output).union(*(term.labels for term in terms[i + 1 :]))
        left, right = _in_order_of_result(result, other, output)
        result = _product(left, right, later, lengths, matrix_product)
    result = _sum_unneeded(result, set(output))
    order = [result.labels.index(label) for label in output]
    if order != list(range(len(order))):
        return transpose(result.tensor, order)
    return reshape(result.tensor, result.tensor.shape) if result.tensor is operands[0] else result.tensor


def _in_order_of_result(left: Term, right: Term, output: tuple[Label, ...]) -> tuple[Term, Term]:
    """Return the two terms of a product; exchange them if the result then needs no transposed view."""
    rows = [label for label in output if label in left.labels and label not in right.labels]
    columns = [label for label in output if label in right.labels and label not in left.labels]
    batch = [label for label in output if label in left.labels and label in right.labels]
    return (right, left) if rows and columns and [*batch, *columns, *rows] == [*output] else (left, right)


def _parse(op: str, equation: str, operands: tuple[Tensor, ...]) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """Return the labels of each operand and of the result."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    for letter in left.replace(",", "").replace("...", "") + right.replace("...", ""):
        if letter not in _LETTERS:
            raise ValueError(f"{op}: {letter!r} in the equation {equation!r} is not a letter")
    if len(parts) != len(operands):
        raise ValueError(f"{op}: the equation {equation!r} has {len(parts)} operands, but {len(operands)} were given")
    inputs = [_labels(op, equation, part, x._array.ndim) for part, x in zip(parts, operands, strict=True)]
    ellipsis = max((label for labels in inputs for label in labels if isinstance(label, int)), default=0, key=abs)
    hidden = tuple(range(ellipsis, 0))
    if not arrow:
        letters = [label for labels in inputs for label in labels if isinstance(label, str)]
        return inputs, (*hidden, *sorted(each for each in set(letters) if letters.count(each) == 1))
    if right.count("...") > 1:
        raise ValueError(f"{op}: the result in {equation!r} has more than one '...'")
    before, dots, after = right.partition("...")
    output = (*before, *(hidden if dots else ()), *after)
    for label in output:
        if output.count(label) > 1:
            raise ValueError(f"{op}: the result in {equation!r} has {label!r} more than once")
        if isinstance(label, str) and not any(label in labels for labels in inputs):
            raise ValueError(f"{op}: the result in {equation!r} has {label!r}, which no operand has")
    return inputs, output


def _labels(op: str, equation: str, part: str, ndim: int) -> tuple[Label, ...]:
    """Return the label of each dimension of one operand."""
    if part.count("...") > 1:
        raise ValueError(f"{op}: an operand in {equation!r} has more than one '...'")
    before, dots, after = part.partition("...")
    missing = ndim - len(before) - len(after)
    if missing < 0 or (missing and not dots):
        raise ValueError(
            f"{op}: {part!r} in the equation {equation!r} has {len(before) + len(after)} letters for an operand of "
            f"{ndim} dimensions"
        )
    return (*before, *range(-missing, 0), *after)


def _lengths(op: str, equation: str, inputs: list[tuple[Label, ...]], operands: tuple[Tensor, ...]) -> dict[Label, int]:
    lengths: dict[Label, int] = {}
    for labels, x in zip(inputs, operands, strict=True):
        own: dict[Label, int] = {}
        for label, length in zip(labels, x._array.shape, strict=True):
            if own.setdefault(label, length) != length:
                raise ValueError(f"{op}: {label!r} in {equation!r} has the lengths {own[label]} and {length}")
            known = lengths.get(label, 1)
            if known != length and 1 not in (known, length):
                name = "a dimension of '...'" if isinstance(label, int) else repr(label)
                raise ValueError(f"{op}: {name} in {equation!r} has the lengths {known} and {length}")
            lengths[label] = length if known == 1 else known
    return lengths


def _distinct(term: Term) -> Term:
    """Replace dimensions of the same label by their diagonal."""
    x, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = (*(each for i, each in enumerate(labels) if i not in (first, second)), label)
    return Term(x, labels)


def _stretch(term: Term, lengths: dict[Label, int]) -> Term:
    """Repeat dimensions of length 1 if a dimension of another operand has the same label and is longer."""
    x, labels = term
    shape = [lengths[label] for label in labels]
    return term if shape == list(x._array.shape) else Term(expand(x, shape), labels)


def _sum_unneeded(term: Term, needed: set[Label]) -> Term:
    """Sum the dimensions whose label is not in ``needed``."""
    axes = [i for i, label in enumerate(term.labels) if label not in needed]
    if not axes:
        return term
    return Term(FUNCTIONS["sum"](term.tensor, axes), tuple(label for label in term.labels if label in needed))


def _product(
    left: Term, right: Term, later: set[Label], lengths: dict[Label, int], matrix_product: Callable[[Any, Any], Any]
) -> Term:
    """Return the product of two terms, summed over the labels that are not in ``later``.

    ``later`` has the labels of the result and of the terms that have not been multiplied yet.
    """
    left, right = _sum_unneeded(left, later | set(right.labels)), _sum_unneeded(right, later | set(left.labels))
    both = [label for label in left.labels if label in right.labels]
    batch, inner = [each for each in both if each in later], [each for each in both if each not in later]
    rows = [label for label in left.labels if label not in both]
    columns = [label for label in right.labels if label not in both]

    def stacked(term: Term, *groups: list[Label]) -> Tensor:
        order = [term.labels.index(label) for group in groups for label in group]
        turned = term.tensor if order == list(range(len(order))) else transpose(term.tensor, order)
        return reshape(turned, [math.prod(lengths[label] for label in group) for group in groups])

    if inner:
        x, y = stacked(left, batch, rows, inner), stacked(right, batch, inner, columns)
        found = matrix_product(x, y)
    else:
        x, y = stacked(left, batch, rows, []), stacked(right, batch, [], columns)
        found = FUNCTIONS["multiply"](x, y)
    labels = (*batch, *rows, *columns)
    return Term(reshape(found, [lengths[label] for label in labels]), labels)


def equation_of(op: str, given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and the operands of a call such as ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.

    Raises:
        ValueError: if a number is not from 0 to 51.
        TypeError: if tensors and lists of numbers do not alternate.
    """
    pairs, rest = given[: len(given) // 2 * 2], given[len(given) // 2 * 2 :]

    def word(numbers: Any) -> str:
        if not isinstance(numbers, (list, tuple)):
            raise TypeError(f"{op}: a list of numbers must follow each operand, not {type(numbers).__name__}")
        for each in numbers:
            if each is not Ellipsis and not (isinstance(each, int) and 0 <= each < len(_LETTERS)):
                raise ValueError(f"{op}: a dimension must be a number from 0 to {len(_LETTERS) - 1}, not {shown(each)}")
        return "".join("..." if each is Ellipsis else _LETTERS[each] for each in numbers)

    left = ",".join(word(numbers) for numbers in pairs[1::2])
    return left + (f"->{word(rest[0])}" if rest else ""), pairs[::2]
