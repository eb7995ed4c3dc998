"""Create views: new tensors on existing storages.

The in-place forms (``transpose_``, ``squeeze_``, ...) change the shape and strides of the tensor itself. They write no
elements, but increment the version, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.history import Node, is_protected, new_node, repeated
from minitensor.engine.core.layout_rules import strided
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import restrided
from minitensor.engine.dtypes import DType
from minitensor.engine.events import TensorWritten, watch
from minitensor.engine.modes import modes, paused
from minitensor.engine.saved.writing import write
from minitensor.engine.views import parts, reshaping, transposing
from minitensor.engine.views.making import Reshaping, reshaped, view_of
from minitensor.engine.views.other_dtype import read_as
from minitensor.torch.arguments import as_dim, need_ints, need_tensor, sizes_of
from minitensor.torch.dtypes import SCALAR_NAMES, dtype, dtype_of
from minitensor.torch.errors import leaf_written, warn
from minitensor.torch.memory_formats import contiguous
from minitensor.torch.result_strides import register_strides, view_strides
from minitensor.torch.tensor import Tensor, as_torch


class View(Reshaping):
    """The operation that autograd records for one kind of view. ``torch_name`` is the name of its ``grad_fn``."""

    __slots__ = ("torch_name",)

    def __init__(self, name: str, forward: Any, backward: Any, torch_name: str = "") -> None:
        super().__init__(name, forward, backward)
        self.torch_name = torch_name or f"{''.join(p.capitalize() for p in name.strip('_').split('_'))}Backward0"


def _same_order(name: str, torch_name: str = "") -> View:
    return View(name, reshaping.RESHAPE.forward, reshaping.RESHAPE.backward, torch_name)


def _other_order(name: str, torch_name: str = "") -> View:
    return View(name, transposing.TRANSPOSE.forward, transposing.TRANSPOSE.backward, torch_name)


def _part(name: str, torch_name: str = "") -> View:
    return View(name, lambda array, show: show(array), parts.part_backward, torch_name)


def _expand_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    return (g,)  # the engine sums the gradient to the input's shape


VIEW, UNSAFE_VIEW = _same_order("view"), _same_order("reshape", "UnsafeViewBackward0")
SQUEEZE, UNSQUEEZE = _same_order("squeeze"), _same_order("unsqueeze")
SQUEEZE_DIM, SQUEEZE_DIMS = _same_order("squeeze", "SqueezeBackward1"), _same_order("squeeze", "SqueezeBackward2")
SQUEEZE_, SQUEEZE_DIM_, SQUEEZE_DIMS_ = (_same_order("squeeze_", f"SqueezeBackward{number}") for number in (3, 4, 5))
UNSQUEEZE_ = _same_order("unsqueeze_", "UnsqueezeBackward1")
TRANSPOSE, TRANSPOSE_ = _other_order("transpose"), _other_order("transpose_", "TransposeBackward1")
PERMUTE, T, T_ = _other_order("permute"), _other_order("t"), _other_order("t_", "TBackward1")
SELECT, SLICE, DIAGONAL, ALIAS = _part("select"), _part("slice"), _part("diagonal"), _part("alias")
SPLIT, SPLIT_SIZES, UNBIND = _part("split"), _part("split", "SplitWithSizesBackward0"), _part("unbind")
#: The operation of ``x[None]``, which PyTorch records as ``unsqueeze``.
NEW_DIMENSION = _part("unsqueeze")
EXPAND = View("expand", lambda u, shape: repeated(u, shape), _expand_backward)


def new_view(x: Tensor, array: np.ndarray, op: View, *saved: Any) -> Tensor:
    """Return ``array``, a view of the array of ``x``, as a tensor on the storage of ``x``. Autograd records ``op``."""
    return as_torch(view_of(x, register_strides(array), op, saved))


# ---------- the same elements in the same order ----------


def _complete(count: int, sizes: list[int]) -> tuple[int, ...]:
    """Return the shape ``sizes`` with -1 replaced by the missing length. Raise RuntimeError if no such shape has
    ``count`` elements.
    """
    if any(n < -1 for n in sizes):
        raise RuntimeError(f"invalid shape dimension {shown(min(sizes))}")
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in sizes if n != -1)
    if -1 in sizes and known == count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shown(sizes)} because the unspecified dimension "
            f"size -1 can be any value and is ambiguous"
        )
    if known != count if -1 not in sizes else known == 0 or count % known:
        raise RuntimeError(f"shape '{shown(sizes)}' is invalid for input of size {count}")
    return tuple(count // known if n == -1 else n for n in sizes)


def _on_same_memory(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return ``array`` in another shape on the same memory, with PyTorch's strides. None means that it needs a copy."""
    if array.size == 0 or (array.flags.c_contiguous and not strided.unusual):
        return array.reshape(shape)
    strides = view_strides(array, shape)
    if strides is None:
        return None
    return restrided(array, shape, strides) if 1 in shape else array.reshape(shape)


