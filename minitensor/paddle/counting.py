"""Unique values, positions, counts and one-hot rows, under Paddle's names. The results have no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import INDICES, INTEGERS, dtype_of
from minitensor.engine.kernels.reducing import counted
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.parts import unbind


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
) -> Any:
    """Return the distinct values of ``x``, or its distinct slices along ``axis``, in ascending order.

    Args:
        dtype: the dtype of the positions and counts: int32 or int64.

    Returns:
        The n values, of shape [n]. With ``axis``, the n slices: a tensor of the shape of ``x``, except for length n
        along ``axis``. If more is requested, a tuple: the values; for ``return_index``, the position in ``x`` of the
        first occurrence of each value, of shape [n]; for ``return_inverse``, the position among the values of each
        element (or slice) of ``x``, of shape [number of elements or slices]; for ``return_counts``, the number of
        occurrences of each value, of shape [n].

    Raises:
        IndexError: if ``x`` does not have that axis.
        TypeError: if ``x`` is not a tensor, or if ``dtype`` is not int32 or int64.
    """
    need_tensor("unique", x)
    flags = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    return_index, return_inverse, return_counts = (checks.flag("unique", *flag) for flag in flags.items())
    integer = dtype_of(dtype)
    if integer.numpy not in INDICES:
        raise TypeError(f"unique: positions must be int32 or int64, not {integer.name}")
    array = host_array(x._array)
    axis = None if axis is None else as_axis("unique", axis, array.ndim)
    values, first, inverse, counts = np.unique(array, True, True, True, axis, equal_nan=False)
    optional = ((first, return_index), (inverse.reshape(-1), return_inverse), (counts, return_counts))
    arrays = [values, *(each.astype(integer.numpy) for each, requested in optional if requested)]
    tensors = tuple(Tensor._made(like(np.ascontiguousarray(each), x._array), "unique", (x,)) for each in arrays)
    return tensors if len(tensors) > 1 else tensors[0]


def one_hot(x: Tensor, num_classes: int, name: str | None = None) -> Tensor:
    """Return a row of float32 numbers for each element of ``x``: 1 at the element's class, 0 elsewhere.

    The result has the shape of ``x`` and one more dimension at the end, of length ``num_classes``.

    Args:
        x: a tensor of int32 or int64, of any shape.
        num_classes: the number of classes.

    Raises:
        TypeError: if ``x`` does not hold int32 or int64.
        ValueError: if an element is not a class.
    """
    need_tensor("one_hot", x)
    num_classes = checks.integer("one_hot", "num_classes", num_classes, least=1)
    array = host_array(x._array)
    if array.dtype not in INDICES:
        raise TypeError(f"one_hot: x must be int32 or int64, not {x.dtype.name}; convert it: `x.astype('int64')`")
    wrong = array[(array < 0) | (array >= num_classes)]
    if wrong.size:
        raise ValueError(
            f"one_hot: {wrong[0]} is not a class; with num_classes={num_classes}, classes are from 0 to "
            f"{num_classes - 1}"
        )
    hot = (array[..., None] == np.arange(num_classes)).astype(np.float32)
    return Tensor._made(like(hot, x._array), "one_hot", (x,))


def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not 0: one row for each element, or with ``as_tuple`` one tensor for
    each dimension.

    Returns:
        An int64 tensor of shape [n, dimensions] for n elements, or a tuple of views of its columns, of shape [n].

    Raises:
        ValueError: if ``x`` has no dimensions.
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("nonzero", x)
    if x._array.ndim == 0:
        raise ValueError("nonzero: x must have at least one dimension, but its shape is []")
    as_tuple = checks.flag("nonzero", "as_tuple", as_tuple)
    found = Tensor._made(like(np.argwhere(host_array(x._array)).astype(np.int64), x._array), "nonzero", (x,))
    return tuple(unbind(found, 1)) if as_tuple else found


def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0, name: str | None = None) -> Tensor:
    """Return the number of times that each integer 0, 1, 2, ... occurs in ``x``; with ``weights``, the sum of the
    weights of all its occurrences.

    Args:
        x: integers of at least 0, of shape [n].
        weights: one number for each element of ``x``, of shape [n].
        minlength: the smallest length of the result.

    Returns:
        An int64 tensor. With ``weights``, a float32 tensor if the weights are float32, otherwise a float64 tensor.

    Raises:
        ValueError: if a number is negative, or if a tensor has another shape.
        TypeError: if ``x`` does not hold integers, or an argument is not a tensor.
    """
    need_tensor("bincount", x)
    array, least = host_array(x._array), checks.integer("bincount", "minlength", minlength, least=0)
    if array.dtype not in INTEGERS:
        raise TypeError(f"bincount: x must hold integers, not {x.dtype.name}")
    if weights is not None:
        need_tensor("bincount", weights, "weights")
    if array.ndim != 1 or (weights is not None and weights.shape != x.shape):
        raise ValueError(f"bincount: x and weights must be vectors of one length, but the shape of x is {x.shape}")
    if (array < 0).any():
        raise ValueError(f"bincount: each integer must be at least 0, not {array.min()}")
    as_shape("bincount", [least])
    counts = counted(array, None if weights is None else host_array(weights._array), least)
    return Tensor._made(like(counts, x._array), "bincount", (x,))


def tolist(x: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers; the element itself if ``x`` has no dimensions.

    Raises:
        TypeError: if ``x`` is not a tensor.
    """
    need_tensor("tolist", x)
    return x.tolist()


#: The functions that the package ``minitensor`` and the tensors get from this module, keyed by name.
METHODS: dict[str, Callable[..., Any]] = {"unique": unique, "nonzero": nonzero, "bincount": bincount}
#: The functions that the package ``minitensor`` gets from this module, keyed by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {**METHODS, "tolist": tolist}

for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
