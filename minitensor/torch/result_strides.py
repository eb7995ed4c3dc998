"""PyTorch's layouts of results: which strides the result of an operation has.

Elementwise operations keep the order of their operands, as PyTorch's TensorIterator does: the result of ``x.T + 1`` is
transposed. The results of other operations are contiguous, except for those in :data:`RULES`. A test compares all of it
with the layouts of PyTorch in ``facts/layouts.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitensor.engine.core.layout_rules import Rule, contiguous, noted
from minitensor.engine.core.storage import new_storage
from minitensor.engine.table import ROWS

Array = Any
Tensor = Any


# ---------- orders of dimensions ----------


def _is_dense(array: Array) -> bool:
    """True if the elements fill a stretch of memory without gaps, each cell once."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if stride != step * array.itemsize:
            return False
        step *= n
    return True


def _broadcast_strides(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of ``array`` broadcast to ``shape``: 0 where it is repeated."""
    missing = len(shape) - array.ndim
    own = zip(array.strides, array.shape, shape[missing:], strict=True)
    return (0,) * missing + tuple(0 if n == 1 != whole else stride for stride, n, whole in own)


def _comes_later(strides: list[tuple[int, ...]], shape: tuple[int, ...], one: int, other: int) -> int:
    """Return 1 if dimension ``one`` is to be outside of ``other`` in memory, -1 for the reverse, 0 if both may be.

    The first operand that is repeated along neither decides. Of equal strides, the shorter dimension is inside.
    """
    for each in strides:
        a, b = each[one], each[other]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[one] > shape[other]:
            return 1
    return 0


def order_of(operands: Sequence[Array], shape: tuple[int, ...]) -> list[int]:
    """Return the dimensions of a result from the innermost to the outermost, in the order of its operands.

    This is an insertion sort, as in PyTorch, because comparisons may be undecided and then are not transitive.
    """
    return _sort([_broadcast_strides(array, shape) for array in operands], shape)


def _sort(strides: list[tuple[int, ...]], shape: tuple[int, ...]) -> list[int]:
    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            later = _comes_later(strides, shape, order[before], order[at])
            if later > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif later < 0:
                break
    return order


def order_of_gradient(leaf: Array) -> tuple[int, ...] | None:
    """Return the dimensions of ``leaf`` from the outermost to the innermost if its gradient has the same strides.

    None means that the gradient is contiguous, as it is for a leaf with gaps.
    """
    if leaf.flags.c_contiguous or not _is_dense(leaf):
        return None
    return tuple(order_of([leaf], leaf.shape)[::-1])


def in_order(result: Array, order: Sequence[int]) -> Array:
    """Return ``result``, or a copy, whose dimensions have this order in memory, from the innermost to the outermost."""
    outward = list(order)[::-1]
    arranged = result.transpose(outward)
    if arranged.flags.c_contiguous:
        return result
    return arranged.copy().transpose(sorted(range(len(outward)), key=outward.__getitem__))


# ---------- rules ----------


def iterated(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out a result elementwise, in the order of the operands."""
    if result.ndim < 2:
        return contiguous(result, operands)
    first = operands[0]
    if all(x.shape == result.shape and x.strides == first.strides for x in operands) and _is_dense(first):
        order = sorted(range(first.ndim), key=lambda d: (first.strides[d], -d))
    else:
        order = order_of(operands, result.shape)
    return in_order(result, order)


def like_first(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out a result as the first operand, without its gaps."""
    return iterated(result, operands[:1])


def picked(result: Array, source: Array, axes: Sequence[int], index: Sequence[Array]) -> Array:
    """Lay out the elements that index arrays pick: in the order of the dimensions of ``source`` that are left.

    Args:
        result: the elements.
        source: the array that they are picked from.
        axes: the dimensions that the arrays index. If they are not adjacent, those of the arrays come first.
        index: the index arrays, which are broadcast against each other.
    """
    kept = [d for d in range(source.ndim) if d not in axes]
    before = sum(d < axes[0] for d in kept) if axes[-1] - axes[0] == len(axes) - 1 else 0
    new = result.ndim - len(kept)
    strides = [source.strides[d] for d in kept]
    strides[before:before] = [0] * new
    operands = [tuple(strides)]
    for each in index:
        own = _broadcast_strides(each, result.shape[before : before + new])
        operands.append((0,) * before + own + (0,) * (result.ndim - before - new))
    return in_order(result, _sort(operands, result.shape))


def _is_channels_last(array: Array) -> bool:
    """True if an operand consists of images whose channels are its innermost dimension in memory."""
    if array.ndim != 4 or 1 in (array.shape[1], *array.shape[2:]):
        return False
    order = sorted(range(4), key=lambda d: array.strides[d])
    return order == [1, 3, 2, 0] and all(array.strides)


def images(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out images with their channels inside if the first operand has them inside, else contiguously."""
    return in_order(result, (1, 3, 2, 0)) if _is_channels_last(operands[0]) else contiguous(result, operands)


def all_images(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out joined images with their channels inside if all operands have them inside, else contiguously."""
    return images(result, operands) if all(map(_is_channels_last, operands)) else contiguous(result, operands)


def by_columns(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out a matrix with the first index fastest."""
    return in_order(result, (0, 1)) if result.ndim == 2 else result


#: Operations whose rule does not follow from their row of the derivative table: in the engine's names, or in PyTorch's
#: if they are not one row.
RULES: dict[str, Rule] = {
    **dict.fromkeys(("fill", "zero", "masked_fill", "tril", "triu", "softmax"), contiguous),
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "cumsum", "cumsum_reversed", "cumprod"), contiguous),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "isclose", "binary_cross_entropy"), iterated),
    **dict.fromkeys(("argsort", "cast", "index_fill", "index_put"), like_first),
    **dict.fromkeys(("conv2d", "batch_norm"), images),
    "concat": all_images,
    "nonzero": by_columns,
}


def rule_of(op: str) -> Rule:
    """Return the rule for the results of an operation: by its name, else elementwise for rows that are."""
    rule = RULES.get(op)
    if rule is not None:
        return rule
    return iterated if op in ROWS and ROWS[op].elementwise else contiguous


def arranged(out: Tensor, rule: Rule, *inputs: Tensor) -> Tensor:
    """Return ``out``, the result of a composition of operations, in the layout of ``rule`` for the whole of them.

    It is a new tensor that nothing else refers to yet, and whose last operation saved its operands at most.
    """
    array = noted(rule(out._array, [x._array for x in inputs]))
    if array is not out._array:
        out._array, out._storage = array, new_storage(array)
    return out
