"""Unique values and one-hot rows, under Paddle's names. The results have no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import INDICES, INTEGERS, dtype_of
from minitensor.engine.operations.arguments import as_axis, need_tensor


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
) -> Any:
    """Return the values of ``x`` (or its slices along ``axis``), each once and in order.

    Args:
        dtype: of positions and counts, int32 or int64.

    Returns:
        The n values, of shape [n] (with ``axis``, of the shape of ``x`` with length n along ``axis``). Then, if they
        are requested: the position of the first occurrence of each value, of shape [n]; for each element the position
        of its value in the result; and the number of occurrences of each value, of shape [n].

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor, or if ``dtype`` is not an integer dtype.
    """
    need_tensor("unique", x)
    flags = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    return_index, return_inverse, return_counts = (checks.flag("unique", *flag) for flag in flags.items())
    integer = dtype_of(dtype)
    if integer.numpy not in INDICES:
        raise TypeError(f"unique: positions are int32 or int64, not {integer.name}")
    array = host_array(x._array)
    axis = None if axis is None else as_axis("unique", axis, array.ndim)
    values, first, inverse, counts = np.unique(array, True, True, True, axis, equal_nan=False)
    optional = ((first, return_index), (inverse.reshape(-1), return_inverse), (counts, return_counts))
    arrays = [values, *(each.astype(integer.numpy) for each, requested in optional if requested)]
    tensors = tuple(Tensor._made(like(np.ascontiguousarray(each), x._array), "unique", (x,)) for each in arrays)
    return tensors if len(tensors) > 1 else tensors[0]


def one_hot(x: Tensor, num_classes: int, name: str | None = None) -> Tensor:
    """Return for each element a row of zeros (float32) with a 1 at the element's class.

    Args:
        x: int32 or int64, of any shape.
        num_classes: the number of classes.

    Returns:
        A tensor of the shape of ``x`` with one more dimension, of length ``num_classes``.

    Raises:
        TypeError: if ``x`` does not hold integers.
        ValueError: if an element is not a class.
    """
    need_tensor("one_hot", x)
    num_classes = checks.integer("one_hot", "num_classes", num_classes, least=1)
    array = host_array(x._array)
    if array.dtype not in INTEGERS:
        raise TypeError(f"one_hot: classes are int32 or int64, not {x.dtype.name}")
    wrong = array[(array < 0) | (array >= num_classes)]
    if wrong.size:
        raise ValueError(f"one_hot: {wrong[0]} is not a class; with {num_classes} they go from 0 to {num_classes - 1}")
    hot = (array[..., None] == np.arange(num_classes)).astype(np.float32)
    return Tensor._made(like(hot, x._array), "one_hot", (x,))


#: Functions of ``minitensor`` and methods of tensors.
FUNCTIONS: dict[str, Callable[..., Any]] = {"unique": unique}

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
