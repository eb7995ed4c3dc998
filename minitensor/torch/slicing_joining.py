"""Slice, expand, join and repeat tensors.

As in PyTorch, ``split`` and ``expand`` return views, and ``cat``, ``stack`` and ``repeat`` copy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.core.regions import Pick, locked
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.creation.making import MOST_ELEMENTS
from minitensor.engine.device.arrays import restrided
from minitensor.engine.layers import rearranging
from minitensor.engine.views import joining
from minitensor.engine.views import parts as engine
from minitensor.torch.arguments import as_dim, need_int, need_ints, need_tensor, sizes_of
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.result_strides import arrange, register_strides, stacked
from minitensor.torch.tensor import Tensor, as_result, as_torch
from minitensor.torch.views import EXPAND, SELECT, SLICE, SPLIT, SPLIT_SIZES, UNBIND, View, new_view


def part_of(x: Tensor, index: Any, op: View) -> Tensor:
    """Return the view that a basic index (integers, slices, None, ...) selects from ``x``."""
    pick = Pick(index)
    return new_view(x, pick(x._array), op, pick)


# ---------- views that repeat elements ----------


def expansion_of(x: BaseTensor, sizes: Sequence[int]) -> str:
    """Return a call of ``expand`` as PyTorch's error messages write it."""
    return f"expand(torch.{SCALAR_NAMES[x._array.dtype]}Tensor{{{list(x._array.shape)}}}, size={shown(list(sizes))})"


def expand(input: Tensor, *size: Any) -> Tensor:
    """Return a view of shape ``size`` that repeats ``input`` without a copy. Repeated elements share memory.

    Args:
        size: the lengths of new dimensions in front, and then a length for each dimension of ``input``. A dimension of
            length 1 may get any length. The length -1 leaves a dimension unchanged.

    Raises:
        RuntimeError: if a length other than 1 would change.
    """
    have = input._array.shape
    sizes = sizes_of("expand", size)
    missing = len(sizes) - len(have)
    if missing < 0:
        raise RuntimeError(
            f"{expansion_of(input, sizes)}: the number of sizes provided ({len(sizes)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    steps = [0] * len(sizes)
    for i in range(len(sizes) - 1, -1, -1):
        n = sizes[i]
        length = have[i - missing] if i >= missing else 1
        if n == -1 and i >= missing:
            sizes[i] = n = length
        if n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({shown(n)}) isn't allowed in a leading, non-existing dimension {i}"
            )
        if n != length and length != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({shown(n)}) must match the existing size ({length}) at "
                f"non-singleton dimension {i}.  Target sizes: {shown(sizes)}.  Tensor sizes: {list(have)}"
            )
        if i >= missing and n == length:
            steps[i] = input._array.strides[i - missing]
    if math.prod(n for n in sizes if n) > sys.maxsize // input._array.itemsize:
        raise RuntimeError(f"expand(): a view of size {sizes} has more elements than can be addressed")
    array = locked(restrided(input._array, tuple(sizes), tuple(steps)))
    return new_view(input, array, EXPAND, tuple(sizes))


