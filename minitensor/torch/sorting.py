"""Sort, reorder and deduplicate elements. The results are copies.

Gradients flow through the returned elements (except those of ``unique``), but not through positions and counts.
Paddle's functions have other arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import Node, Operation, new_node
from minitensor.engine.device.arrays import host_array, like
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.scans import positions_of_extremes
from minitensor.engine.layers import rearranging
from minitensor.engine.modes import modes
from minitensor.torch import result_strides
from minitensor.torch.arguments import as_dim, as_existing_dim, need_int, need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.grad_fn import NamedOperation, name_grad_fn
from minitensor.torch.reductions import ValuesAndIndices, element_of_value
from minitensor.torch.tensor import Tensor, as_result, as_torch, without_history

_gather, _index_select = TABLE["gather"], TABLE["index_select"]


def _pick(x: Tensor, dim: int, order: np.ndarray, name: str) -> Tensor:
    """Return the slices of ``x`` along ``dim`` in another order: ``order`` lists the positions of the slices."""
    index = without_history(x, like(order.astype(np.int64), x._array), name)
    return name_grad_fn(_index_select(x, dim, index), f"{name.capitalize()}Backward0")


def flip(input: Tensor, *dims: Any) -> Tensor:
    """Return a copy with the elements in reverse order along some dimensions. The result has the shape and dtype of
    ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if a dimension is given twice.
        TypeError: if no dimension is given, or one is not an integer.
    """
    if not dims:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    if len({as_dim(dim, input._array.ndim) for dim in given}) < len(given):
        raise RuntimeError(f"flip(): a dim appears multiple times in the list of dims {list(given)}")
    out = input
    for dim in given:
        dim = as_dim(dim, input._array.ndim)
        if not input._array.ndim:
            continue  # a tensor without dimensions accepts 0 and -1, but nothing is reversed
        out = _pick(out, dim, np.arange(input._array.shape[dim])[::-1], "flip")
    return result_strides.arrange(out, result_strides.like_first, input) if out is not input else TABLE["clone"](input)


def roll(input: Tensor, shifts: int, dims: int | None = None) -> Tensor:
    """Return a copy with the elements shifted cyclically by ``shifts`` along ``dims``. Without ``dims``, they are
    shifted in the flattened tensor. The result has the shape and dtype of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    shifts = need_int("roll", "shifts", shifts)
    if dims is None:
        if input._array.ndim == 0:
            return TABLE["clone"](input)
        return as_result(roll(input.reshape(-1), shifts, 0).reshape(input._array.shape))
    dim = as_existing_dim("roll", dims, input._array.ndim)
    length = input._array.shape[dim]
    shift = shifts % (length or 1)
    out = _pick(input, dim, np.roll(np.arange(length), shift), "roll")
    # PyTorch joins two parts, which preserves the layout of images unless one of the parts is empty.
    return result_strides.arrange(out, result_strides.images, input) if shift else out


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the positions of the elements in sorted order. Equal elements keep their order. The result is int64 and
    has the shape of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    need_tensor("argsort", input)
    descending = checks.flag("argsort()", "descending", descending)
    array = host_array(input._array)
    dim = as_dim(dim, array.ndim)
    if array.ndim == 0:
        return without_history(input, np.zeros((), np.int64), "argsort")
    if descending:  # sort the reversed array, so that equal elements keep their order
        backwards = np.flip(np.argsort(np.flip(array, dim), dim, kind="stable"), dim)
        order = array.shape[dim] - 1 - backwards
    else:
        order = np.argsort(array, dim, kind="stable")
    return without_history(input, like(np.ascontiguousarray(order, np.int64), input._array), "argsort")


class Sorted(ValuesAndIndices):
    """The result of ``sort``: the sorted elements, and their former positions."""

    __slots__ = ()
    name = "sort"


