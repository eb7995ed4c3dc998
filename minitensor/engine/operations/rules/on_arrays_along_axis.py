"""Helpers of the rules on arrays for ``take_along_axis``, ``put_along_axis`` and ``scatter_add``.

``flat`` lists the positions of the indexed elements in the flattened array, in the order of the index. ``kept`` is True
for the elements of ``arr`` that equal the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.device.arrays import add_at, beside
from minitensor.engine.kernels.along_axis import (
    cells,
    counts,
    lined_up,
    positions,
    put_along_axis,
    put_along_axis_multiply,
    taken,
    turns_of,
)
from minitensor.engine.kernels.indexed import added_at, last_of_each

Array = Any  # a numpy array, or an array on a GPU
Shape = tuple[int, ...]


def fitted_to(taken_g: Array, shape: Shape, broadcast: bool) -> Array:
    """Return the gradient of values of ``shape``: ``taken_g``, extended by 0 for values beyond the index's shape.

    If the values were broadcast, return ``taken_g`` unchanged; the engine sums it to ``shape``.
    """
    if broadcast or taken_g.ndim != len(shape) or np.prod(shape) == 1 or taken_g.shape == shape:
        return taken_g
    whole = np.zeros(shape, taken_g.dtype, like=taken_g)
    whole[tuple(slice(0, n) for n in taken_g.shape)] = taken_g
    return whole


def emptied_along(g: Array, indices: Array, axis: int, broadcast: bool) -> Array:
    """Return ``g`` with 0 at the indexed elements."""
    return put_along_axis(g, indices, np.zeros((), g.dtype, like=g), axis, broadcast)


def taken_along(g: Array, indices: Array, axis: int, broadcast: bool, shape: Shape) -> Array:
    """Return the gradient of the values that were added."""
    flat, spread = positions(indices, g.shape, axis, broadcast)
    return fitted_to(taken(g, flat).reshape(spread), shape, broadcast)


def last_along(g: Array, indices: Array, axis: int, broadcast: bool, shape: Shape) -> Array:
    """Return the gradient of assigned values. Only the last value assigned to an element has one."""
    flat, spread = positions(indices, g.shape, axis, broadcast)
    gradient = np.where(last_of_each(flat), taken(g, flat), g.dtype.type(0))
    return fitted_to(gradient.reshape(spread), shape, broadcast)


def added_along(g: Array, indices: Array, axis: int, broadcast: bool, shape: Shape) -> Array:
    """Return the gradient of the input of ``take_along_axis``. An element that was read twice gets both gradients."""
    broadcast_shape = tuple(shape[d] if d == axis % len(shape) else max(n, shape[d]) for d, n in enumerate(g.shape))
    whole = np.zeros(broadcast_shape if broadcast else shape, g.dtype, like=g)
    flat, _ = positions(indices, whole.shape, axis, broadcast)
    if flat.size:
        added_at(*cells(whole, flat), g.reshape(-1))
    return whole


# ---------- means ----------


def shares_along(g: Array, indices: Array, axis: int, include_self: bool, broadcast: bool) -> Array:
    """Return, for every element of ``g``, 1 divided by the number of values that were averaged for this element."""
    flat, _ = positions(indices, g.shape, axis, broadcast)
    whole = np.ones_like(g, order="C")
    if flat.size:
        whole.reshape(-1)[flat] = 1 / counts(flat, include_self)
    return whole


# ---------- products ----------


def multiplied_ones(g: Array, indices: Array, values: Array, axis: int, broadcast: bool) -> Array:
    """Return for every element of ``g`` the product of the values by which it was multiplied."""
    return put_along_axis_multiply(np.ones_like(g), indices, values, axis, True, broadcast)


def factors_along(arr: Array, indices: Array, values: Array, axis: int, include_self: bool, broadcast: bool) -> Array:
    """Return for every value the product of the other factors of its element, without dividing by a factor."""
    flat, spread = positions(indices, arr.shape, axis, broadcast)
    factors = lined_up(beside(values, arr), spread, broadcast).reshape(-1)
    turns = turns_of(flat)
    before, after = np.ones_like(factors), np.ones_like(factors)
    running = np.empty_like(factors, shape=(int(flat.max()) + 1 if flat.size else 0,))
    with np.errstate(all="ignore"):
        running[flat] = taken(arr, flat) if include_self else 1
        for turn in turns:
            before[turn] = running[flat[turn]]
            running[flat[turn]] *= factors[turn]
        running[flat] = 1
        for turn in reversed(turns):
            after[turn] = running[flat[turn]]
            running[flat[turn]] *= factors[turn]
        return (before * after).reshape(spread)


def multiplied_along(
    g: Array, arr: Array, indices: Array, values: Array, axis: int, include_self: bool, broadcast: bool, shape: Shape
) -> Array:
    """Return the gradient of the values by which the elements of ``arr`` were multiplied."""
    flat, spread = positions(indices, g.shape, axis, broadcast)
    with np.errstate(all="ignore"):
        slopes = factors_along(arr, indices, values, axis, include_self, broadcast)
        return fitted_to(taken(g, flat).reshape(spread) * slopes, shape, broadcast)


# ---------- extremes ----------


def winners_along(out: Array, indices: Array, values: Array, axis: int, broadcast: bool) -> Array:
    """Return for every value True if it equals the result at its element: the largest or smallest value there."""
    flat, spread = positions(indices, out.shape, axis, broadcast)
    return lined_up(beside(values, out), spread, broadcast) == taken(out, flat).reshape(spread)


def ties_along(
    kept: Array, out: Array, indices: Array, values: Array, axis: int, include_self: bool, broadcast: bool
) -> Array:
    """Return how many values equal each element of the result, at least 1; ``include_self`` also counts ``arr``."""
    flat, _ = positions(indices, out.shape, axis, broadcast)
    ties = kept.astype(out.dtype, order="C")
    if flat.size:
        line = ties.reshape(-1)
        if not include_self:
            line[flat] = 0
        add_at(line, flat, winners_along(out, indices, values, axis, broadcast).reshape(-1).astype(out.dtype))
    return np.maximum(ties, 1)


def extreme_self(
    g: Array, kept: Array, out: Array, indices: Array, values: Array, axis: int, include_self: bool, broadcast: bool
) -> Array:
    """Return the gradient of ``arr`` if the largest or smallest values were stored in it. Ties share the gradient."""
    with np.errstate(all="ignore"):
        share = g / ties_along(kept, out, indices, values, axis, include_self, broadcast)
    rest = np.where(kept, share, g.dtype.type(0))
    return rest if include_self else emptied_along(rest, indices, axis, broadcast)


def extreme_along(
    g: Array,
    kept: Array,
    out: Array,
    indices: Array,
    values: Array,
    axis: int,
    include_self: bool,
    broadcast: bool,
    shape: Shape,
) -> Array:
    """Return the gradient of the values if the largest or smallest of them were stored. Ties share the gradient."""
    flat, spread = positions(indices, g.shape, axis, broadcast)
    with np.errstate(all="ignore"):
        share = g / ties_along(kept, out, indices, values, axis, include_self, broadcast)
    share = taken(share, flat).reshape(spread)
    wins = winners_along(out, indices, values, axis, broadcast)
    return fitted_to(np.where(wins, share, g.dtype.type(0)), shape, broadcast)