def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """Return a view of shape ``size`` that repeats ``input`` without a copy.

    Raises:
        RuntimeError: if a length other than 1 would change.
        TypeError: if a length is not an integer.
    """
    return expand(input, sizes_of("broadcast_to", size))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view of the shape of ``other`` that repeats ``input`` without a copy.

    Raises:
        RuntimeError: if a length other than 1 would change.
        TypeError: if ``other`` is not a tensor.
    """
    need_tensor("expand_as", other, name="other")
    return expand(input, other._array.shape)


# ---------- views of parts ----------


def need_dimension(text: str, x: Tensor) -> None:
    """Raise RuntimeError with ``text`` if the tensor has no dimensions."""
    if x._array.ndim == 0:
        raise RuntimeError(text)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of one position along ``dim``, without that dimension.

    Raises:
        IndexError: if the index is out of range, or ``input`` has no such dimension.
    """
    if input._array.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = as_dim(dim, input._array.ndim)
    length = input._array.shape[dim]
    index = need_int("select", "index", index, 2)
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._array.shape)} at dimension {dim}"
        )
    return part_of(input, ((slice(None),) * dim) + (index,), SELECT)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a view of ``length`` positions along ``dim``, from ``start`` on.

    Raises:
        RuntimeError: if the range exceeds the dimension.
        IndexError: if ``input`` has no such dimension.
    """
    need_dimension("narrow() cannot be applied to a 0-dim tensor.", input)
    dim = as_dim(dim, input._array.ndim)
    have = input._array.shape[dim]
    start, length = need_int("narrow", "start", start, 3), need_int("narrow", "length", length, 4)
    start = start + have if start < 0 else start
    if length < 0 or not 0 <= start <= have or start + length > have:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({have}).")
    return part_of(input, (slice(None),) * dim + (slice(start, start + length),), SLICE)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Divide ``tensor`` along ``dim`` and return views of the pieces.

    If the second argument is an integer, all pieces have this size, except that the last may be smaller. A list has the
    size of each piece.

    Raises:
        RuntimeError: if a size is below 0, if the integer is 0 and the length of ``dim`` is not, or if the sizes in a
            list do not sum to this length.
        IndexError: if ``tensor`` has no such dimension.
    """
    need_dimension("split expects at least a 1-dimensional tensor", tensor)
    dim = as_dim(dim, tensor._array.ndim)
    length = tensor._array.shape[dim]
    op = SPLIT
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes, op = need_ints("split", "split_size_or_sections", split_size_or_sections), SPLIT_SIZES
        if min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
            )
        if sum(sizes) != length:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={sizes}"
            )
    else:
        size = need_int("split", "split_size_or_sections", split_size_or_sections)
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if size == 0 and length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
        sizes = [min(size, length - i) for i in range(0, length, size)] if length else [0]
    begin, pieces = 0, []
    for n in sizes:
        pieces.append(part_of(tensor, (slice(None),) * dim + (slice(begin, begin + n),), op))
        begin += n
    return tuple(pieces)


#: The largest number of pieces of length 0. It is limited because each piece is a tensor.
MOST_CHUNKS_OF_NOTHING = 1_000_000


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Divide ``input`` along ``dim`` into at most ``chunks`` pieces of equal size and return views of the pieces.

    The last piece may be smaller. If the length of ``dim`` is 0, there are ``chunks`` pieces of length 0.

    Raises:
        RuntimeError: if ``chunks`` is below 1, or if it is above 1,000,000 and the length is 0.
        IndexError: if ``input`` has no such dimension.
    """
    need_dimension("chunk expects at least a 1-dimensional tensor", input)
    chunks = need_int("chunk", "chunks", chunks)
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input._array.shape[as_dim(dim, input._array.ndim)]
    if length == 0:
        if chunks > MOST_CHUNKS_OF_NOTHING:
            raise RuntimeError(f"chunk expects at most {MOST_CHUNKS_OF_NOTHING:,} chunks of length 0, got: {chunks}")
        return split(input, [0] * chunks, dim)
    return split(input, max(1, -(-length // chunks)), dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return one view for each position along ``dim``, without that dimension.

    Raises:
        IndexError: if ``input`` has no such dimension.
    """
    dim = as_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    before = (slice(None),) * dim
    return tuple(part_of(input, (*before, i), UNBIND) for i in range(input._array.shape[dim]))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonals of the matrices that two dimensions form.

    Returns:
        A view without ``dim1`` and ``dim2``. A new last dimension contains the main diagonal, or the one ``offset``
        positions above it (below it if ``offset`` is negative).

    Raises:
        IndexError: if ``input`` has no such dimension.
        RuntimeError: if ``dim1`` and ``dim2`` are the same dimension.
    """
    offset = need_int("diagonal", "offset", offset)
    first, second = as_dim(dim1, input._array.ndim), as_dim(dim2, input._array.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return as_torch(engine.diagonal(input, offset, first, second))


def _strided(input: Tensor, shape: Sequence[int], steps: Sequence[int], offset: int) -> Tensor:
    out = as_torch(engine.as_strided(input, shape, steps, offset))
    register_strides(out._array)
    return out


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of the storage with any shape, strides and offset (in elements).

    Raises:
        RuntimeError: if the view would contain elements outside the storage.
    """
    try:
        offset = input.offset if storage_offset is None else storage_offset
        shape, steps = need_ints("as_strided", "size", size), need_ints("as_strided", "stride", stride, 2)
        return _strided(input, shape, steps, offset)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