class Largest(ValuesAndIndices):
    """The result of ``topk``: the largest (or smallest) elements, and their positions."""

    __slots__ = ()
    name = "topk"


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Sorted:
    """Return the sorted elements along ``dim``, and their former positions. Equal elements keep their order.

    Returns:
        The sorted elements and their former positions (int64), both of the shape of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    order = argsort(input, dim, descending)
    if input._array.ndim == 0:
        return Sorted(name_grad_fn(TABLE["clone"](input), "SortBackward0"), order)
    values = result_strides.arrange(
        _gather(input, as_dim(dim, input._array.ndim), order), result_strides.like_first, input
    )
    return Sorted(name_grad_fn(values, "SortBackward0"), order)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Largest:
    """Return the ``k`` largest (or smallest) elements along ``dim``, in order, and their positions.

    Returns:
        Two tensors of the shape of ``input`` with length k along ``dim``: the elements, and their positions (int64).

    Raises:
        RuntimeError: if ``k`` is negative, or above the length of ``dim``.
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("topk", input)
    length = input._array.shape[as_dim(dim, input._array.ndim)] if input._array.ndim else 1
    k = need_int("topk", "k", k)
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")
    order = argsort(input, dim, largest)
    if input._array.ndim == 0 and k == 1:
        return Largest(name_grad_fn(TABLE["clone"](input), "TopkBackward0"), order)
    if input._array.ndim:
        order = TABLE["clone"](order.narrow(dim, 0, k)) if k < length else order
        order = result_strides.arrange(order, result_strides.contiguous)
    return Largest(name_grad_fn(_gather(input, as_dim(dim, input._array.ndim), order), "TopkBackward0"), order)


# ---------- distinct values ----------


def _no_derivative(name: str, torch_name: str) -> Operation:
    """Return an operation for autograd to record. The backward pass of the operation raises an error."""

    def backward(node: Node, g: Any) -> Any:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented.\n"
            "The distinct values have no derivative: use x.detach().unique()."
        )

    op = NamedOperation(name, backward, torch_name=torch_name, renamed=True)
    op.later = lambda: backward
    return op


_UNIQUE = _no_derivative("_unique2", "Unique2Backward0")
_UNIQUE_DIM = _no_derivative("unique_dim", "UniqueDimBackward0")


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct values of ``input`` in sorted order. With ``dim``, return the distinct slices along ``dim``.

    Returns:
        The values. With ``return_inverse``, also the position of each element's value among the distinct values. With
        ``return_counts``, also the number of occurrences of each value. The values require grad if ``input`` does, but
        a backward pass through them raises an error.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("unique", input)
    checks.flag("unique()", "sorted", sorted)
    return_inverse = checks.flag("unique()", "return_inverse", return_inverse)
    return_counts = checks.flag("unique()", "return_counts", return_counts)
    array = host_array(input._array)
    if dim is not None:
        dim = as_dim(dim, array.ndim)
    found = np.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    values, inverse, counts = found
    inverse = inverse.reshape(array.shape if dim is None else (array.shape[dim],))
    requested = ((inverse, return_inverse), (counts, return_counts))
    results = [values, *(each.astype(np.int64) for each, wanted in requested if wanted)]
    made = tuple(without_history(input, like(np.ascontiguousarray(each), input._array), "unique") for each in results)
    source = input._current()
    if modes.grad and source is not None:
        op = _UNIQUE if dim is None else _UNIQUE_DIM
        made[0]._node = new_node(op, (source,), (), made[0]._array.shape)
    return made if len(made) > 1 else made[0]


# ---------- extremes up to each element ----------


