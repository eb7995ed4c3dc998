"""Helpers of the rules on tensors for ``take_along_axis``, ``put_along_axis`` and ``scatter_add``.

``flat`` contains the positions of the indexed elements in the flattened tensor, in the order of the index. A
:func:`~minitensor.engine.autograd.rules.on_tensors.constant` gets a copy of it, because ``flat`` may be a view, and the
array of a constant must own its memory.
"""

from __future__ import annotations

import math

import numpy as np

from minitensor.engine.autograd.rules.on_tensors import OPERATIONS, constant
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.kernels.along_axis import positions, turns_of
from minitensor.engine.kernels.indexed import last_of_each
from minitensor.engine.operations.rules import on_arrays_along_axis as on_arrays
from minitensor.engine.views.joining import broadcast_to
from minitensor.engine.views.reshaping import reshape

_where, _index_select, _index_add, _index_fill, _scatter = (
    OPERATIONS[name] for name in ("where", "index_select", "index_add", "index_fill", "scatter")
)
Shape = tuple[int, ...]


def _line(x: Tensor) -> Tensor:
    return reshape(x, [x.size])


def _take(x: Tensor, flat: np.ndarray, shape: Shape) -> Tensor:
    """Return the elements of ``x`` at the positions ``flat``."""
    return reshape(_index_select(_line(x), constant(flat.copy()), 0), shape)


def _add_at(g: Tensor, flat: np.ndarray, shape: Shape) -> Tensor:
    """Return zeros of ``shape``, with ``g`` added at the positions ``flat``."""
    zeros = constant(np.zeros((math.prod(shape),), g._array.dtype, like=g._array))
    return reshape(_index_add(zeros, constant(flat.copy()), 0, _line(g)), shape)


def fitted_to(taken_g: Tensor, shape: Shape, broadcast: bool) -> Tensor:
    """Return the gradient of values of ``shape``: ``taken_g``, extended by 0 for values beyond the index's shape.

    If the values were broadcast, return ``taken_g`` unchanged; the engine sums it to ``shape``.
    """
    have = taken_g._array.shape
    if broadcast or len(have) != len(shape) or math.prod(shape) == 1 or have == shape:
        return taken_g
    covered = np.arange(math.prod(shape), like=taken_g._array).reshape(shape)[tuple(slice(0, n) for n in have)]
    return _add_at(taken_g, covered.reshape(-1), shape)


def emptied_along(g: Tensor, indices: Tensor, axis: int, broadcast: bool) -> Tensor:
    """Return ``g`` with 0 at the indexed elements."""
    flat, _ = positions(indices._array, g._array.shape, axis, broadcast)
    return reshape(_index_fill(_line(g), constant(flat.copy()), 0, 0.0), g.shape)


def taken_along(g: Tensor, indices: Tensor, axis: int, broadcast: bool, shape: Shape) -> Tensor:
    """Return the gradient of the added values."""
    flat, spread = positions(indices._array, g._array.shape, axis, broadcast)
    return fitted_to(_take(g, flat, spread), shape, broadcast)


def last_along(g: Tensor, indices: Tensor, axis: int, broadcast: bool, shape: Shape) -> Tensor:
    """Return the gradient of the assigned values; only the last value assigned to an element has one."""
    flat, spread = positions(indices._array, g._array.shape, axis, broadcast)
    last = constant(last_of_each(flat).reshape(spread).copy())
    return fitted_to(_where(last, _take(g, flat, spread), 0.0), shape, broadcast)


def added_along(g: Tensor, indices: Tensor, axis: int, broadcast: bool, shape: Shape) -> Tensor:
    """Return the gradient of the input of ``take_along_axis``."""
    read = tuple(shape[d] if d == axis % len(shape) else max(n, shape[d]) for d, n in enumerate(g._array.shape))
    read = read if broadcast else shape
    flat, _ = positions(indices._array, read, axis, broadcast)
    return _add_at(g, flat, read)


def shares_along(g: Tensor, indices: Tensor, axis: int, include_self: bool, broadcast: bool) -> Tensor:
    """Return, for every element of ``g``, 1 divided by the number of values that were averaged for this element."""
    return constant(on_arrays.shares_along(g._array, indices._array, axis, include_self, broadcast))


