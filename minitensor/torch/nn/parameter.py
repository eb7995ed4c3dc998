"""Parameter: a leaf tensor. If it is assigned to an attribute of a module, the module registers it."""

from __future__ import annotations

from typing import Any

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.creation import empty
from minitensor.torch.tensor import Tensor


class Parameter(Tensor):
    """A tensor that a module trains: a leaf on the memory of ``data``, with the same shape and dtype.

    Raises:
        TypeError: if ``data`` is not a tensor.
        RuntimeError: if ``requires_grad`` is true and the dtype is not a floating-point one.
    """

    __slots__ = ()
    _copies_gradient = False

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        if not isinstance(data, BaseTensor):
            raise TypeError(f"Parameter takes a tensor, not {type(data).__name__}")
        alias = Tensor._alias(data._array, data._storage)
        made: Any = Tensor.__new__(cls)  # the class of `alias` cannot be changed to a `cls` without __slots__
        made._array, made._storage, made._node, made._history = alias._array, alias._storage, None, None
        made.requires_grad = requires_grad
        return made

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