def _running(name: str, largest: bool) -> Callable[..., ValuesAndIndices]:
    kind = type(name, (ValuesAndIndices,), {"__slots__": (), "name": name})

    def running(input: Tensor, dim: int) -> ValuesAndIndices:
        need_tensor(name, input)
        dim = as_dim(dim, input._array.ndim)
        array = host_array(input._array)
        rows = array.reshape(array.shape or (1,))
        found = positions_of_extremes(rows, dim, largest).reshape(array.shape)
        index = without_history(input, like(np.asarray(found, np.int64), input._array), name)
        values = _gather(input, dim, index) if array.ndim else TABLE["clone"](input)
        return kind(name_grad_fn(values, f"{name.capitalize()}Backward0"), index)

    running.__name__ = running.__qualname__ = name
    running.__doc__ = f"""For each element, return the {"largest" if largest else "smallest"} among it and the elements
    before it along ``dim``, and the position of the returned element: the last position if several are equal.

    Returns:
        Two tensors of the shape of ``input``: the elements, and their positions (int64).

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    return running


cummax, cummin = _running("cummax", True), _running("cummin", False)


# ---------- elements by rank, differences of neighbours ----------


class KthValue(ValuesAndIndices):
    """The result of ``kthvalue``: elements and their positions."""

    __slots__ = ()
    name = "kthvalue"


class Median(ValuesAndIndices):
    """The result of ``median`` along a dimension: medians and their positions."""

    __slots__ = ()
    name = "median"


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> KthValue:
    """Return the ``k``-th smallest element (counted from 1) along ``dim``, and its position.

    Returns:
        Two tensors of the shape of ``input`` without ``dim`` (or with length 1 along ``dim`` if ``keepdim`` is true):
        the elements, and their positions (int64).

    Raises:
        RuntimeError: if ``k`` is below 1, or above the length of ``dim``.
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("kthvalue", input)
    keepdim = checks.flag("kthvalue()", "keepdim", keepdim)
    dim = as_dim(dim, input._array.ndim)
    length = input._array.shape[dim] if input._array.ndim else 1
    k = need_int("kthvalue", "k", k, 2)
    if not 1 <= k <= length:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    values, indices = (as_result(each) for each in rearranging.kth("kthvalue", input, k, dim, keepdim))
    return KthValue(name_grad_fn(values, "KthvalueBackward0"), indices)


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of all elements. With ``dim``, return the medians along ``dim`` and their positions.

    If there are two middle elements, the median is the lower one. If an element is nan, the median is nan. Without
    ``dim``, all elements that equal the median share its gradient, and the median of no elements is nan.

    Returns:
        A tensor without dimensions. With ``dim``, two tensors of the shape of ``input`` without ``dim`` (or with length
        1 along ``dim`` if ``keepdim`` is true).

    Raises:
        IndexError: if ``input`` has no such dimension, or if the dimension has length 0.
        NotImplementedError: if ``input`` holds bools.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("median", input)
    if input._array.dtype == np.bool_:
        raise NotImplementedError("\"median_out_impl\" not implemented for 'Bool'")
    keepdim = checks.flag("median()", "keepdim", keepdim)
    if dim is None:
        if input._array.size == 0:
            return element_of_value(input, float("nan"), "median")
        return element_of_value(input, host_array(median(input.detach().reshape(-1), 0).values._array)[()], "median")
    dim = as_dim(dim, input._array.ndim)
    array = host_array(input._array).reshape(input._array.shape or (1,))
    length = int(array.shape[dim])
    if length == 0:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    order = np.argsort(array, dim, kind="stable")
    found = np.take(order, [(length - 1) // 2], dim)
    if array.dtype in FLOATS:
        found = np.where(np.isnan(array).any(dim, keepdims=True), np.isnan(array).argmax(dim, keepdims=True), found)
    index = without_history(input, like(np.ascontiguousarray(found, np.int64), input._array), "median")
    values = _gather(input.reshape(array.shape), dim, index)
    if input._array.ndim == 0 or not keepdim:
        values, index = as_result(values.squeeze(dim)), as_result(index.squeeze(dim))
    return Median(name_grad_fn(values, "MedianBackward1"), index)


def diff(input: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Return the differences of neighbours along ``dim``, differences of these differences, and so on ``n`` times.

    Each time makes ``dim`` one element shorter.

    Raises:
        RuntimeError: if ``n`` is below 0, or ``input`` has no dimension.
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("diff", input)
    if input._array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    count = need_int("diff", "n", n, 2)
    if count < 0:
        raise RuntimeError(f"order must be non-negative but got {count}")
    dim = as_dim(dim, input._array.ndim)
    if count == 0:
        return result_strides.arrange(TABLE["clone"](input), result_strides.like_first, input)
    for _ in range(min(count, input._array.shape[dim])):  # further differences would be empty
        later = input._array[(slice(None),) * dim + (slice(1, None),)]
        out = as_torch(rearranging.diff("diff", input, 1, dim))
        input = result_strides.arrange(out, partial(_like_array, later))
    return input


def _like_array(operand: np.ndarray, result: np.ndarray, _: Any) -> np.ndarray:
    return result_strides.like_operands(result, [operand])