# ---------- copies: joining and repeating ----------


def _check_tensors(op: str, tensors: Any) -> list[Tensor]:
    """Return ``tensors`` as a list. Raise TypeError or RuntimeError unless it is a list of at least one tensor."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{op}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{op}(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not isinstance(x, BaseTensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    return list(tensors)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return the tensors concatenated along ``dim``, on a new storage.

    Args:
        tensors: tensors whose shapes differ only along ``dim``. An empty vector may be among tensors of any shape. Its
            dtype influences the dtype of the result.

    Raises:
        RuntimeError: if the shapes do not fit, or if there is no tensor.
        IndexError: if the tensors have no such dimension.
    """
    given = _check_tensors("cat", tensors)
    for i, x in enumerate(given):
        if x._array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    fitting = [(i, x) for i, x in enumerate(given) if x._array.shape != (0,)] or [(0, given[0])]
    first = fitting[0][1]._array.shape
    dim = as_dim(dim, len(first))
    for i, x in fitting:
        if x._array.ndim != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {x._array.ndim}")
        for d, (n, m) in enumerate(zip(first, x._array.shape, strict=True)):
            if d != dim and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list."
                )
    # As in PyTorch, an empty vector may be among tensors of more dimensions. It adds no elements, but it influences the
    # dtype of the result, and it gets a gradient.
    empty = (*first[:dim], 0, *first[dim + 1 :])
    joined = [x.reshape(empty) if x._array.shape == (0,) and len(first) != 1 else x for x in given]
    return as_torch(joining.concat(joined, dim))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return the tensors, all of the same shape, stacked along a new dimension ``dim``, on a new storage.

    Raises:
        RuntimeError: if the shapes differ, or if there is no tensor.
        IndexError: if the result has no such dimension.
    """
    given = _check_tensors("stack", tensors)
    first = given[0]._array.shape
    for i, x in enumerate(given):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._array.shape)} at entry {i}"
            )
    dim = as_dim(dim, len(first) + 1)
    return arrange(as_torch(joining.stack(given, dim)), stacked(dim), *given)


def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """Repeat ``input`` along each dimension and return the result as a copy.

    The length of a dimension is multiplied by the number of repeats.

    Args:
        sizes: integers: how often each dimension is repeated. If there are more of them than dimensions, ``input``
            first gets dimensions of length 1 in front.

    Raises:
        RuntimeError: if a number is negative, or if there are fewer numbers than dimensions.
        TypeError: if there is no number, or one is not an integer.
    """
    if not sizes:
        raise TypeError('repeat() missing 1 required positional arguments: "repeats"')
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    times = need_ints("repeat", "repeats", given)
    if any(n < 0 for n in times):
        raise RuntimeError(f"repeat(): a number of repeats must be 0 or more, not {min(times)}")
    if len(times) < input._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if input._array.size * math.prod(times) > MOST_ELEMENTS:
        raise RuntimeError(f"repeat(): {math.prod(times)} repeats make more elements than memory holds")
    shape = (1,) * (len(times) - input._array.ndim) + input._array.shape
    x: Any = as_torch(input).reshape(shape)
    for d, n in enumerate(times):
        # Copying an expanded view needs less memory than joining a list of n parts.
        lengths = (*x._array.shape[:d], n, *x._array.shape[d:])
        x = x.unsqueeze(d).expand(*lengths).flatten(d, d + 1) if n else x.narrow(d, 0, 0)
    if x._storage is input._storage:
        x = TABLE["clone"](x) if x.is_contiguous() else x.contiguous()
    return name_grad_fn(as_result(x), "RepeatBackward0")


def tile(input: Tensor, *dims: Any) -> Tensor:
    """Repeat ``input`` along each dimension and return the result as a copy.

    The length of a dimension is multiplied by the number of repeats.

    Args:
        dims: integers: how often each dimension is repeated. If there are more of them than dimensions, ``input`` first
            gets dimensions of length 1 in front. If there are fewer, only the last dimensions are repeated.

    Raises:
        RuntimeError: if a number is negative.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("tile", input)
    if not dims:
        raise TypeError('tile() missing 1 required positional arguments: "dims"')
    times = need_ints("tile", "dims", dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims)
    return repeat(input, [1] * (input._array.ndim - len(times)) + times)


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Return ``input`` with each position along ``dim`` repeated. Without ``dim``, repeat each element of the flattened
    tensor. Only the length of ``dim`` changes.

    Args:
        repeats: an integer, or a tensor of integers: one for each position, or one for all positions.
        output_size: ignored, because the length of the result follows from ``repeats``.

    Raises:
        RuntimeError: if an integer in ``repeats`` is negative, or if their number is neither 1 nor that of positions.
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("repeat_interleave", input)
    if dim is None:
        input, dim = input.reshape(-1), 0
    counts = repeats.tolist() if isinstance(repeats, BaseTensor) else repeats
    try:
        made = rearranging.repeat_interleave("repeat_interleave", input, counts, as_dim(dim, input._array.ndim))
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return name_grad_fn(as_torch(made), "IndexSelectBackward0")


