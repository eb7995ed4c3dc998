"""Memory formats: ``torch.channels_last`` stores the channels of each pixel side by side.

A format determines strides and nothing else: the shape of images is [images, channels, height, width] in every format.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.result_strides import arrange, copied_in_order, is_channels_last, register_strides
from minitensor.torch.tensor import Tensor


class MemoryFormat:
    """The order of a tensor's dimensions in memory."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name  # copying and unpickling return the constant itself


#: The last dimension varies fastest.
contiguous_format = MemoryFormat("contiguous_format")
#: The channels vary fastest.
channels_last = MemoryFormat("channels_last")
#: The order of the input.
preserve_format = MemoryFormat("preserve_format")

_NHWC = (0, 2, 3, 1)


def order_of(op: str, given: Any, ndim: int) -> tuple[int, ...] | None:
    """Return the order of the dimensions in memory in the format ``given``, outermost first. None means that the format
    preserves the order of the input.

    Raises:
        RuntimeError: if ``given`` is ``channels_last`` and ``ndim`` is not 4.
        TypeError: if ``given`` is neither a memory format nor None.
    """
    if given is None or given is preserve_format:
        return None
    if not isinstance(given, MemoryFormat):
        kind = type(given).__name__
        raise TypeError(f"{op}(): argument 'memory_format' must be torch.memory_format, not {kind}")
    if given is channels_last and ndim != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    return _NHWC if given is channels_last else tuple(range(ndim))


def is_contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> bool:
    """True if the elements are adjacent in memory, in the order of the format.

    Raises:
        TypeError: if ``memory_format`` is not a memory format.
    """
    if memory_format is channels_last and input._array.ndim != 4:
        return False
    order = order_of("is_contiguous", memory_format, input._array.ndim)
    return _is_in_order(input, order)


def _is_in_order(x: Tensor, order: Sequence[int] | None) -> bool:
    """True if the elements are adjacent in memory in ``order`` (outermost dimension first; None means C order)."""
    array = x._array if order is None else x._array.transpose(order)
    return bool(array.flags.c_contiguous)


def contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """Return the tensor itself if its elements are contiguous in the format, else a contiguous copy of its shape.

    Raises:
        RuntimeError: for ``channels_last``, if the tensor does not have four dimensions; for ``preserve_format``, if
            the tensor is not contiguous.
        TypeError: if ``memory_format`` is not a memory format.
    """
    order = order_of("contiguous", memory_format, input._array.ndim)
    if _is_in_order(input, order):
        return input
    if order is None:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return laid_out(input.clone(), order)


def laid_out(out: Tensor, order: Sequence[int]) -> Tensor:
    """Return the new tensor ``out`` with its dimensions in memory in the given ``order``, outermost first."""
    return arrange(out, lambda array, _: register_strides(copied_in_order(array, order)))


def converted(input: Tensor, out: Tensor, memory_format: Any) -> Tensor:
    """Return ``out``, the result of ``to`` on ``input``, in ``memory_format``.

    If nothing has changed, ``out`` is ``input`` itself, which is copied only if its format changes.
    """
    order = order_of("to", memory_format, input._array.ndim)
    if order is None:
        return out
    if out is input and is_channels_last(input._array) == (memory_format is channels_last):
        return out
    return laid_out(name_grad_fn(out.clone(), "ToCopyBackward0") if out is input else out, order)


def with_memory_format(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap a function that creates a tensor, so that it also accepts ``memory_format``."""

    @functools.wraps(function)
    def called(*given: Any, memory_format: Any = contiguous_format, **named: Any) -> Tensor:
        if memory_format is preserve_format:
            raise RuntimeError("unsupported memory format Preserve")
        order_of(function.__name__, memory_format, 4)  # check the argument before a tensor is created
        made = function(*given, **named)
        order = order_of(function.__name__, memory_format, made._array.ndim)
        return laid_out(made, order) if order == _NHWC else made

    return called
