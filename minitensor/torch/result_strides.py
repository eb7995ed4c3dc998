"""Give the results of operations the same strides as in PyTorch.

The result of an elementwise operation has its dimensions in the same memory order as the operands, as in PyTorch's
TensorIterator: the result of ``x.T + 1`` is transposed. The results of other operations are contiguous, unless
:data:`RULES` has another rule for the operation. A test compares the strides with PyTorch's, which are recorded in
``facts/layouts.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitensor.engine.core.layout_rules import Rule, register_layout
from minitensor.engine.core.layout_rules import strided as strided_tensors
from minitensor.engine.core.storage import new_storage
from minitensor.engine.device.arrays import owner_of, restrided, strided
from minitensor.engine.table import ROWS

Array = Any
Tensor = Any


#: The dimensions of images in the memory format ``channels_last``, from the innermost to the outermost.
_BY_PIXELS = (1, 3, 2, 0)
_NUMBER = np.zeros(())


# ---------- orders of dimensions ----------


def _is_dense(array: Array) -> bool:
    """True if the elements fill a range of memory without gaps and without overlaps."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if stride != step * array.itemsize:
            return False
        step *= n
    return True


def _broadcast_strides(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides that ``array`` has when it is broadcast to ``shape``: 0 along dimensions that repeat it."""
    missing = len(shape) - array.ndim
    own = zip(array.strides, array.shape, shape[missing:], strict=True)
    return (0,) * missing + tuple(0 if n == 1 != whole else stride for stride, n, whole in own)


def _compare_strides(strides: list[tuple[int, ...]], shape: tuple[int, ...], one: int, other: int) -> int:
    """Compare two dimensions of the result. Return 1 if the dimension ``one`` needs a larger stride than ``other``, -1
    if it needs a smaller stride, and 0 if the comparison is undecided.

    Operands that are repeated along one of the two dimensions are skipped. The strides of the first operand that is not
    skipped decide. If these strides are equal, ``one`` gets the larger stride if it is the longer dimension; otherwise
    the next operand decides.
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
    """Return the dimensions of a result from the innermost to the outermost, in the memory order of its operands.

    As in PyTorch, the dimensions are sorted by insertion. Some comparisons are undecided, so another sorting method
    could have another result.
    """
    return _sort([_broadcast_strides(array, shape) for array in operands], shape)


def _sort(strides: list[tuple[int, ...]], shape: tuple[int, ...]) -> list[int]:
    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            compared = _compare_strides(strides, shape, order[before], order[at])
            if compared > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif compared < 0:
                break
    return order


def order_of_gradient(leaf: Array) -> tuple[int, ...] | None:
    """Return the dimensions of the gradient of ``leaf`` in their memory order, from the outermost to the innermost.

    None means that the gradient is contiguous. PyTorch creates a contiguous gradient if the leaf is contiguous or has
    gaps.
    """
    if leaf.flags.c_contiguous or not _is_dense(leaf):
        return None
    return tuple(order_of([leaf], leaf.shape)[::-1])


def in_order(result: Array, order: Sequence[int]) -> Array:
    """Return ``result``, or a copy of it, with its dimensions in memory in the order ``order``, innermost first."""
    outward = list(order)[::-1]
    return result if result.transpose(outward).flags.c_contiguous else copied_in_order(result, outward)


def _with_strides(result: Array, strides: Sequence[int]) -> Array:
    """Return the dense ``result`` with ``strides``, in elements. Only dimensions of length 1 may get other strides."""
    wanted = tuple(s * result.itemsize for s in strides)
    if result.strides == wanted or not result.size:
        return result
    outward = sorted(range(result.ndim), key=lambda d: (-result.strides[d], d))
    return strided(result.transpose(outward).reshape(-1), 0, result.shape, wanted)


def _strides_of(array: Array) -> list[int]:
    return [stride // array.itemsize for stride in array.strides]


def _strides_in_order(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Return the strides, in elements, of an array without gaps. ``order`` has its dimensions, innermost first."""
    strides, step = [1] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return strides


def _in_usual_order(result: Array, order: Sequence[int]) -> Array:
    """Return ``result``, a view or a copy of it, with its dimensions in the order ``order``, innermost first.

    Dimensions of length 1 get the strides that they have in a new tensor.
    """
    result = in_order(result, order)
    return _with_strides(result, _strides_in_order(result.shape, order)) if 1 in result.shape else result


def copied_in_order(array: Array, outward: Sequence[int]) -> Array:
    """Return a copy of ``array`` with its dimensions in memory in the order ``outward``, outermost first."""
    return array.transpose(outward).copy().transpose(sorted(range(len(outward)), key=outward.__getitem__))


def view_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides, in bytes, of a view of ``array`` in another shape. None means that the shape needs a copy.

    As in PyTorch, neighbouring dimensions that are contiguous with each other form a group. Each group is divided into
    new dimensions, from the last to the first. numpy makes the same views, but gives dimensions of length 1 other
    strides.

    Args:
        array: an array with at least one element.
        shape: the new shape, for the same number of elements.
    """
    old, strides = array.shape or (1,), array.strides or (array.itemsize,)
    new, at = [0] * len(shape), len(shape) - 1
    base, ours, theirs = strides[-1], 1, 1  # the group's last stride; its number of elements, in old and new dimensions
    for d in range(len(old) - 1, -1, -1):
        ours *= old[d]
        if d > 0 and (old[d - 1] == 1 or strides[d - 1] == ours * base):
            continue  # the previous dimension belongs to the same group
        while at >= 0 and (theirs < ours or shape[at] == 1):
            new[at] = theirs * base
            theirs *= shape[at]
            at -= 1
        if theirs != ours:
            return None
        base, ours, theirs = strides[d - 1], 1, 1
    return tuple(new)


def register_strides(array: Array) -> Array:
    """Return ``array``, the array of a new view, and set ``strided_tensors.unusual`` if its strides are unusual.

    Only arrays that numpy calls contiguous are checked, because numpy ignores the strides of dimensions of length 1.
    """
    if not strided_tensors.unusual and 1 in array.shape and array.flags.c_contiguous:
        usual = _strides_in_order(array.shape, range(array.ndim)[::-1])
        strided_tensors.unusual = _strides_of(array) != usual
        strided_tensors.exist |= strided_tensors.unusual
    return array


# ---------- rules ----------

# Each rule returns ``result``, or a view or copy of it, in the memory layout that the docstring of the rule describes.


def contiguous(result: Array, operands: Sequence[Array]) -> Array:
    """Return ``result``, a copy or a view of it in C order (last index fastest), with the strides of a new tensor."""
    if not result.flags.c_contiguous:
        result = result.copy()
    if 1 not in result.shape:
        return result
    return _with_strides(result, _strides_in_order(result.shape, range(result.ndim)[::-1]))


def like_operands(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out an elementwise result in the memory order of the operands."""
    if result.ndim < 2:
        return contiguous(result, operands)
    first = operands[0]
    if all(x.shape == result.shape for x in operands):
        if all(x.flags.c_contiguous for x in operands):
            return contiguous(result, operands)
        if all(map(_is_contiguous_by_pixels, operands)):
            return _in_usual_order(result, _BY_PIXELS)
        if all(x.strides == first.strides for x in operands) and _is_dense(first):
            result = in_order(result, sorted(range(first.ndim), key=lambda d: (first.strides[d], -d)))
            return _with_strides(result, _strides_of(first)) if 1 in result.shape else result
    return _in_usual_order(result, order_of(operands, result.shape))


def beside_number(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out an elementwise result of two operands. If ``operands`` has one array, the other operand is a number."""
    return like_operands(result, [*operands, _NUMBER][:2])


def without_numbers(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out an elementwise result in the memory order of those operands that are not numbers."""
    return like_operands(result, [x for x in operands if x.ndim] or operands)


def like_first(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out a copy of the first operand: with the operand's strides if it has no gaps, else in its memory order."""
    result, first = like_operands(result, operands[:1]), operands[0]
    return _with_strides(result, _strides_of(first)) if 1 in result.shape and _is_dense(first) else result


def picked(result: Array, source: Array, axes: Sequence[int], index: Sequence[Array]) -> Array:
    """Lay out ``result``, the elements of ``source`` that index arrays select. The dimensions that are not indexed have
    the same memory order as in ``source``.

    Args:
        axes: the indexed dimensions of ``source``. If they are not adjacent, the dimensions of the index arrays come
            first in the result.
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
    return _in_usual_order(result, _sort(operands, result.shape))


def _is_contiguous_by_pixels(array: Array) -> bool:
    """True if the elements of images are adjacent, with the channels innermost. The strides of dimensions of length 1
    may have any value.
    """
    return array.ndim == 4 and bool(array.transpose(_BY_PIXELS[::-1]).flags.c_contiguous)


def is_channels_last(array: Array) -> bool:
    """True if PyTorch classifies ``array`` as images with the channels innermost in memory.

    The shape of images is [images, channels, height, width]. All strides matter, even of dimensions of length 1.
    """
    shape, strides = array.shape, array.strides
    if array.ndim != 4 or strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for d in _BY_PIXELS:
        if strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * shape[d]
    return True


def images(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out images with the channels innermost if the first operand has this layout, else contiguously."""
    return _in_usual_order(result, _BY_PIXELS) if is_channels_last(operands[0]) else contiguous(result, operands)


def all_images(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out joined images with the channels innermost if all operands have this layout, else contiguously."""
    return images(result, operands) if all(map(is_channels_last, operands)) else contiguous(result, operands)


def any_images(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out the result of a convolution with the channels innermost if the images or the weights have this layout."""
    return images(result, [x for x in operands[:2] if is_channels_last(x)] or operands)


def by_columns(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out a matrix column by column."""
    return in_order(result, (0, 1)) if result.ndim == 2 else result


def attended(result: Array, operands: Sequence[Array]) -> Array:
    """Lay out the result of an attention.

    If queries, keys and values have four dimensions, of which the last is contiguous, PyTorch calls a faster function.
    Its result has the memory order of the queries.
    """
    is_fast = all(x.ndim == 4 and x.strides[-1] == x.itemsize for x in operands)
    return like_first(result, operands) if is_fast else contiguous(result, operands)


def stacked(dim: int) -> Rule:
    """Return the rule for tensors that are stacked along ``dim``. PyTorch joins them along the existing dimension
    ``dim``, and then divides this dimension.
    """

    def lay_out(result: Array, operands: Sequence[Array]) -> Array:
        shape = result.shape
        if dim == len(shape) - 1 or not all(map(is_channels_last, operands)):
            return contiguous(result, operands)
        joined = result.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])
        joined = images(joined, operands)
        strides = view_strides(joined, shape)
        assert strides is not None, "dividing a dimension needs no copy"
        return restrided(joined, shape, strides)

    return lay_out


#: Maps operations to layout rules that differ from the defaults in :func:`rule_of`. The names are the engine's, or
#: PyTorch's for operations that are not a single row of the derivative table.
RULES: dict[str, Rule] = {
    **dict.fromkeys(("fill", "zero", "masked_fill", "tril", "triu", "softmax", "log_sigmoid"), contiguous),
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "cumsum", "cumsum_reversed", "cumprod"), contiguous),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), beside_number),
    **dict.fromkeys(("isclose", "binary_cross_entropy"), like_operands),
    **dict.fromkeys(("pow", "lerp"), without_numbers),
    **dict.fromkeys(("argsort", "cast", "index_fill", "index_put", "nan_to_num", "hardtanh", "relu6"), like_first),
    "batch_norm": images,
    "conv2d": any_images,
    "concat": all_images,
    "nonzero": by_columns,
}


def rule_of(op: str) -> Rule:
    """Return the layout rule for the results of an operation. If ``RULES`` has none, it is ``like_operands`` for an
    elementwise row of the derivative table, and ``contiguous`` for any other operation.
    """
    return RULES.get(op) or (like_operands if op in ROWS and ROWS[op].elementwise else contiguous)


def arrange(out: Tensor, rule: Rule, *inputs: Tensor) -> Tensor:
    """Return ``out`` in the layout that ``rule`` gives to the result of one operation on ``inputs``, although several
    operations have computed ``out`` from ``inputs``.

    ``out`` must be a new tensor to which nothing else refers, and the last operation must not have saved it.
    """
    array = register_layout(rule(out._array, [x._array for x in inputs]))
    if array is not out._array:
        is_view = owner_of(array) is owner_of(out._array)
        out._array, out._storage = array, out._storage if is_view else new_storage(array)
    return out
