"""Views: new tensors on old storages, and their in-place twins, which change shape and strides and write nothing.

A view joins the family of the tensor it is taken of. Taken under ``no_grad`` of a tensor that wants a gradient, it is
detached. In this vocabulary (Paddle's) ``split``, ``chunk``, ``expand`` and ``broadcast_to`` copy: see
:mod:`minitensor.joining`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from minitensor.creation import as_shape
from minitensor.events import watch
from minitensor.history import (
    READ,
    History,
    Leaf,
    Node,
    Operation,
    current,
    family_of,
    move_boxes,
    new_node,
    relay_leaf,
)
from minitensor.modes import modes
from minitensor.operands import check_target
from minitensor.regions import address, overlaps_itself, region_of, span
from minitensor.tensor import Tensor


_new: Any = object.__new__


def view_of(x: Tensor, array: np.ndarray, op: Operation, saved: tuple[Any, ...] = ()) -> Tensor:
    """A tensor that looks at the storage of ``x`` as ``array`` does, recorded as ``op``."""
    out = _new(Tensor)
    out._array = array
    out._storage = x._storage
    history = x._history
    node = x._node if history is None else current(x)
    if node is None or modes.grad:
        if history is None:
            x._history = history = History(x)
            x._seen = 0
        out._history = history
        out._seen = history.epoch
        out._node = None if node is None else new_node(op, (node,), saved, array.shape)
    else:
        out._node = out._history = None
    if watch.listener is not None:
        watch.listener("view", out, op.name, (x,))
    return out


class Relaying(Operation):
    """An operation on shape and strides only: ``forward(array, *saved)`` shows the same elements another way."""

    __slots__ = ("forward",)

    def __init__(self, name: str, forward: Callable[..., np.ndarray], backward: Callable[..., Any]) -> None:
        super().__init__(name, backward)
        self.forward = forward


def relaid(x: Tensor, array: np.ndarray, op: Relaying, saved: tuple[Any, ...] = ()) -> Tensor:
    """``x`` itself, now looking at its storage as ``array`` does. Nothing is written; the version stays."""
    node = x._current()
    if node is not None and modes.grad:
        check_target(x, op.name)
    if type(node) is Leaf:
        relay_leaf(x, array, lambda g: op.forward(g, *saved))
    else:
        x._array = array
        if node is not None:
            x._node = new_node(op, (node,), saved, array.shape)
            move_boxes(node, x._node)
    if watch.listener is not None:
        watch.listener("meta", x, op.name, (x,))
    return x


def _need_tensor(op: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}")


def as_axis(op: str, axis: Any, ndim: int) -> int:
    """``axis`` counted from the front.

    Raises:
        TypeError, IndexError: when it is no integer, or there is no such dimension.
    """
    try:
        number = axis.__index__()
    except AttributeError:
        raise TypeError(f"{op}: an axis is an integer, not {axis!r}") from None
    if not -ndim <= number < ndim:
        raise IndexError(f"{op}: axis {number} is out of range for a tensor of {ndim} dimensions")
    return number % ndim


# ---------- the same elements in the same order: reshape, squeeze, unsqueeze, flatten ----------


def _reshape_forward(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return array.reshape(shape)


def _reshape_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    return (g.reshape(node.inputs[0].shape),)  # type: ignore[union-attr]


def _reshaping(name: str) -> tuple[Relaying, Relaying]:
    normal, in_place = (Relaying(n, _reshape_forward, _reshape_backward) for n in (name, name + "_"))
    return normal, in_place


VIEW, _ = _reshaping("view")
RESHAPE, RESHAPE_ = _reshaping("reshape")
SQUEEZE, SQUEEZE_ = _reshaping("squeeze")
UNSQUEEZE, UNSQUEEZE_ = _reshaping("unsqueeze")
FLATTEN, FLATTEN_ = _reshaping("flatten")


def _full_shape(op: str, x: Tensor, shape: Any) -> tuple[int, ...]:
    """``shape`` with -1 worked out and 0 (Paddle: keep this dimension) filled in."""
    have = x._array.shape
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(shape, (int, np.integer)):
        shape = [shape]
    try:
        wanted = [n.__index__() for n in shape]
    except (TypeError, AttributeError):
        raise TypeError(f"{op}: a shape is a list of integers, not {shape!r}") from None
    size = x._array.size
    if size:
        wanted = [have[i] if n == 0 and i < len(have) else n for i, n in enumerate(wanted)]
    known = 1
    for n in wanted:
        known *= 1 if n == -1 else n
    if wanted.count(-1) == 1 and known > 0 and size % known == 0:
        wanted[wanted.index(-1)] = size // known
        known = size
    if known != size or min(wanted, default=0) < 0:
        raise ValueError(
            f"{op}: a tensor of shape {list(have)} has {size} elements and can not take the shape {list(shape)}"
        )
    return tuple(wanted)


def _same_memory(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """``array`` with another shape, on the same memory; None when that takes a copy."""
    if array.flags.c_contiguous:
        return array.reshape(shape)
    reshaped = array.reshape(shape)
    return reshaped if np.may_share_memory(reshaped, array) else None


def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements in another shape: a view where the memory allows it, else a copy.

    ``shape`` may hold one -1 (worked out) and, as in Paddle, 0 (keep this dimension).
    """
    _need_tensor("reshape", x)
    if type(shape) in (list, tuple) and shape and min(shape) > 0 and x._array.flags.c_contiguous:
        try:
            array = x._array.reshape(shape)
        except (ValueError, TypeError):
            pass  # _full_shape says what is wrong
        else:
            return view_of(x, array, RESHAPE, (array.shape,))
    wanted = _full_shape("reshape", x, shape)
    array = _same_memory(x._array, wanted)
    if array is not None:
        return view_of(x, array, RESHAPE, (wanted,))
    out = Tensor._made(np.ascontiguousarray(x._array).reshape(wanted), "reshape", (x,))
    node = x._current()
    if modes.grad and node is not None:
        out._node = new_node(RESHAPE, (node,), (wanted,), wanted)
    return out


