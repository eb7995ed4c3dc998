"""What is true of elements, and questions about two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import host_array, like
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.errors import sizes_differ
from minitensor.torch.naming import need_tensor, plain
from minitensor.torch.tensor import Tensor, as_dim

_TRUTH = """
Returns:
    A bool tensor: of the shape of ``input`` without ``dim``, which stays as 1 with ``keepdim``; [] without ``dim``.

Raises:
    IndexError: for a dimension that ``input`` does not have.
    TypeError: when ``input`` is no tensor, or ``keepdim`` no bool.
"""


def _truth(name: str) -> Callable[..., Tensor]:
    def truth(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        need_tensor(name, input)
        if not isinstance(keepdim, bool):
            kind = type(keepdim).__name__
            raise TypeError(f"{name}(): argument 'keepdim' (position 2) must be bool, not {kind}")
        axis = dim if dim is None else as_dim(dim, input._array.ndim)
        found = getattr(np, name)(input._array, axis=axis if input._array.ndim else None, keepdims=keepdim)
        return plain(input, found, name)

    truth.__name__ = truth.__qualname__ = name
    truth.__doc__ = f"Whether {name} elements are true (along ``dim``).\n{_TRUTH}"
    return truth


all, any_ = _truth("all"), _truth("any")


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where two elements differ by no more than ``atol + rtol * abs(other)``.

    Args:
        input, other: of shapes that are broadcast against each other, and of one dtype.
        equal_nan: nan is close to nan.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        RuntimeError: for shapes that cannot be broadcast, or two dtypes.
    """
    need_tensor("isclose", input)
    need_tensor("isclose", other, 2)
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    try:
        np.broadcast_shapes(input._array.shape, other._array.shape)
    except ValueError:
        raise sizes_differ([input._array.shape, other._array.shape]) from None
    return plain(input, np.isclose(input._array, other._array, rtol, atol, equal_nan), "isclose")


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close.

    Args:
        input, other, rtol, atol, equal_nan: as for :func:`isclose`.

    Raises:
        RuntimeError: for shapes that cannot be broadcast, or two dtypes.
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements.

    Raises:
        TypeError: for what is no tensor.
    """
    need_tensor("equal", input)
    need_tensor("equal", other, 2)
    return input._array.shape == other._array.shape and bool(np.all(input._array == other._array))


def count_nonzero(input: Tensor) -> Tensor:
    """How many elements are not 0.

    Returns:
        An int64 tensor without dimensions.

    Raises:
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("count_nonzero", input)
    return plain(input, np.asarray(np.count_nonzero(host_array(input._array)), np.int64), "count_nonzero")


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0, one row each; ``as_tuple``: one tensor for each dimension.

    Returns:
        An int64 tensor of shape [n, dimensions] for n elements, or ``dimensions`` tensors of shape [n].

    Raises:
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("nonzero", input)
    array = host_array(input._array)
    if as_tuple:
        places = np.nonzero(array if array.ndim else array[None])
        return tuple(plain(input, like(i.astype(np.int64), input._array), "nonzero") for i in places)
    return plain(input, like(np.argwhere(array).astype(np.int64), input._array), "nonzero")


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where ``condition`` is true, else ``other``; with the condition alone, where it is true.

    Args:
        condition: a bool tensor.
        input, other: tensors or numbers; shapes are broadcast against each other.

    Returns:
        A tensor of the broadcast shape; with the condition alone, an int64 tensor [n] for each dimension.

    Raises:
        RuntimeError: for a condition of another dtype, or shapes that cannot be broadcast.
        TypeError: for a condition that is no tensor.
    """
    need_tensor("where", condition)
    if input is None and other is None:
        places = np.nonzero(host_array(condition._array))
        return tuple(plain(condition, i.astype(np.int64), "where") for i in places)
    if not isinstance(input, BaseTensor) and not isinstance(other, BaseTensor):
        input = condition.new_tensor(input)
    return TABLE["where"](condition, input, other)
