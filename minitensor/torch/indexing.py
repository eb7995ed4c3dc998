"""``x[index]``, ``x[index] = value``, ``copy_``, ``where`` and ``nonzero``.

A basic index (integers, slices, None, ...) returns a view. An index with a list, a mask or a tensor of integers returns
a copy. An assignment writes in place in both cases.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.history import is_protected
from minitensor.engine.core.layout_rules import strided
from minitensor.engine.core.regions import Pick, steps_of, unlock, writeable
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import broadcast_shapes, host_array, like, restrided
from minitensor.engine.dtypes import INDICES
from minitensor.engine.modes import modes, paused
from minitensor.engine.operations.operands import NUMBERS
from minitensor.engine.views import indexing as engine
from minitensor.torch import result_strides, views
from minitensor.torch.arguments import as_dim, need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.creation import as_tensor
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.errors import leaf_written, not_writeable, sizes_differ, warn
from minitensor.torch.grad_fn import NamedOperation
from minitensor.torch.operands import as_index
from minitensor.torch.tensor import Tensor, as_torch, without_history


def _is_advanced(entry: Any) -> bool:
    if isinstance(entry, BaseTensor):
        return entry._array.ndim > 0 or entry._array.dtype not in INDICES
    return isinstance(entry, (list, tuple, np.ndarray, bool, np.bool_))


def _bytes_as_mask(entry: Any) -> Any:
    """Return a tensor of dtype uint8 as a mask of bools, and any other entry of an index unchanged.

    PyTorch still accepts such masks, because its early versions had no bools.
    """
    if not isinstance(entry, BaseTensor) or entry._array.dtype != np.uint8:
        return entry
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return type(entry)._made(entry._array != 0)


def _checked_entry(entry: Any) -> Any:
    """Check the parts of an entry that is a slice, convert a uint8 mask to bools, and return the entry."""
    return checks.slice_of("Tensor.__getitem__", entry) if isinstance(entry, slice) else _bytes_as_mask(entry)


def _entries(x: Tensor, index: Any) -> tuple[Any, ...]:
    """Check an index and return it as a tuple of entries. A tuple or range among them becomes a list, and a uint8 mask
    becomes a mask of bools.

    Raises:
        IndexError: if the index has more dimensions than ``x``, if a number is out of range, or if an entry is not
            allowed.
        ValueError: if the step of a slice is not above 0.
        TypeError: if a part of a slice is not an integer.
    """
    entries = index if isinstance(index, tuple) else (index,)
    entries = tuple(list(e) if isinstance(e, (tuple, range)) else _checked_entry(e) for e in entries)
    if sum(1 for entry in entries if entry is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    shape = x._array.shape
    taken = 0
    for entry in entries:
        if entry is None or entry is Ellipsis or isinstance(entry, (bool, np.bool_)):
            continue
        mask = isinstance(entry, BaseTensor) and entry._array.dtype.kind == "b"
        taken += entry._array.ndim if mask else 1
    if taken > len(shape):
        if not shape and isinstance(entries[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if not shape and not _is_advanced(entries[0]):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    d = 0
    for entry in entries:
        if entry is Ellipsis:
            d += len(shape) - taken
        elif isinstance(entry, slice):
            if entry.step is not None and entry.step <= 0:
                raise ValueError("step must be greater than zero")
            d += 1
        elif entry is not None and not _is_advanced(entry):
            try:
                number = operator.index(entry)
            except (AttributeError, TypeError):
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                    f"(got {type(entry).__name__})"
                ) from None
            if not -shape[d] <= number < shape[d]:
                raise IndexError(f"index {shown(number)} is out of bounds for dimension {d} with size {shape[d]}")
            d += 1
        elif entry is not None and not isinstance(entry, (bool, np.bool_)):
            mask = isinstance(entry, BaseTensor) and entry._array.dtype.kind == "b"
            if isinstance(entry, BaseTensor) and not mask and entry._array.dtype not in INDICES:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            if mask:
                for k, n in enumerate(entry._array.shape):
                    if n != shape[d + k]:
                        raise IndexError(
                            f"The shape of the mask {list(entry._array.shape)} at index {k} does not match the shape "
                            f"of the indexed tensor {list(shape)} at index {d + k}"
                        )
            d += entry._array.ndim if mask else 1
    return entries


def _basic(x: Tensor, entries: tuple[Any, ...]) -> tuple[tuple[Any, ...], views.View]:
    """Return a basic index in numpy's form, and the operation that PyTorch records last when it applies the index.

    PyTorch records a slice of a whole dimension if it is the only entry, as in ``x[:]``, but not in ``x[:, 0]``.
    """
    op = views.ALIAS
    index: list[Any] = []
    d = 0
    taken = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    for entry in entries:
        if entry is None:
            op = views.NEW_DIMENSION
        elif entry is Ellipsis:
            d += x._array.ndim - taken
        else:
            if isinstance(entry, slice):
                length = x._array.shape[d]
                op = op if len(entries) > 1 and entry.indices(length) == (0, length, 1) else views.SLICE
            else:
                entry, op = operator.index(entry), views.SELECT
            d += 1
        index.append(entry)
    return tuple(index), op


def _takes_all(x: Tensor, entries: tuple[Any, ...]) -> bool:
    """True if a basic index consists only of ``...`` and of slices of whole dimensions, as in ``x[..., :]``."""
    pairs = zip(entries, x._array.shape, strict=False)
    return all(entry is Ellipsis or (isinstance(entry, slice) and entry.indices(n) == (0, n, 1)) for entry, n in pairs)


def getitem(x: Tensor, index: Any) -> Tensor:
    """Return ``x[index]``: a view for a basic index, a copy for an advanced one."""
    entries = _entries(x, index)
    if not any(map(_is_advanced, entries)):
        plain, op = _basic(x, entries)
        pick = Pick(plain)
        array = pick(x._array)
        if None in plain and array.size:  # numpy gives a new dimension the stride 0, and PyTorch does not
            array = restrided(array, array.shape, tuple(step * array.itemsize for step in steps_of(array)))
        return views.new_view(x, array, op, pick)
    try:
        out = as_torch(engine.getitem(x, entries))
    except IndexError as error:
        raise IndexError(str(error).partition(";")[0].replace("for axis", "for dimension")) from None
    return _lay_out(out, x._array, entries) if strided.exist else out


def _lay_out(out: Tensor, source: np.ndarray, entries: tuple[Any, ...]) -> Tensor:
    """Return ``out`` in PyTorch's memory layout. ``entries`` is the index that selected ``out`` from ``source``."""
    index: list[np.ndarray] = []
    axes: list[int] = []
    plain: list[Any] = []
    for entry in entries:
        if entry is None or entry is Ellipsis or isinstance(entry, slice):
            plain.append(entry)
        elif not _is_advanced(entry):
            plain.append(operator.index(entry))
        else:
            array = np.asarray(host_array(entry._array) if isinstance(entry, BaseTensor) else entry)
            if array.ndim == 0:
                return out  # with a bool in the index, the layout does not change
            # A mask is replaced by the positions of its true elements: one array for each dimension of the mask.
            each = list(np.nonzero(array)) if array.dtype.kind == "b" else [array]
            axes += range(len(plain), len(plain) + len(each))
            index += each
            plain += [slice(None)] * len(each)
    if Ellipsis in plain:
        at, missing = plain.index(Ellipsis), source.ndim - sum(one is not None for one in plain) + 1
        plain[at : at + 1] = [slice(None)] * missing
        axes = [axis if axis < at else axis + missing - 1 for axis in axes]
    numbers = [at for at, one in enumerate(plain) if isinstance(one, int)]
    axes = [axis - sum(at < axis for at in numbers) for axis in axes]
    left = source[tuple(plain)]
    return result_strides.arrange(out, lambda result, _: result_strides.picked(result, left, axes, index))


