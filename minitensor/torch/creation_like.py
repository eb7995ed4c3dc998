"""Create a tensor with the shape, dtype, device and memory order of another tensor."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.torch import result_strides
from minitensor.torch.creation import check_placement, filled, placed
from minitensor.torch.dtypes import dtype_of
from minitensor.torch.memory_formats import order_of
from minitensor.torch.tensor import Tensor


def like(op: str, x: Any, make: Callable[[tuple[int, ...], np.dtype], np.ndarray], named: dict[str, Any]) -> Tensor:
    """Return a tensor with the shape, dtype and device of ``x``, on a new array that ``make`` creates.

    ``named`` has the keyword arguments of the function ``op``. Among them may be another dtype, device or memory
    format.
    """
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    unknown = set(named) - {"dtype", "device", "requires_grad", "memory_format", "layout"}
    if unknown:
        raise TypeError(f"{op}() got an unexpected keyword argument '{min(unknown)}'")
    dtype = x._array.dtype if named.get("dtype") is None else dtype_of(named["dtype"]).numpy
    device = named.get("device")
    if device is None:
        device = "cpu" if gpu_of(x._array) is None else "cuda"
    check_placement(op, device, named.get("requires_grad", False), dtype)
    # `make` may draw random numbers, and PyTorch draws them in the order of the elements in memory. So `make` gets the
    # shape in that order of the dimensions.
    given = order_of(op, named.get("memory_format"), x._array.ndim)
    outward = given or result_strides.order_of([x._array], x._array.shape)[::-1]
    numbers = make(tuple(x._array.shape[d] for d in outward), dtype).transpose(np.argsort(outward))
    if given is None:
        numbers = result_strides.like_first(numbers, [x._array])
    return placed(op, numbers, device, named.get("requires_grad", False))


def zeros_like(input: Tensor, **named: Any) -> Tensor:
    """Return a tensor of zeros in the shape and dtype and on the device of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor, if a tensor cannot have the dtype, or for an unknown keyword.
        RuntimeError: if ``requires_grad`` is true and the dtype is not a floating-point one.
    """
    return like("zeros_like", input, np.zeros, named)


def ones_like(input: Tensor, **named: Any) -> Tensor:
    """Return a tensor of ones in the shape and dtype and on the device of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor, if a tensor cannot have the dtype, or for an unknown keyword.
        RuntimeError: if ``requires_grad`` is true and the dtype is not a floating-point one.
    """
    return like("ones_like", input, np.ones, named)


def empty_like(input: Tensor, **named: Any) -> Tensor:
    """Return a tensor of zeros in the shape and dtype and on the device of ``input``. In PyTorch, the memory of such a
    tensor is uninitialized.

    Raises:
        TypeError, RuntimeError: as :func:`zeros_like` does.
    """
    return like("empty_like", input, np.zeros, named)


def full_like(input: Tensor, fill_value: Any, **named: Any) -> Tensor:
    """Return a tensor filled with ``fill_value``, in the shape and dtype and on the device of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor, if a tensor cannot have the dtype, or for an unknown keyword.
        RuntimeError: if ``requires_grad`` is true and the dtype is not a floating-point one, or if the dtype cannot
            hold the number.
    """
    return like("full_like", input, lambda s, d: np.full(s, filled("full_like", fill_value, d)), named)


def like_new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a method such as ``new_zeros``, which calls ``make`` with the dtype and device of its tensor."""
    bound = inspect.signature(make)

    def method(self: Tensor, *given: Any, **named: Any) -> Tensor:
        here = {"dtype": self.dtype, "device": self.device}
        try:
            bound.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{method.__name__}(): {error}") from None
        return make(*given, **{**here, **named})

    method.__name__ = method.__qualname__ = f"new_{make.__name__}"
    method.__doc__ = (
        f"Return ``torch.{make.__name__}`` of the arguments, by default with the dtype and device of this tensor. "
        f"The shape and the errors are those of ``torch.{make.__name__}``. An unknown keyword raises TypeError."
    )
    return method