def _spread(x: BaseTensor, shape: list[int]) -> BaseTensor:
    return as_torch(x).expand(shape)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return a view of each vector. All views have one shape, with a dimension for each vector, and a view repeats its
    vector along the dimensions of the others.

    Args:
        tensors: vectors, one by one or as one list, of lengths n, m, ...
        indexing: "ij", the default, for the shape [n, m, ...]; "xy" swaps the first two dimensions.

    Raises:
        RuntimeError: if a tensor has more than one dimension, or if ``indexing`` is neither "ij" nor "xy".
        TypeError: if an argument is not a tensor.
    """
    vectors = _check_tensors(
        "meshgrid", tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], BaseTensor) else list(tensors)
    )
    try:
        grids = rearranging.meshgrid("meshgrid", vectors, "ij" if indexing is None else indexing, _spread)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return tuple(as_torch(grid) for grid in grids)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of windows of ``size`` positions along ``dimension``. The windows begin ``step`` positions apart.

    If ``step`` is below ``size``, the windows overlap, and in-place operations refuse the view.

    Returns:
        A view in which the length of ``dimension`` is the number of windows, and a new last dimension has the length
        ``size``. For a tensor without dimensions, the view has the shape [size].

    Raises:
        RuntimeError: if ``size`` is below 0 or above the length, or ``step`` is below 1.
        IndexError: if ``input`` has no such dimension.
    """
    as_dim(dimension, input._array.ndim)
    try:
        whole = input if input._array.ndim else input.unsqueeze(0)
        shape, steps = rearranging.window_strides("unfold", whole, dimension, size, step)
        if whole is not input:
            shape, steps = shape[1:], steps[1:]
        return _strided(input, shape, steps, input.offset)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors concatenated along the first dimension. A vector becomes a row.

    Raises:
        RuntimeError: if the shapes do not fit, or if there is no tensor.
        TypeError: if an element is not a tensor.
    """
    rows = [x.reshape(1, -1) if x._array.ndim < 2 else x for x in _check_tensors("vstack", tensors)]
    return cat(rows, 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors concatenated along the second dimension, or along the first if they are vectors.

    Raises:
        RuntimeError: if the shapes do not fit, or if there is no tensor.
        TypeError: if an element is not a tensor.
    """
    given = [x.reshape(1) if x._array.ndim == 0 else x for x in _check_tensors("hstack", tensors)]
    return cat(given, 0 if given[0]._array.ndim == 1 else 1)