def _check_value(x: Tensor, entries: tuple[Any, ...], value: Any, op: str) -> None:
    """Raise IndexError if the index does not fit ``x``, and RuntimeError if ``value`` does not fit into the elements
    that the index selects.
    """
    plain, advanced = engine._plain(entries, x._array)
    try:
        shape = x._array[plain].shape
    except (IndexError, ValueError) as error:
        raise IndexError(str(error).partition(";")[0].replace("for axis", "for dimension")) from None
    have = value._array.shape if isinstance(value, BaseTensor) else np.shape(value)
    short = have
    while op == "setitem" and len(short) > len(shape) and short[0] == 1:
        short = short[1:]
    try:
        fits = broadcast_shapes(short, shape) == shape
    except ValueError:
        fits = False
    if fits:
        return
    if advanced:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    value = value if isinstance(value, BaseTensor) else as_tensor(value)
    if op == "copy_":
        try:
            whole = broadcast_shapes(have, shape)
        except ValueError:
            raise sizes_differ([shape, have]) from None
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}")
    raise _expansion_error(value, tuple(short), tuple(shape))


def _expansion_error(value: BaseTensor, have: tuple[int, ...], want: tuple[int, ...]) -> RuntimeError:
    """Return the error for a ``value`` of shape ``have`` that cannot be expanded to the shape ``want``."""
    lead = len(want) - len(have)
    for i in range(len(want) - 1, lead - 1, -1) if lead >= 0 else ():
        n, m = want[i], have[i - lead]
        if n != m and m != 1:
            return RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({m}) at non-singleton dimension "
                f"{i}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
            )
    return RuntimeError(
        f"expand(torch.{SCALAR_NAMES[value._array.dtype]}Tensor{{{list(have)}}}, size={list(want)}): the number of "
        f"sizes provided ({len(want)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
    )