def _bytes_as(input: Tensor, wanted: dtype) -> Tensor:
    """Return a view of the bytes of ``input`` as elements of the dtype ``wanted``, or raise PyTorch's errors."""

    def error(part: str, needed: str, number: int) -> Exception:
        names = " as ".join(SCALAR_NAMES[each] for each in (input._array.dtype, wanted.numpy))
        if part == "dim()":
            return RuntimeError(f"self.dim() cannot be 0 to view {names} (different element sizes)")
        return RuntimeError(f"self.{part} must be {needed} to view {names} (different element sizes), but got {number}")

    return as_torch(read_as(input, wanted, error))


def view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Return a view of the elements in another shape, or of the bytes as another dtype.

    Args:
        size: lengths whose product is the number of elements (one length may be -1), or a dtype, as in
            ``x.view(torch.int32)``. A view as another dtype does not require grad.
        dtype: the dtype, if it is passed as a keyword argument.

    Raises:
        RuntimeError: if the new shape needs a copy or has another number of elements, or if the bytes cannot be divided
            into elements of the dtype.
        TypeError: if neither a shape nor a dtype is given, or both are.
    """
    given = size[0] if len(size) == 1 else None
    if dtype is None and (isinstance(given, DType) or any(given is each for each in (float, int, bool))):
        size, dtype = (), given
    if dtype is not None:
        if size or isinstance(dtype, str):
            raise TypeError(f"view() takes a shape or a torch.dtype, not {(*size, dtype)!r}")
        return _bytes_as(input, dtype_of(dtype))
    if not size:
        raise TypeError("view() takes the new shape, as in x.view(2, 3), or a dtype, as in x.view(torch.int32)")
    wanted = _complete(input._array.size, sizes_of("view", size))
    array = _on_same_memory(input._array, wanted)
    if array is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return new_view(input, array, VIEW, wanted)


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Return the elements in another shape: a view if the memory allows it, else a copy.

    Args:
        shape: lengths whose product is the number of elements. One of them may be -1; it is then computed.

    Raises:
        RuntimeError: if the shape has another number of elements.
    """
    wanted = _complete(input._array.size, sizes_of("reshape", shape))
    array = _on_same_memory(input._array, wanted)
    if array is not None:
        return new_view(input, array, VIEW, wanted)
    out = Tensor._made(input._array.copy().reshape(wanted), "reshape", (input,))
    node = input._current()
    if node is not None and (not paused.threads or modes.grad):
        out._node = new_node(UNSAFE_VIEW, (node,), (wanted,), wanted)
    return out


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of ``other``, on the same storage.

    Raises:
        RuntimeError: if the shape has another number of elements, or if it needs a copy.
        TypeError: if ``other`` is not a tensor.
    """
    need_tensor("view_as", other, name="other")
    return view(input, other._array.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of ``other``: a view if the memory allows it, else a copy.

    Raises:
        RuntimeError: if the shape has another number of elements.
        TypeError: if ``other`` is not a tensor.
    """
    need_tensor("reshape_as", other, name="other")
    return reshape(input, other._array.shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return the tensor with the dimensions from ``start_dim`` to ``end_dim`` merged into one.

    If ``start_dim`` and ``end_dim`` are the same dimension, the result is the tensor itself. A tensor without
    dimensions becomes a vector of one element.

    Raises:
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
        IndexError: if ``input`` has no such dimension.
    """
    shape = input._array.shape
    first, last = as_dim(start_dim, len(shape)), as_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension, of shape [n]: a view if they are contiguous, else a copy.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("ravel", input)
    return reshape(contiguous(input), -1)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Return a view with the dimension ``dim`` split into several.

    Args:
        sizes: lengths whose product is the length of ``dim``. One of them may be -1; it is then computed.

    Raises:
        RuntimeError: if the product of ``sizes`` is another number, or if -1 could be any length.
        IndexError: if ``input`` has no such dimension.
    """
    dim = as_dim(dim, input._array.ndim)
    shape = input._array.shape
    rest = need_ints("unflatten", "sizes", sizes, 2)
    if not shape:
        raise IndexError("unflatten(): dimension specified as 0 but tensor has no dimensions")
    if not rest:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        lengths = _complete(shape[dim], rest)
    except RuntimeError as error:
        if "is invalid for input" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            f"input tensor"
        ) from None
    return view(input, (*shape[:dim], *lengths, *shape[dim + 1 :]))