def view(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements in another shape, always on the same storage.

    Raises:
        ValueError: where that would take a copy.
    """
    _need_tensor("view", x)
    wanted = _full_shape("view", x, shape)
    array = _same_memory(x._array, wanted)
    if array is None:
        raise ValueError(
            f"The Tensor can not be viewed, please call reshape. Its shape {x.shape} with strides {x.strides} "
            f"can not be seen as {list(wanted)} without a copy."
        )
    return view_of(x, array, VIEW, (wanted,))


def reshape_(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Give ``x`` another shape. Nothing is written.

    Raises:
        ValueError: where that would take a copy: the storage never changes in place.
    """
    _need_tensor("reshape_", x)
    return _relaid_to(x, _full_shape("reshape_", x, shape), RESHAPE_)


def _relaid_to(x: Tensor, shape: tuple[int, ...], op: Relaying) -> Tensor:
    array = _same_memory(x._array, shape)
    if array is None:
        raise ValueError(
            f"{op.name}: a tensor of shape {x.shape} with strides {x.strides} can not take the shape {list(shape)} "
            f"without a copy, and the storage never changes in place. Use {op.name[:-1]}."
        )
    return relaid(x, array, op, (shape,))


def _squeezed(op: str, x: Tensor, axis: Any) -> tuple[int, ...]:
    _need_tensor(op, x)
    shape = x._array.shape
    if axis is None:
        return tuple(n for n in shape if n != 1)
    axes = {as_axis(op, a, len(shape)) for a in (axis if isinstance(axis, (list, tuple)) else [axis])}
    return tuple(n for i, n in enumerate(shape) if not (i in axes and n == 1))


def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """A view without the dimensions of length 1 (all of them, or those in ``axis``)."""
    shape = _squeezed("squeeze", x, axis)
    return view_of(x, x._array.reshape(shape), SQUEEZE, (shape,))


def squeeze_(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """Drop dimensions of length 1 from ``x``. Nothing is written."""
    return _relaid_to(x, _squeezed("squeeze_", x, axis), SQUEEZE_)


def _unsqueezed(op: str, x: Tensor, axis: Any) -> tuple[int, ...]:
    _need_tensor(op, x)
    shape = list(x._array.shape)
    for a in axis if isinstance(axis, (list, tuple)) else [axis]:
        shape.insert(as_axis(op, a, len(shape) + 1), 1)
    return tuple(shape)


def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """A view with a dimension of length 1 more, at ``axis``."""
    shape = _unsqueezed("unsqueeze", x, axis)
    return view_of(x, x._array.reshape(shape), UNSQUEEZE, (shape,))


def unsqueeze_(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Give ``x`` a dimension of length 1 more, at ``axis``. Nothing is written."""
    return _relaid_to(x, _unsqueezed("unsqueeze_", x, axis), UNSQUEEZE_)


def _flattened(op: str, x: Tensor, start_axis: Any, stop_axis: Any) -> tuple[int, ...]:
    _need_tensor(op, x)
    shape = x._array.shape
    if not shape:
        return (1,)
    first, last = as_axis(op, start_axis, len(shape)), as_axis(op, stop_axis, len(shape))
    if first > last:
        raise ValueError(f"{op}: start_axis {start_axis} comes after stop_axis {stop_axis} in shape {list(shape)}")
    merged = 1
    for n in shape[first : last + 1]:
        merged *= n
    return (*shape[:first], merged, *shape[last + 1 :])


def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """The dimensions from ``start_axis`` to ``stop_axis`` as one: a view where the memory allows it, else a copy."""
    return reshape(x, _flattened("flatten", x, start_axis, stop_axis))


def flatten_(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """Make one dimension of those from ``start_axis`` to ``stop_axis``. Nothing is written."""
    return _relaid_to(x, _flattened("flatten_", x, start_axis, stop_axis), FLATTEN_)


# ---------- the same elements in another order: transpose, t, T ----------


def _transpose_forward(array: np.ndarray, perm: tuple[int, ...]) -> np.ndarray:
    return array.transpose(perm)


def _transpose_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    (perm,) = node.saved
    back = [0] * len(perm)
    for i, p in enumerate(perm):
        back[p] = i
    return (g.transpose(back),)


TRANSPOSE, TRANSPOSE_, T_, T_IN_PLACE = (
    Relaying(name, _transpose_forward, _transpose_backward) for name in ("transpose", "transpose_", "t", "t_")
)


def _permutation(op: str, x: Tensor, perm: Any) -> tuple[int, ...]:
    _need_tensor(op, x)
    ndim = x._array.ndim
    try:
        axes = tuple(as_axis(op, p, ndim) for p in perm)
    except TypeError:
        raise TypeError(f"{op}: perm lists every dimension once, as in [1, 0]; it is {perm!r}") from None
    if sorted(axes) != list(range(ndim)):
        raise ValueError(
            f"{op}: perm must list each of the {ndim} dimensions of shape {x.shape} once; it is {list(perm)}"
        )
    return axes


def transpose(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """A view whose dimension i is dimension ``perm[i]`` of ``x``. No number moves."""
    if type(x) is Tensor and type(perm) in (list, tuple):
        try:
            return view_of(x, x._array.transpose(perm), TRANSPOSE, (tuple(perm),))
        except (ValueError, TypeError):
            pass  # _permutation says what is wrong
    axes = _permutation("transpose", x, perm)
    return view_of(x, x._array.transpose(axes), TRANSPOSE, (axes,))


def transpose_(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Reorder the dimensions of ``x`` itself. No number moves; nothing is written."""
    axes = _permutation("transpose_", x, perm)
    return relaid(x, x._array.transpose(axes), TRANSPOSE_, (axes,))


def _turned(op: str, x: Tensor) -> tuple[int, ...]:
    _need_tensor(op, x)
    ndim = x._array.ndim
    if ndim > 2:
        raise ValueError(f"{op} takes a tensor of at most 2 dimensions; this one has shape {x.shape}. Use transpose.")
    return tuple(range(ndim))[::-1]


def t(x: Tensor, name: str | None = None) -> Tensor:
    """A view of a matrix with rows and columns exchanged; of a vector or number, the same."""
    axes = _turned("t", x)
    return view_of(x, x._array.transpose(axes), T_, (axes,))


def t_(x: Tensor, name: str | None = None) -> Tensor:
    """Exchange rows and columns of ``x`` itself. Nothing is written."""
    axes = _turned("t_", x)
    return relaid(x, x._array.transpose(axes), T_IN_PLACE, (axes,))


def _reversed_dimensions(x: Tensor) -> Tensor:
    """A view with the dimensions in reverse order."""
    return transpose(x, tuple(range(x._array.ndim))[::-1])


# ---------- some of the elements: index, slice, diagonal, unbind, as_strided ----------


def _part_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    (show,) = node.saved
    whole = np.zeros(node.inputs[0].shape, g.dtype)  # type: ignore[union-attr]
    show(whole)[...] = g
    return (whole,)


INDEX, SLICE, DIAGONAL, UNBIND = (
    Operation(name, _part_backward) for name in ("getitem", "slice", "diagonal", "unbind")
)


def part(x: Tensor, show: Callable[[np.ndarray], np.ndarray], op: Operation) -> Tensor:
    """A view of the elements of ``x`` that ``show`` picks from an array."""
    return view_of(x, show(x._array), op, (show,))


class Pick:
    """Picks ``array[index]`` as a view, also where numpy would give a bare number."""

    __slots__ = ("index",)

    def __init__(self, index: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        self.index = index if any(i is Ellipsis for i in index) else (*index, Ellipsis)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        return array[self.index]


def slice_(x: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """A view of ``x`` from ``starts`` to ``ends`` along ``axes``; bounds past an end stop there."""
    _need_tensor("slice", x)
    if not len(axes) == len(starts) == len(ends):
        raise ValueError(
            f"slice: axes, starts and ends must be equally long; they have {len(axes)}, {len(starts)}, {len(ends)}"
        )
    index = [slice(None)] * x._array.ndim
    for axis, start, end in zip(axes, starts, ends, strict=True):
        index[as_axis("slice", axis, x._array.ndim)] = slice(int(start), int(end))
    return part(x, Pick(tuple(index)), SLICE)


class _Diagonal:
    __slots__ = ("arguments",)

    def __init__(self, *arguments: int) -> None:
        self.arguments = arguments

    def __call__(self, array: np.ndarray) -> np.ndarray:
        picked = array.diagonal(*self.arguments)
        # numpy marks it read-only as a courtesy; it is a view like any other.
        if array.flags.writeable:
            picked.flags.writeable = True
        return picked


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """A view of the diagonal of ``x`` in the plane of ``axis1`` and ``axis2``."""
    _need_tensor("diagonal", x)
    if x._array.ndim < 2:
        raise ValueError(f"diagonal takes a tensor of at least 2 dimensions; this one has shape {x.shape}")
    first, second = as_axis("diagonal", axis1, x._array.ndim), as_axis("diagonal", axis2, x._array.ndim)
    if first == second:
        raise ValueError(f"diagonal: axis1 and axis2 must differ; both are {first}")
    return part(x, _Diagonal(int(offset), first, second), DIAGONAL)


def unbind(x: Tensor, axis: int = 0) -> list[Tensor]:
    """One view per position along ``axis``, without that dimension."""
    _need_tensor("unbind", x)
    axis = as_axis("unbind", axis, x._array.ndim)
    before = (slice(None),) * axis
    return [part(x, Pick((*before, i)), UNBIND) for i in range(x._array.shape[axis])]


def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """A view of the storage of ``x``, ``offset`` elements from its start, with any shape and strides (in elements).

    Elements may share memory; such a tensor can be read, not written.

    Raises:
        ValueError: when it would reach outside the memory of the tensor's family.
    """
    _need_tensor("as_strided", x)
    lengths, steps = as_shape("as_strided", shape), tuple(int(s) for s in stride)
    if len(lengths) != len(steps):
        raise ValueError(f"as_strided: shape {list(lengths)} and stride {list(steps)} must be equally long")
    size = x._array.itemsize
    founder = x._array if x._history is None else x._history.founder
    lowest, extent = span(founder)
    begin = (lowest - address(x._storage.buffer)) // size
    reach = [(n - 1) * s for n, s in zip(lengths, steps, strict=True)]
    first = offset + sum(r for r in reach if r < 0)
    last = offset + sum(r for r in reach if r > 0)
    empty = 0 in lengths
    if offset < 0 or (not empty and not (begin <= first and last < begin + extent)):
        raise ValueError(
            f"as_strided: shape {list(lengths)}, stride {list(steps)}, offset {offset} reaches from element {first} to "
            f"{last} of the storage; the tensor's memory goes from element {begin} to {begin + extent - 1}"
        )
    cells = _cells(founder, extent)
    array = numpy_as_strided(cells[0 if empty else offset - begin :], lengths, tuple(s * size for s in steps))
    if overlaps_itself(array):
        array.flags.writeable = False
    family_of(x)
    out = view_of(x, array, READ)
    if out._node is not None:
        history = x._history
        out._node = new_node(READ, (history.node,), (region_of(array, history.founder),), array.shape)
    return out


def _cells(founder: np.ndarray, extent: int) -> np.ndarray:
    """All memory that ``founder`` spans, in one dimension, from its lowest address."""
    if founder.size == 0:
        return founder.reshape(-1)
    upwards = founder[tuple(slice(None, None, -1 if s < 0 else 1) for s in founder.strides)]
    return numpy_as_strided(upwards, (extent,), (founder.itemsize,))


#: Views and metadata-only operations, as methods of Tensor and as functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (reshape, view, reshape_, squeeze, squeeze_, unsqueeze, unsqueeze_, flatten, flatten_, transpose,
                     transpose_, t, t_, diagonal, unbind, as_strided)
}  # fmt: skip
FUNCTIONS["slice"] = slice_

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
Tensor.T = property(_reversed_dimensions)  # type: ignore[attr-defined]
