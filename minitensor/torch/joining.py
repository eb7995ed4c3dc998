"""Several tensors as one, and one repeated: copies on a new storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.arguments import need_ints
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.naming import called
from minitensor.torch.tensor import Tensor, as_dim, as_kind
from minitensor.views import joining


def _tensors(op: str, tensors: Any) -> list[Tensor]:
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
    """The tensors one behind the other along ``dim``, on a new storage.

    Args:
        tensors: of equal shapes, but for the lengths along ``dim``; an empty vector joins anything.

    Raises:
        RuntimeError: for other shapes, or no tensor at all.
        IndexError: for a dimension that the tensors do not have.
    """
    given = _tensors("cat", tensors)
    for i, x in enumerate(given):
        if x._array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    # An empty vector joins anything, as it always did in PyTorch.
    joined = [x for x in given if x._array.shape != (0,)] or given
    dim = as_dim(dim, joined[0]._array.ndim)
    first = joined[0]._array.shape
    for i, x in enumerate(joined):
        if x._array.ndim != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {x._array.ndim}")
        for d, (n, m) in enumerate(zip(first, x._array.shape, strict=True)):
            if d != dim and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list."
                )
    return as_kind(joining.concat(joined, dim))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors, all of one shape, side by side along a new ``dim``, on a new storage.

    Raises:
        RuntimeError: for different shapes, or no tensor at all.
        IndexError: for a dimension that the result does not have.
    """
    given = _tensors("stack", tensors)
    first = given[0]._array.shape
    for i, x in enumerate(given):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._array.shape)} at entry {i}"
            )
    return as_kind(joining.stack(given, as_dim(dim, len(first) + 1)))


def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """A copy with the elements repeated so many times along each dimension.

    Returns:
        A tensor whose lengths are those of ``input`` times ``sizes``.

    Raises:
        RuntimeError: for a number below 0.
    """
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    times = need_ints("repeat", "repeats", given)
    if any(n < 0 for n in times):
        raise RuntimeError(f"repeat(): a number of repeats is 0 or more, not {min(times)}")
    shape = (1,) * (len(times) - input._array.ndim) + input._array.shape
    x: Any = input.reshape(shape)
    for d, n in enumerate(times):
        x = cat([x] * n, d) if n else x.narrow(d, 0, 0)
    return called(TABLE["clone"](x) if x._storage is input._storage else x, "RepeatBackward0")
