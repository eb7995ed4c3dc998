"""Views of some of the elements: slice, diagonal, unbind and as_strided. ``x[index]`` uses their gradient functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.history import READ, Node, Operation, group_of, read_node
from minitensor.engine.core.regions import PartGradient, Pick, locked, memory_of, span
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.device.arrays import address_of, restrided
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.making import view_of


def part_backward(node: Node, g: np.ndarray) -> tuple[PartGradient]:
    """Return the gradient for the whole, which is ``g`` in the selected part and zero elsewhere."""
    (pick,) = node.saved
    return (PartGradient(g, pick, node.inputs[0].shape),)  # type: ignore[union-attr]  # recorded for this input


def part_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    """Return the part of ``u`` that the node selected."""
    pick: Pick
    (pick,) = node.saved
    return pick(u)


INDEX, SLICE, DIAGONAL, UNBIND = (
    Operation(name, part_backward, jvp=part_jvp) for name in ("getitem", "slice", "diagonal", "unbind")
)


def part(x: Tensor, pick: Pick, op: Operation) -> Tensor:
    """Return a view of the elements that ``pick`` selects from ``x``."""
    return view_of(x, pick(x._array), op, (pick,))


def slice_(x: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """Return a view of ``x`` from ``starts`` to ``ends`` along ``axes``. Bounds outside a dimension are clipped.

    Args:
        axes, starts, ends: lists of integers, equally long.

    Returns:
        A tensor with as many dimensions as ``x``, shorter along ``axes``.

    Raises:
        IndexError: if ``x`` does not have one of the axes.
        ValueError: if the lists are not equally long.
        TypeError: if an argument is not a list of integers, or if ``x`` is not a tensor.
    """
    need_tensor("slice", x)
    for given in (axes, starts, ends):
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"slice: axes, starts and ends must be lists of integers, not {shown(given)}")
    if not len(axes) == len(starts) == len(ends):
        raise ValueError(
            f"slice: axes, starts and ends must be equally long; they have {len(axes)}, {len(starts)}, {len(ends)}"
        )
    index = [slice(None)] * x._array.ndim
    for axis, start, end in zip(axes, starts, ends, strict=True):
        index[as_axis("slice", axis, x._array.ndim)] = slice(
            checks.integer("slice", "starts", start), checks.integer("slice", "ends", end)
        )
    return part(x, Pick(tuple(index)), SLICE)


class _Diagonal(Pick):
    __slots__ = ("arguments",)

    def __init__(self, *arguments: int) -> None:
        self.arguments = arguments

    def __call__(self, array: np.ndarray) -> np.ndarray:
        picked = array.diagonal(*self.arguments)
        # numpy marks a diagonal read-only, but it is a view like any other.
        if type(array) is np.ndarray and array.flags.writeable:
            picked.flags.writeable = True
        return picked


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Return a view of the diagonal of ``x`` in the plane of ``axis1`` and ``axis2``.

    Returns:
        A view without these two dimensions; the diagonal is its last dimension.

    Raises:
        ValueError: if ``x`` has fewer than two dimensions, or if the two axes are equal.
        IndexError: if ``x`` does not have one of the axes.
        TypeError: if an argument is not an integer, or if ``x`` is not a tensor.
    """
    need_tensor("diagonal", x)
    if x._array.ndim < 2:
        raise ValueError(f"diagonal: x must have at least two dimensions, but its shape is {x.shape}")
    first, second = as_axis("diagonal", axis1, x._array.ndim), as_axis("diagonal", axis2, x._array.ndim)
    if first == second:
        raise ValueError(f"diagonal: axis1 and axis2 must differ, but both are {first}")
    # Limit a huge offset, which numpy would refuse. Beyond the edges, every diagonal is empty.
    offset = max(-x._array.shape[first], min(checks.integer("diagonal", "offset", offset), x._array.shape[second]))
    return part(x, _Diagonal(offset, first, second), DIAGONAL)


def unbind(x: Tensor, axis: int = 0) -> list[Tensor]:
    """Return a view for each position along ``axis``, without that dimension.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``axis`` is not an integer, or if ``x`` is not a tensor.
    """
    need_tensor("unbind", x)
    axis = as_axis("unbind", axis, x._array.ndim)
    before = (slice(None),) * axis
    return [part(x, Pick((*before, i)), UNBIND) for i in range(x._array.shape[axis])]


#: The operation of ``as_strided``. Like ``READ``, it reads from the memory of the whole group.
AS_STRIDED = Operation("as_strided", READ.backward, jvp=READ.jvp)


def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """Return a view of the storage of ``x`` with any shape, strides and offset, all in elements.

    Elements may share memory. Such a view cannot be written, but a part of it whose elements share no memory can be.

    Raises:
        ValueError: if the view would reach outside the memory of ``x`` (of its base, if ``x`` is a view); if ``shape``
            and ``stride`` are not equally long.
        TypeError: if an argument is not an integer or a list of integers, or if ``x`` is not a tensor.
    """
    need_tensor("as_strided", x)
    if not isinstance(stride, (list, tuple)):
        raise TypeError(f"as_strided: stride must be a list of integers, not {shown(stride)}")
    lengths, steps = as_shape("as_strided", shape), tuple(checks.integers("as_strided", "stride", stride))
    offset = checks.integer("as_strided", "offset", offset)
    if len(lengths) != len(steps):
        raise ValueError(f"as_strided: shape {list(lengths)} and stride {list(steps)} must be equally long")
    size = x._array.itemsize
    base = x._array if x._history is None else x._history.base
    lowest, extent = span(base)
    begin = (lowest - address_of(x._storage.buffer)) // size
    reach = [(n - 1) * s for n, s in zip(lengths, steps, strict=True)]
    first = offset + sum(r for r in reach if r < 0)
    last = offset + sum(r for r in reach if r > 0)
    empty = 0 in lengths
    if offset < 0 or (not empty and not (begin <= first and last < begin + extent)):
        raise ValueError(
            f"as_strided: shape {list(lengths)}, stride {list(steps)}, offset {offset} reaches from element {first} to "
            f"{last} of the storage; the tensor's memory is from element {begin} to {begin + extent - 1}"
        )
    cells = memory_of(base)
    array = locked(restrided(cells[0 if empty else offset - begin :], lengths, tuple(s * size for s in steps)))
    history = group_of(x)
    out = view_of(x, array, AS_STRIDED)
    if out._node is not None:
        out._node = read_node(history, array, AS_STRIDED)
    return out


#: The functions, which are also methods of Tensor.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "slice": slice_, "diagonal": diagonal, "unbind": unbind, "as_strided": as_strided,
}  # fmt: skip

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