def multiplied_ones(g: Tensor, indices: Tensor, values: Tensor, axis: int, broadcast: bool) -> Tensor:
    """Return, in the shape of ``g``, the product of the values by which each element was multiplied."""
    ones = constant(np.ones_like(g._array))
    return OPERATIONS["put_along_axis_multiply"](ones, indices, values, axis, True, broadcast)


def factors_along(
    arr: Tensor, indices: Tensor, values: Tensor, axis: int, include_self: bool, broadcast: bool
) -> Tensor:
    """Return for every value the product of all other factors of the element that it was multiplied into."""
    flat, spread = positions(indices._array, arr._array.shape, axis, broadcast)
    factors = _line(_align(values, spread, broadcast))
    distinct, place = np.unique(flat, return_inverse=True)
    place = place.reshape(-1)
    turns = turns_of(flat)
    ones = constant(np.ones_like(factors._array, shape=distinct.shape))
    start = _take(arr, distinct, distinct.shape) if include_self else ones
    before = _product_before(start, turns, place, factors)
    after = _product_before(ones, turns[::-1], place, factors)
    return reshape(before * after, spread)


def _product_before(running: Tensor, turns: list[np.ndarray], place: np.ndarray, factors: Tensor) -> Tensor:
    """Return for every factor the product of the earlier factors of the same element, starting from ``running``."""
    found = constant(np.zeros_like(factors._array))
    ones = constant(np.ones_like(running._array))
    for turn in turns:
        at, these = constant(place[turn]), constant(turn)
        found = _index_add(found, these, 0, _index_select(running, at, 0))
        running = running * _scatter(ones, at, _index_select(factors, these, 0))
    return found


def _align(values: Tensor, wanted: Shape, broadcast: bool) -> Tensor:
    """Return ``values`` in ``wanted``, the shape of the index: broadcast, or cut if ``broadcast`` is false."""
    have = values._array.shape
    if not broadcast and len(have) == len(wanted) and values.size != 1:
        covered = np.arange(values.size, like=values._array).reshape(have)[tuple(slice(0, n) for n in wanted)]
        return _take(values, covered.reshape(-1), wanted)
    return broadcast_to(values, list(wanted))


def multiplied_along(
    g: Tensor,
    arr: Tensor,
    indices: Tensor,
    values: Tensor,
    axis: int,
    include_self: bool,
    broadcast: bool,
    shape: Shape,
) -> Tensor:
    """Return the gradient of the values by which the elements of ``arr`` were multiplied."""
    flat, spread = positions(indices._array, g._array.shape, axis, broadcast)
    slopes = factors_along(arr, indices, values, axis, include_self, broadcast)
    return fitted_to(_take(g, flat, spread) * slopes, shape, broadcast)


def _ties(kept: Tensor, out: Tensor, indices: Tensor, values: Tensor, *how: object) -> Tensor:
    arrays = (x._array for x in (kept, out, indices, values))
    return constant(on_arrays.ties_along(*arrays, *how))  # type: ignore[arg-type]  # unpacked positional arguments


def extreme_self(
    g: Tensor,
    kept: Tensor,
    out: Tensor,
    indices: Tensor,
    values: Tensor,
    axis: int,
    include_self: bool,
    broadcast: bool,
) -> Tensor:
    """Return the gradient of ``arr`` for a reduction that stored the largest or smallest values in it."""
    part = g / _ties(kept, out, indices, values, axis, include_self, broadcast)
    rest = _where(kept, part, 0.0)
    return rest if include_self else emptied_along(rest, indices, axis, broadcast)


def extreme_along(
    g: Tensor,
    kept: Tensor,
    out: Tensor,
    indices: Tensor,
    values: Tensor,
    axis: int,
    include_self: bool,
    broadcast: bool,
    shape: Shape,
) -> Tensor:
    """Return the gradient of the values for a reduction that stored the largest or smallest of them."""
    flat, spread = positions(indices._array, g._array.shape, axis, broadcast)
    part = g / _ties(kept, out, indices, values, axis, include_self, broadcast)
    won = on_arrays.winners_along(out._array, indices._array, values._array, axis, broadcast)
    return fitted_to(_where(constant(won), _take(part, flat, spread), 0.0), shape, broadcast)