def _store(x: Tensor, entries: tuple[Any, ...], value: Any, op: str) -> None:
    if not isinstance(value, (BaseTensor, np.ndarray, *NUMBERS)):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{x.dtype.name} tensor")
    through_view = op == "setitem" and not any(map(_is_advanced, entries)) and not _takes_all(x, entries)
    if through_view:
        _check_value(x, entries, value, op)
    if is_protected(x) and (not paused.threads or modes.grad):
        raise leaf_written(op, x, is_view=through_view or not x.is_leaf)
    if not through_view:
        _check_value(x, entries, value, op)
    if not writeable(x._array):
        pick = Pick(engine._plain(entries, x._array)[0])
        if not through_view or not writeable(unlock(pick(x._array), x._array)):
            raise not_writeable(op, x)
    try:
        engine.store_at(x, entries, value, op)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Write ``value`` at ``x[index]``. Floats are truncated if ``x`` holds integers."""
    _store(x, _entries(x, index), value, "setitem")


#: The operation that autograd records for ``copy_`` into a whole tensor.
COPY = NamedOperation("copy_", engine.SET_PART.backward, jvp=engine.SET_PART.jvp, torch_name="CopyBackwards")


def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the tensor with the values of ``src``, which is broadcast to the tensor's shape. The gradient flows to
    ``src``. Return the tensor.

    Raises:
        RuntimeError: if the shape of ``src`` cannot be broadcast to that of the tensor, or if the tensor is a leaf that
            requires grad, in grad mode.
        TypeError: if ``src`` is not a tensor.
    """
    if not isinstance(src, BaseTensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    _store(input, (), src, "copy_")
    node = input._node
    if node is not None and node.op is engine.SET_PART and node.shape == input._array.shape:
        node.op = COPY
    return input


def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Overwrite the slices of the tensor at the positions ``index`` along ``dim`` with the slices of ``source``, and
    return the tensor.

    Args:
        index: int64, shape [n].
        source: a tensor of the same shape as ``input``, except for the length n along ``dim``.

    Raises:
        RuntimeError: if ``index`` or ``source`` has another shape.
        IndexError: if an index is out of range.
    """
    need_tensor("index_copy_", source)
    before = (slice(None),) * as_dim(dim, input._array.ndim)
    input[(*before, as_index("index_copy_", index))] = source
    return input


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Return ``input`` where ``condition`` is true, else ``other``. If only the condition is given, return the indices
    where it is true.

    Args:
        condition: a bool tensor.
        input, other: tensors or numbers. All three shapes are broadcast against each other.

    Returns:
        A tensor of the broadcast shape. If only the condition is given, an int64 tensor of shape [n] for each
        dimension, where n is the number of true elements.

    Raises:
        RuntimeError: if ``condition`` has another dtype, or the shapes cannot be broadcast.
        TypeError: if ``condition`` is not a tensor.
    """
    need_tensor("where", condition)
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(input, BaseTensor) and not isinstance(other, BaseTensor):
        input = condition.new_tensor(input)
    return TABLE["where"](condition, input, other)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of the n elements that are not 0.

    Returns:
        An int64 tensor of shape [n, dimensions], with a row for each of these elements. With ``as_tuple``, a tuple with
        an int64 tensor of shape [n] for each dimension.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("nonzero", input)
    array = host_array(input._array)
    if as_tuple:
        places = np.nonzero(array if array.ndim else array[None])
        return tuple(without_history(input, like(i.astype(np.int64), input._array), "nonzero") for i in places)
    return without_history(input, like(np.argwhere(array).astype(np.int64), input._array), "nonzero")


def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the n elements that are not 0.

    Returns:
        An int64 tensor of shape [n, dimensions], with a row for each of these elements.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("argwhere", input)
    return nonzero(input)


def where_method(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the tensor's elements where ``condition`` is true, else the elements of ``other``. The result has the
    shape to which the three tensors are broadcast.

    Raises:
        RuntimeError: if ``condition`` does not hold bools, or the shapes cannot be broadcast.
    """
    return TABLE["where"](condition, input, other)


where_method.__name__ = where_method.__qualname__ = "where"
