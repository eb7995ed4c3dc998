"""Change the shape of a tensor and keep its elements in order.

The in-place functions write nothing. Functions that change the order are in
:mod:`minitensor.engine.views.transposing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.history import Node, new_node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_lengths
from minitensor.engine.dtypes import DType, dtype_of
from minitensor.engine.modes import modes, paused
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.making import Reshaping, refuse_leaf, reshaped, view_of
from minitensor.engine.views.other_dtype import view_as_dtype


def _reshape_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    return (g.reshape(node.inputs[0].shape),)  # type: ignore[union-attr]  # recorded for this input


VIEW, RESHAPE, SQUEEZE, UNSQUEEZE, RESHAPE_, SQUEEZE_, UNSQUEEZE_, FLATTEN_ = (
    Reshaping(name, lambda array, shape: array.reshape(shape), _reshape_backward)
    for name in ("view", "reshape", "squeeze", "unsqueeze", "reshape_", "squeeze_", "unsqueeze_", "flatten_")
)


def _full_shape(op: str, x: Tensor, shape: Any) -> tuple[int, ...]:
    """Return ``shape`` with the computed length in place of -1 and, as in Paddle, the old length in place of 0.

    If ``x`` has no elements, a 0 means length 0, and -1 becomes 0 if the shape has no 0. If the new shape has as many
    zeros as the old one, -1 is computed from the lengths that are not 0. These are the rules of Paddle 3.3; Paddle 2.6
    has others.
    """
    old = x._array.shape
    given = as_lengths(op, shape)
    new = list(given)
    size = x._array.size
    if size:
        new = [old[i] if n == 0 and i < len(old) else n for i, n in enumerate(new)]
    if new.count(-1) == 1:
        whole, known = math.prod(n for n in old if n), math.prod(n for n in new if n not in (0, -1))
        if not size and 0 not in new:
            new[new.index(-1)] = 0
        elif new.count(0) == old.count(0) and known > 0 and whole % known == 0:
            new[new.index(-1)] = whole // known
    if math.prod(new) != size or min(new, default=0) < 0:
        raise ValueError(
            f"{op}: a tensor of shape {list(old)} has {size} elements and cannot take the shape {shown(given)}"
        )
    return tuple(new)


def _same_memory(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return ``array`` in another shape on the same memory; None if that needs a copy."""
    if array.flags.c_contiguous:
        return array.reshape(shape)
    reshaped = array.reshape(shape)
    return reshaped if np.may_share_memory(reshaped, array) else None


