"""Helpers of modules: functions that register a hook, move a tensor or drop a gradient, and the class of the result of
``load_state_dict``.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from typing import Any

from minitensor.torch.conversion import to
from minitensor.torch.handles import RemovableHandle
from minitensor.torch.tensor import Tensor

_NUMBERS = itertools.count()


class IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """The result of ``load_state_dict``: the names that the state dict lacks, and the names that the module lacks."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def add_hook(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    """Add ``hook`` to ``hooks``, and return the handle that removes it."""
    number = next(_NUMBERS)
    hooks[number] = hook
    return RemovableHandle(lambda: hooks.pop(number, None))


def move(x: Tensor, where: Any, dtype: Any, memory_format: Any = None) -> None:
    """Move ``x`` and its gradient to another device, dtype or memory format. ``x`` remains the same object.

    Only floats are converted to another dtype, and only tensors of four dimensions to another memory format.
    """
    gradient = x.grad if x.is_leaf else None
    if gradient is not None:
        x.grad = None
    x.data = _move(x, where, dtype, memory_format)  # type: ignore[attr-defined]  # `assembly` sets it
    if gradient is not None:
        x.grad = _move(gradient, where, dtype, memory_format)


def _move(x: Tensor, where: Any, dtype: Any, memory_format: Any) -> Tensor:
    """Return ``x`` without history, on another device, in another dtype and memory format (see :func:`move`)."""
    out = x.detach() if where is None else to(x.detach(), where)
    out = to(out, dtype) if dtype is not None and x.is_floating_point() else out
    return to(out, memory_format=memory_format if x._array.ndim == 4 else None)


def drop_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """Set the gradient of ``parameter`` to None, or fill it with zeros."""
    if parameter.grad is None:
        return
    if set_to_none:
        parameter.grad = None
    else:
        parameter.grad.zero_()
