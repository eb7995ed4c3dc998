"""Read and write single elements along an axis: the index has as many dimensions as the array.

If ``broadcast`` is true, the index is broadcast along all other dimensions of the array; if it is false, the index may
be shorter than the array along these dimensions. If ``include_self`` is true, the old element at a position is combined
with the values for this position. ``flat`` contains the positions of the indexed elements in the flattened array, in
the order of the index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import flag
from minitensor.engine.core.regions import writeable
from minitensor.engine.device.arrays import add_at, beside
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.indexed import added_at, assign, checked, copy_if_shared, from_front, whole

Array = np.ndarray


def take_arguments(axis: Any, broadcast: Any) -> tuple[Any, ...]:
    """Check an axis and a bool."""
    return whole("axis", axis), flag("", "broadcast", broadcast)


def reduce_arguments(axis: Any, include_self: Any, broadcast: Any) -> tuple[Any, ...]:
    """Check an axis and two bools."""
    return whole("axis", axis), flag("", "include_self", include_self), flag("", "broadcast", broadcast)


def dim_argument(dim: Any) -> tuple[Any, ...]:
    """Check one dimension."""
    return (whole("dim", dim),)


def spread_index(index: Array, shape: tuple[int, ...], axis: int, broadcast: bool) -> Array:
    """Return the index without negative numbers; if ``broadcast`` is true, broadcast it along the other dimensions.

    Raises:
        IndexError, ValueError: if there is no such axis or element, or the shapes do not fit.
    """
    if index.ndim != len(shape):
        raise ValueError(
            f"the index must have as many dimensions as the tensor; their shapes are {list(index.shape)} and "
            f"{list(shape)}"
        )
    axis = from_front(axis, len(shape))
    covered = (*shape[:axis], index.shape[axis], *shape[axis + 1 :])
    if broadcast:
        try:
            index = np.broadcast_to(index, covered)
        except ValueError:
            raise ValueError(
                f"an index of shape {list(index.shape)} cannot be spread to {list(covered)}: except along axis {axis} "
                f"its lengths must be 1 or those of the tensor"
            ) from None
    elif any(have > most for have, most in zip(index.shape, covered, strict=True)):
        raise ValueError(
            f"an index of shape {list(index.shape)} does not fit into a tensor of shape {list(shape)}: except along "
            f"axis {axis} no length may be larger"
        )
    return checked(index, shape[axis], axis)


def positions(index: Array, shape: tuple[int, ...], axis: int, broadcast: bool) -> tuple[Array, tuple[int, ...]]:
    """Return the positions that ``index`` lists in a flat array of ``shape``, and the shape of the spread index."""
    index = spread_index(index, shape, axis, broadcast)
    axis = from_front(axis, len(shape))
    flat = np.zeros_like(index)
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        along = [1] * len(shape)
        along[d] = -1
        flat += (index if d == axis else np.arange(index.shape[d], like=index).reshape(along)) * step
        step *= shape[d]
    return flat.reshape(-1), index.shape


def lined_up(values: Array, wanted: tuple[int, ...], broadcast: bool) -> Array:
    """Return ``values`` in ``wanted``, the shape of the index: broadcast, or cut if ``broadcast`` is false."""
    if not broadcast and values.ndim == len(wanted) and values.size != 1:
        if any(have < need for have, need in zip(values.shape, wanted, strict=True)):
            raise ValueError(f"values of shape {list(values.shape)} are fewer than the index of shape {list(wanted)}")
        return values[tuple(slice(0, n) for n in wanted)]
    try:
        return np.broadcast_to(values, wanted)
    except ValueError:
        raise ValueError(
            f"values of shape {list(values.shape)} cannot be spread to the index of shape {list(wanted)}"
        ) from None


def cells(array: Array, flat: Array) -> tuple[Array, Any]:
    """Return an array and an index into it that selects the elements at the positions ``flat`` of ``array``."""
    if array.flags.c_contiguous:
        return array.reshape(-1), flat
    return array, (np.unravel_index(flat, array.shape) if flat.size else np.zeros_like(flat))


def take_along_axis(a: Array, index: Array, axis: int, broadcast: bool) -> Array:
    """The elements of ``a`` that ``index`` lists along ``axis``, in the shape of the index."""
    a = spread_array(a, index, axis) if broadcast and a.ndim == index.ndim else a
    flat, shape = positions(index, a.shape, axis, broadcast)
    return taken(a, flat).reshape(shape)


def spread_array(a: Array, index: Array, axis: int) -> Array:
    """Broadcast ``a`` along its dimensions of length 1, except for ``axis``, to the lengths of the index."""
    axis = from_front(axis, a.ndim)
    wanted = [n if n != 1 else m for n, m in zip(a.shape, index.shape, strict=True)]
    wanted[axis] = a.shape[axis]
    return np.broadcast_to(a, tuple(wanted))


def taken(a: Array, flat: Array) -> Array:
    """Return the elements at the positions ``flat``, in one dimension."""
    where, at = cells(a, flat)
    return where[at].reshape(-1) if flat.size else np.zeros((0,), a.dtype, like=a)


def _prepare(a: Array, index: Array, values: Array, axis: int, broadcast: bool, out: Array | None) -> Any:
    """Return the target of a write, the positions ``flat`` in the target, and the values, which are flattened, too."""
    flat, shape = positions(index, a.shape, axis, broadcast)
    values = lined_up(beside(values, a), shape, broadcast)
    target = a.copy() if out is None else out
    if not writeable(target):
        raise ValueError("assignment destination is read-only")
    return target, flat, copy_if_shared(values, target).reshape(-1)


def put_along_axis(
    a: Array, index: Array, values: Array, axis: int, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, with ``values`` at the positions that ``index`` lists; if a position is listed twice, the last value."""
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    where, at = cells(out, flat)
    if flat.size:
        assign(where, at if isinstance(at, tuple) else (at,), values)
    return out