def _without_ones(x: Tensor, dim: Any) -> np.ndarray:
    array = x._array[...]  # a new array object: `squeeze` returns the same object if there is nothing to remove
    shape = array.shape
    if dim is None:
        return array.squeeze()
    found = [as_dim(d, len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    dims = set(found)
    if len(dims) < len(found):
        raise RuntimeError(f"squeeze(): a dim appears multiple times in the list of dims {list(dim)}")
    return array.squeeze(tuple(d for d, n in enumerate(shape) if n == 1 and d in dims))


def _choose_by_dim(dim: Any, of_all: View, of_one: View, of_several: View) -> View:
    return of_all if dim is None else of_several if isinstance(dim, (list, tuple)) else of_one


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Return a view without the dimensions of length 1. If ``dim`` names one dimension or several, remove only these.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    array = _without_ones(input, dim)
    return new_view(input, array, _choose_by_dim(dim, SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS), array.shape)


def _with_one(array: np.ndarray, dim: int) -> np.ndarray:
    """Return a view with another dimension of length 1 at ``dim``, with PyTorch's stride.

    Raises:
        IndexError: if the result has no such dimension.
    """
    dim = as_dim(dim, array.ndim + 1)
    shape = (*array.shape[:dim], 1, *array.shape[dim:])
    if not strided.unusual or not array.size:
        return array.reshape(shape)
    stride = array.shape[dim] * array.strides[dim] if dim < array.ndim else array.itemsize
    return restrided(array, shape, (*array.strides[:dim], stride, *array.strides[dim:]))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Return a view with another dimension of length 1 at ``dim``.

    Raises:
        IndexError: if the result has no such dimension.
    """
    array = _with_one(input._array, dim)
    return new_view(input, array, UNSQUEEZE, array.shape)


# ---------- the same elements in another order ----------


def _exchange_order(x: Tensor, dim0: Any, dim1: Any) -> tuple[int, ...]:
    order = list(range(x._array.ndim))
    first, second = as_dim(dim0, len(order)), as_dim(dim1, len(order))
    if order:
        order[first], order[second] = order[second], order[first]
    return tuple(order)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions exchanged.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    order = _exchange_order(input, dim0, dim1)
    return new_view(input, input._array.transpose(order), TRANSPOSE, order)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """Return a view with the dimensions in another order.

    Args:
        dims: every dimension once, in the new order.

    Raises:
        RuntimeError: if a dimension is repeated or missing.
        IndexError: if ``input`` has no such dimension.
    """
    ndim = input._array.ndim
    given = sizes_of("permute", dims)
    if len(given) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(given)}"
        )
    order = tuple(as_dim(d, ndim) for d in given)
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return new_view(input, input._array.transpose(order), PERMUTE, order)


def _transpose_order(op: str, x: Tensor) -> tuple[int, ...]:
    if x._array.ndim > 2:
        raise RuntimeError(f"{op}() expects a tensor with <= 2 dimensions, but self is {x._array.ndim}D")
    return tuple(range(x._array.ndim))[::-1]


def t(input: Tensor) -> Tensor:
    """Return a view of a matrix with rows and columns exchanged. The view of a vector or a number has the same shape.

    Raises:
        RuntimeError: if the tensor has more than two dimensions.
    """
    order = _transpose_order("t", input)
    return new_view(input, input._array.transpose(order), T, order)


def movedim(input: Tensor, source: int, destination: int) -> Tensor:
    """Return a view with one dimension moved to another position.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    order = list(range(input._array.ndim))
    moved, to = as_dim(source, len(order)), as_dim(destination, len(order))
    if order:  # a tensor without dimensions accepts 0 and -1, too
        order.insert(to, order.pop(moved))
    return permute(input, order)


def reverse_dims(x: BaseTensor) -> Tensor:
    """Return a view with the dimensions in reverse order. As in PyTorch, warn unless there are 2 dimensions or none."""
    if x._array.ndim not in (0, 2):
        warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    order = tuple(range(x._array.ndim))[::-1]
    return new_view(x, x._array.transpose(order), PERMUTE, order)  # type: ignore[arg-type]  # x is a tensor of this vocabulary


def transpose_matrices(input: Tensor) -> Tensor:
    """Return a view with the last two dimensions exchanged: [..., n, m] becomes [..., m, n].

    Raises:
        IndexError: if the tensor has fewer than two dimensions.
    """
    return transpose(input, -2, -1)


# ---------- in place: shape and strides of the tensor itself ----------


def count_as_write(x: BaseTensor, name: str) -> None:
    """Increment the version of ``x`` as a write does, but without writing elements. PyTorch does this if a shape
    changes in place.

    ``backward()`` then refuses a saved tensor if it was saved before the change.
    """
    nothing = x._array[..., np.newaxis][..., :0]
    write(x._storage, nothing, name, None, lambda: None)
    if watch.listener is not None:
        watch.listener(TensorWritten(x, name, (x,), nothing))


def _reshape(x: Tensor, op: View, array: np.ndarray, saved: tuple[int, ...]) -> Tensor:
    if is_protected(x) and (not paused.threads or modes.grad):
        raise leaf_written(op.name, x, is_view=not x.is_leaf)
    count_as_write(x, op.name)
    reshaped(x, register_strides(array), op, (saved,))
    return x


def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of the tensor itself, without writing its memory, and return the tensor.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if the tensor is a leaf that requires grad, or a view of such a leaf, in grad mode.
    """
    order = _exchange_order(input, dim0, dim1)
    return _reshape(input, TRANSPOSE_, input._array.transpose(order), order)


def t_(input: Tensor) -> Tensor:
    """Exchange the rows and columns of the tensor itself, without writing its memory, and return the tensor. The shape
    [n, m] becomes [m, n].

    Raises:
        RuntimeError: if the tensor has more than two dimensions, or is a leaf that requires grad, or a view of such a
            leaf, in grad mode.
    """
    order = _transpose_order("t_", input)
    return _reshape(input, T_, input._array.transpose(order), order)


def squeeze_(input: Tensor, dim: Any = None) -> Tensor:
    """Remove dimensions of length 1 from the tensor itself, without writing its memory, and return the tensor.

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if the tensor is a leaf that requires grad, or a view of such a leaf, in grad mode.
    """
    array = _without_ones(input, dim)
    return _reshape(input, _choose_by_dim(dim, SQUEEZE_, SQUEEZE_DIM_, SQUEEZE_DIMS_), array, array.shape)


def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Add a dimension of length 1 to the tensor itself, without writing its memory, and return the tensor.

    Raises:
        IndexError: if the result has no such dimension.
        RuntimeError: if the tensor is a leaf that requires grad, or a view of such a leaf, in grad mode.
    """
    array = _with_one(input._array, dim)
    return _reshape(input, UNSQUEEZE_, array, array.shape)
