"""Elements in another order or picked by size: copies, which gradients pass through."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from minitensor.device.arrays import host_array, like
from minitensor.torch.arguments import need_int, need_ints
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.joining import repeat
from minitensor.torch.naming import called, need_tensor, plain
from minitensor.torch.tensor import Tensor, as_dim

_gather, _index_select = TABLE["gather"], TABLE["index_select"]


def _picked(x: Tensor, dim: int, order: np.ndarray, name: str) -> Tensor:
    """The parts of ``x`` along ``dim`` in the order given."""
    index = plain(x, like(order.astype(np.int64), x._array), name)
    return called(_index_select(x, dim, index), f"{name.capitalize()}Backward0")


def flip(input: Tensor, *dims: Any) -> Tensor:
    """The elements in reverse order along some dimensions: a copy.

    Returns:
        A tensor of the shape and dtype of ``input``.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    out = input
    for dim in given:
        dim = as_dim(dim, input._array.ndim)
        out = _picked(out, dim, np.arange(input._array.shape[dim])[::-1], "flip")
    return out if out is not input else TABLE["clone"](input)


def roll(input: Tensor, shifts: int, dims: int | None = None) -> Tensor:
    """The elements moved along a dimension (of all elements in a row without one); what falls off enters again.

    Returns:
        A tensor of the shape and dtype of ``input``.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    shifts = need_int("roll", "shifts", shifts)
    if dims is None:
        return roll(input.reshape(-1), shifts, 0).reshape(input._array.shape)
    dim = as_dim(dims, input._array.ndim)
    length = input._array.shape[dim]
    return _picked(input, dim, np.roll(np.arange(length), shifts % (length or 1)), "roll")


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions of the elements in order; equal ones stay in theirs.

    Returns:
        An int64 tensor of the shape of ``input``.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    need_tensor("argsort", input)
    array = host_array(input._array)
    if array.ndim == 0:
        return plain(input, np.zeros((), np.int64), "argsort")
    dim = as_dim(dim, array.ndim)
    if descending:  # from behind, so that equal elements keep their order
        turned = np.flip(np.argsort(np.flip(array, dim), dim, kind="stable"), dim)
        order = array.shape[dim] - 1 - turned
    else:
        order = np.argsort(array, dim, kind="stable")
    return plain(input, like(np.ascontiguousarray(order, np.int64), input._array), "argsort")


class _Pair(namedtuple("_Pair", ("values", "indices"))):
    __slots__ = ()
    name = ""

    def __repr__(self) -> str:
        return f"torch.return_types.{self.name}(\nvalues={self.values!r},\nindices={self.indices!r})"


class Sorted(_Pair):
    """The elements in order, and where they were."""

    __slots__ = ()
    name = "sort"


class Largest(_Pair):
    """The largest elements, and where they are."""

    __slots__ = ()
    name = "topk"


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Sorted:
    """The elements in order along ``dim``, and where they were; equal ones stay in their order.

    Returns:
        The elements, and where they were (int64), both of the shape of ``input``.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    order = argsort(input, dim, descending)
    if input._array.ndim == 0:
        return Sorted(called(TABLE["clone"](input), "SortBackward0"), order)
    return Sorted(called(_gather(input, as_dim(dim, input._array.ndim), order), "SortBackward0"), order)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Largest:
    """The ``k`` largest (or smallest) elements along ``dim``, in order, and where they are.

    Returns:
        Two tensors of the shape of ``input`` with length k along ``dim``: the elements, and their positions (int64).

    Raises:
        RuntimeError: when there are not so many.
        IndexError: for a dimension that ``input`` does not have.
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("topk", input)
    length = input._array.shape[as_dim(dim, input._array.ndim)] if input._array.ndim else 1
    k = need_int("topk", "k", k)
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")
    order = argsort(input, dim, largest).narrow(dim, 0, k).contiguous()
    return Largest(called(_gather(input, as_dim(dim, input._array.ndim), order), "TopkBackward0"), order)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated, with dimensions added in front where fewer are told than there are.

    Args:
        dims: how often, for each dimension.

    Returns:
        A tensor whose lengths are those of ``input`` times ``dims``.

    Raises:
        RuntimeError: for a number below 0.
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("tile", input)
    times = need_ints("tile", "dims", dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims)
    return repeat(input, [1] * (input._array.ndim - len(times)) + times)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Returns:
        A tensor without dimensions.

    Raises:
        RuntimeError: for a tensor that is no matrix.
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("trace", input)
    if input._array.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return called(TABLE["sum"](input.diagonal()), "TraceBackward0")


def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Overwrite the parts along ``dim`` that ``index`` lists with those of ``source``.

    Args:
        index: int64, shape [n].
        source: as ``input``, with length n along ``dim``.

    Raises:
        RuntimeError: for other shapes.
        IndexError: for an index out of range.
    """
    need_tensor("index_copy_", source)
    before = (slice(None),) * as_dim(dim, input._array.ndim)
    input[(*before, index)] = source
    return input


# ---------- with a factor ----------


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Returns:
        A new tensor of the broadcast shape.

    Raises:
        RuntimeError: for shapes that cannot be broadcast.
    """
    return called(TABLE["add"](input, TABLE["mul"](tensor1, tensor2), alpha=value), "AddcmulBackward0")


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Returns:
        A new tensor of the broadcast shape.

    Raises:
        RuntimeError: for shapes that cannot be broadcast.
    """
    return called(TABLE["add"](input, TABLE["div"](tensor1, tensor2), alpha=value), "AddcdivBackward0")


def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``addcmul`` in place: one write.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: for shapes that are not broadcast to that of ``input``, a result that its dtype cannot hold, or a
            leaf that requires grad.
    """
    return TABLE["add_"](input, TABLE["mul"](tensor1, tensor2), alpha=value)


def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``addcdiv`` in place: one write.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: for shapes that are not broadcast to that of ``input``, a result that its dtype cannot hold, or a
            leaf that requires grad.
    """
    return TABLE["add_"](input, TABLE["div"](tensor1, tensor2), alpha=value)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``input``, but not below ``min``.

    Returns:
        A new tensor of the shape of ``input``.

    Raises:
        TypeError: for what is no tensor, or a bound that is no number.
    """
    return called(TABLE["clamp"](input, min), "ClampMinBackward0")


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``input``, but not above ``max``.

    Returns:
        A new tensor of the shape of ``input``.

    Raises:
        TypeError: for what is no tensor, or a bound that is no number.
    """
    return called(TABLE["clamp"](input, None, max), "ClampMaxBackward0")


def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """``clamp_min`` in place.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: for a leaf that requires grad, in grad mode.
        TypeError: for a bound that is no number.
    """
    return TABLE["clamp_"](input, min)


def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """``clamp_max`` in place.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: for a leaf that requires grad, in grad mode.
        TypeError: for a bound that is no number.
    """
    return TABLE["clamp_"](input, None, max)