def _viewed(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a view of ``array`` in another shape; None if that needs a copy or adds dimensions to a scalar."""
    return None if shape and not array.ndim else _same_memory(array, shape)


def reshape(x: Tensor, shape: Any, *more: Any, name: str | None = None) -> Tensor:
    """Return the elements in another shape: a view if the memory layout allows that, else a copy.

    As in Paddle, a tensor without dimensions is copied if it gets any. ``reshape(3, 1)`` is ``reshape([3, 1])``.

    Args:
        shape: integers. One may be -1 and is then computed. As in Paddle, 0 keeps the length of the dimension, unless
            ``x`` has no elements.

    Raises:
        ValueError: if the elements do not fill ``shape``.
        TypeError: if ``shape`` is not a list of integers, or if ``x`` is not a tensor.
    """
    if more:
        shape = [shape, *more]
    if type(x) is Tensor and (type(shape) is list or type(shape) is tuple):
        whole = x._array
        try:
            array = whole.reshape(shape)
        except (ValueError, TypeError):
            pass  # `shape` has a 0, or _full_shape raises an error
        else:
            for n in shape:
                if n < -1:
                    break  # numpy would take any negative length for -1
            else:
                # If numpy copied, the base of the result is the copy.
                if (array.base is whole or array.base is whole.base is not None) and (whole.ndim or not shape):
                    return view_of(x, array, RESHAPE, None)
    need_tensor("reshape", x)
    return _in_shape(x, _full_shape("reshape", x, shape))


def _in_shape(x: Tensor, lengths: tuple[int, ...]) -> Tensor:
    same = _viewed(x._array, lengths)
    if same is not None:
        return view_of(x, same, RESHAPE, (lengths,))
    out = Tensor._made(x._array.copy().reshape(lengths), "reshape", (x,))
    node = x._current()
    if node is not None and (not paused.threads or modes.grad):
        out._node = new_node(RESHAPE, (node,), (lengths,), lengths)
    return out


def view(x: Tensor, shape_or_dtype: Any, *more: Any, name: str | None = None) -> Tensor:
    """Return a view of the elements in another shape, or of the bytes as another dtype, always on the same storage.

    Args:
        shape_or_dtype: integers, of which one may be -1 and is then computed; or a dtype, as in ``x.view("int32")``. A
            view of another dtype requires no gradient. Its last dimension has another length if its elements have
            another size. If ``x`` has this dtype, the result is ``x`` itself.

    Raises:
        ValueError: if the view needs a copy, if the elements do not fill the shape, or if the bytes do not divide into
            elements of the dtype.
        TypeError: if ``shape_or_dtype`` is neither a list of integers nor a dtype; if it is bool and ``x`` has another
            dtype; if ``x`` is not a tensor.
    """
    need_tensor("view", x)
    if not more and isinstance(shape_or_dtype, (str, DType, type, np.dtype)):
        try:
            dtype = dtype_of(shape_or_dtype)
        except TypeError as error:
            raise TypeError(f"view: {error}") from None
        return view_as_dtype(x, dtype)
    if more:
        shape_or_dtype = [shape_or_dtype, *more]
    lengths = _full_shape("view", x, shape_or_dtype)
    array = _viewed(x._array, lengths)
    if array is None:
        raise ValueError(
            f"The Tensor can not be viewed, please call reshape. Its shape {x.shape} with strides {x.strides} "
            f"cannot be seen as {list(lengths)} without a copy."
        )
    return view_of(x, array, VIEW, (lengths,))


def reshape_(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Change the shape of ``x`` in place. Nothing is written.

    Raises:
        ValueError: if the elements do not fill ``shape``; if the shape needs a copy, because reshaping in place never
            changes the storage; for a leaf that requires a gradient, or a view of one, in grad mode.
        TypeError: if ``shape`` is not a list of integers, or if ``x`` is not a tensor.
    """
    need_tensor("reshape_", x)
    return _reshape_in_place(x, _full_shape("reshape_", x, shape), RESHAPE_)


def _reshape_in_place(x: Tensor, shape: tuple[int, ...], op: Reshaping) -> Tensor:
    refuse_leaf(x, op)
    array = _same_memory(x._array, shape)
    if array is None:
        raise ValueError(
            f"{op.name}: a tensor of shape {x.shape} with strides {x.strides} cannot take the shape {list(shape)} "
            f"without a copy, and the storage never changes in place. Use {op.name[:-1]}."
        )
    return reshaped(x, array, op, (shape,))


def _squeeze_shape(op: str, x: Tensor, axis: Any) -> tuple[int, ...]:
    need_tensor(op, x)
    shape = x._array.shape
    if axis is None:
        return tuple(n for n in shape if n != 1)
    axes = {as_axis(op, a, len(shape)) for a in (axis if isinstance(axis, (list, tuple)) else [axis])}
    return tuple(n for i, n in enumerate(shape) if not (i in axes and n == 1))


def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """Return a view without the dimensions of length 1: all of them, or those listed in ``axis``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    shape = _squeeze_shape("squeeze", x, axis)
    return view_of(x, x._array.reshape(shape), SQUEEZE, (shape,))


def squeeze_(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """Remove dimensions of length 1 from ``x`` in place. Nothing is written.

    Raises:
        IndexError: if ``x`` does not have that axis.
        ValueError: for a leaf that requires a gradient, or a view of one, in grad mode.
        TypeError: if ``x`` is not a tensor.
    """
    return _reshape_in_place(x, _squeeze_shape("squeeze_", x, axis), SQUEEZE_)


def _unsqueeze_shape(op: str, x: Tensor, axis: Any) -> tuple[int, ...]:
    need_tensor(op, x)
    shape = list(x._array.shape)
    for a in axis if isinstance(axis, (list, tuple)) else [axis]:
        shape.insert(as_axis(op, a, len(shape) + 1), 1)
    return tuple(shape)


def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Return a view with a dimension of length 1 inserted at ``axis``; for a list of axes, one after the other.

    Raises:
        IndexError: if the result does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("unsqueeze", x)
    array = x._array
    for each in axis if isinstance(axis, (list, tuple)) else (axis,):
        array = array[(slice(None),) * as_axis("unsqueeze", each, array.ndim + 1) + (None,)]
    return view_of(x, array if array is not x._array else array[...], UNSQUEEZE, None)


def unsqueeze_(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Insert a dimension of length 1 into ``x`` at ``axis`` (for a list, one after the other). Nothing is written.

    Raises:
        IndexError: if the result does not have that axis.
        ValueError: for a leaf that requires a gradient, or a view of one, in grad mode.
        TypeError: if ``x`` is not a tensor.
    """
    return _reshape_in_place(x, _unsqueeze_shape("unsqueeze_", x, axis), UNSQUEEZE_)


def _flatten_shape(op: str, x: Tensor, start_axis: Any, stop_axis: Any) -> tuple[int, ...]:
    need_tensor(op, x)
    shape = x._array.shape
    if not shape:
        return (1,)
    first, last = as_axis(op, start_axis, len(shape)), as_axis(op, stop_axis, len(shape))
    if first > last:
        raise ValueError(f"{op}: start_axis {start_axis} comes after stop_axis {stop_axis} in shape {list(shape)}")
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """Return ``x`` with the dimensions from ``start_axis`` to ``stop_axis`` merged: a view if possible, else a copy.

    Raises:
        ValueError: if ``start_axis`` comes after ``stop_axis``.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    return reshape(x, _flatten_shape("flatten", x, start_axis, stop_axis))


def flatten_(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """Merge the dimensions from ``start_axis`` to ``stop_axis`` in place. Nothing is written.

    Raises:
        ValueError: if ``start_axis`` comes after ``stop_axis``; if the shape needs a copy; for a leaf that requires a
            gradient, or a view of one, in grad mode.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor.
    """
    return _reshape_in_place(x, _flatten_shape("flatten_", x, start_axis, stop_axis), FLATTEN_)


def unflatten(x: Tensor, axis: int, shape: Any, name: str | None = None) -> Tensor:
    """Return ``x`` with the dimension ``axis`` split into several: a view if the layout allows that, else a copy.

    Args:
        shape: lengths whose product is the length of ``axis``; one of them may be -1, which is computed. As in Paddle,
            a 0 that becomes dimension i of the result is replaced by the length of dimension i of ``x``.

    Raises:
        ValueError: if the product of the lengths is not the length of ``axis``.
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``shape`` is not a list of integers, or if ``x`` is not a tensor.
    """
    need_tensor("unflatten", x)
    have, axis = x._array.shape, as_axis("unflatten", axis, x._array.ndim)
    lengths = [*have[:axis], *as_lengths("unflatten", shape), *have[axis + 1 :]]
    return _in_shape(x, _full_shape("unflatten", x, lengths))


#: Available as functions and as methods of tensors.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(reshape, view, squeeze, unsqueeze, flatten, unflatten),
        *(reshape_, squeeze_, unsqueeze_, flatten_),
    )
}

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
