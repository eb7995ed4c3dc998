"""``argmax`` and ``argmin``, which return the position of the largest or the smallest element."""

from __future__ import annotations

import numpy as np

from minitensor.engine.checks import flag
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import as_array
from minitensor.engine.operations.arguments import as_axis, need_tensor


def argmax(x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the position of the largest element along ``axis``, the first if several are equal.

    Without ``axis`` it is the position in the flattened tensor.

    Returns:
        An int64 tensor of the shape of ``x`` without the dimension ``axis``, or with length 1 there if ``keepdim`` is
        set. Without ``axis``, the shape is [], or [1, 1, ...] with ``keepdim``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        ValueError: if there is no element.
        TypeError: if ``x`` is not a tensor.
    """
    return _position_of_extreme("argmax", x, axis, keepdim)


def argmin(x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the position of the smallest element along ``axis``, the first if several are equal.

    Without ``axis`` it is the position in the flattened tensor.

    Returns:
        An int64 tensor of the shape of ``x`` without the dimension ``axis``, or with length 1 there if ``keepdim`` is
        set. Without ``axis``, the shape is [], or [1, 1, ...] with ``keepdim``.

    Raises:
        IndexError: if ``x`` does not have that axis.
        ValueError: if there is no element.
        TypeError: if ``x`` is not a tensor.
    """
    return _position_of_extreme("argmin", x, axis, keepdim)


def _position_of_extreme(op: str, x: Tensor, axis: int | None, keepdim: bool) -> Tensor:
    need_tensor(op, x)
    where = None if axis is None else as_axis(op, axis, max(x._array.ndim, 1))
    keepdim = flag(op, "keepdim", keepdim)
    if x._array.size == 0 and (where is None or x._array.shape[where] == 0):
        raise ValueError(f"{op}: a tensor of shape {x.shape} has no elements, so none is the largest or smallest")
    positions = as_array(getattr(x._array, op)(axis=where if x.ndim else None))
    if keepdim:
        positions = positions.reshape([1 if where is None or d == where else n for d, n in enumerate(x.shape)])
    return Tensor._made(as_array(positions.astype(np.int64)), op, (x,))