def _accumulate(ufunc: Any, start: Any, out: Array, flat: Array, values: Array, include_self: bool) -> Array:
    if not flat.size:
        return out
    where, at = cells(out, flat)
    with np.errstate(all="ignore"):
        if ufunc is not np.add and type(out) is not np.ndarray:
            # Allocate all memory before the first write, because a device may be full.
            last, combined = _combine(ufunc, flat, values)
            here = tuple(each[last] for each in at) if isinstance(at, tuple) else at[last]
            where[here] = ufunc(where[here], combined) if include_self else combined
            return out
        if not include_self:
            where[at] = start
        if ufunc is np.add:
            added_at(where, at, values)
        else:
            ufunc.at(where, at, values)
    return out


def _combine(ufunc: Any, flat: Array, values: Array) -> tuple[Array, Array]:
    """Combine the values of each position by ``ufunc``; return, for each position, an index into ``flat`` and a result.

    This function is for devices, because CuPy has no multiply.at, and its maximum.at and minimum.at round float64 and
    ignore nan. The values are sorted by position. Each value is combined with the one before it at the same position,
    then with two more, with four more, and so on.
    """
    order = np.argsort(flat, kind="stable")
    position, so_far, stretch = flat[order], values[order], 1
    while stretch < flat.size:
        same = position[stretch:] == position[:-stretch]
        so_far[stretch:] = np.where(same, ufunc(so_far[stretch:], so_far[:-stretch]), so_far[stretch:])
        stretch *= 2
    last = np.ones_like(flat, dtype=np.bool_)
    last[:-1] = position[1:] != position[:-1]
    return order[last], so_far[last]


def turns_of(flat: Array) -> list[Array]:
    """Return groups of indices into ``flat``: the k-th group contains the k-th occurrence of every position."""
    order = np.argsort(flat, kind="stable")
    in_order = flat[order]
    new = np.ones_like(flat, dtype=np.bool_)
    new[1:] = in_order[1:] != in_order[:-1]
    turn = np.arange(flat.size, like=flat) - np.flatnonzero(new)[np.cumsum(new, dtype=np.int64) - 1]
    return [order[turn == k] for k in range(int(turn.max()) + 1)] if flat.size else []


def put_along_axis_add(
    a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, with ``values`` added at the elements that ``index`` lists."""
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    return _accumulate(np.add, 0, out, flat, values, include_self)


def put_along_axis_multiply(
    a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, with the elements that ``index`` lists multiplied by ``values``."""
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    return _accumulate(np.multiply, 1, out, flat, values, include_self)


def _limit_of(dtype: np.dtype, lowest: bool) -> Any:
    if dtype in FLOATS:
        return -np.inf if lowest else np.inf
    if dtype == np.bool_:
        return not lowest
    return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max


def put_along_axis_amax(
    a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, where each element that ``index`` lists becomes the largest of the ``values`` for this element."""
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    return _accumulate(np.maximum, _limit_of(out.dtype, True), out, flat, values, include_self)


def put_along_axis_amin(
    a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, where each element that ``index`` lists becomes the smallest of the ``values`` for this element."""
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    return _accumulate(np.minimum, _limit_of(out.dtype, False), out, flat, values, include_self)


def counts(flat: Array, include_self: bool) -> Array:
    """Return, for every entry of ``flat``, the number of values for its position, plus 1 if ``include_self``."""
    number = np.zeros_like(flat, shape=(int(flat.max()) + 1,))
    add_at(number, flat, np.ones_like(flat))
    return number[flat] + int(include_self)


def put_along_axis_mean(
    a: Array, index: Array, values: Array, axis: int, include_self: bool, broadcast: bool, out: Array | None = None
) -> Array:
    """``a``, where each element that ``index`` lists becomes the mean of the ``values`` for this element."""
    if a.dtype not in FLOATS:
        if out is not None:
            raise TypeError(f"a mean cannot be stored in dtype {out.dtype.name}, and the dtype never changes in place")
        a, values = a.astype(np.float32), values.astype(np.float32)
    out, flat, values = _prepare(a, index, values, axis, broadcast, out)
    # On a device, compute in a copy, because memory may run out between the sums and the division.
    mean = out if type(out) is np.ndarray else out.copy()
    _accumulate(np.add, 0, mean, flat, values, include_self)
    if flat.size:
        where, at = cells(mean, flat)
        with np.errstate(all="ignore"):
            where[at] = where[at] / counts(flat, include_self).astype(out.dtype)
    if mean is not out:
        np.copyto(out, mean)
    return out


def scatter_add(a: Array, index: Array, src: Array, dim: int, out: Array | None = None) -> Array:
    """``a``, with ``src`` added at the elements that ``index`` lists. Elements beyond the index's shape are ignored."""
    if src.ndim != index.ndim:
        raise ValueError(
            f"index and src must have the same number of dimensions; their shapes are {list(index.shape)} and "
            f"{list(src.shape)}"
        )
    return put_along_axis_add(a, index, src, dim, True, False, out)
