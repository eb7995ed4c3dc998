"""The largest and the smallest elements, and where they are."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import host_array, like
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.naming import called, need_tensor, plain
from minitensor.torch.tensor import Tensor, as_dim

_gather = TABLE["gather"]


class Extreme(namedtuple("Extreme", ("values", "indices"))):
    """The extreme elements along a dimension, and where they are."""

    __slots__ = ()
    name = ""

    def __repr__(self) -> str:
        return f"torch.return_types.{self.name}(\nvalues={self.values!r},\nindices={self.indices!r})"


_ARG = """Where the extreme element is: the first of equal ones; of all elements in a row without ``dim``.

Returns:
    An int64 tensor: of the shape of ``input`` without ``dim``, which stays as 1 with ``keepdim``; [] without ``dim``.

Raises:
    IndexError: for a dimension that ``input`` does not have, or when there is no element.
    TypeError: when ``input`` is no tensor.
"""

_EXTREME = """
Returns:
    A tensor without dimensions; with ``dim`` two, values and indices (int64), of the shape of ``input`` without
    ``dim``, which stays as 1 with ``keepdim``; of two tensors, one of their broadcast shape.

Raises:
    IndexError: for a dimension that ``input`` does not have.
    RuntimeError: without ``dim``, when there is no element; for shapes that cannot be broadcast.
    TypeError: when ``input`` is no tensor.
"""


def _arg(name: str) -> Callable[..., Tensor]:
    pick = getattr(np, name)

    def arg(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        need_tensor(name, input)
        array = host_array(input._array)
        if array.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is not None:
            dim = as_dim(dim, array.ndim)
        found = np.asarray(pick(array if array.ndim or dim is None else array.reshape(1), axis=dim), np.int64)
        if keepdim and dim is not None and array.ndim:
            found = np.expand_dims(found, dim)
        return plain(input, like(found, input._array), name)

    arg.__name__ = arg.__qualname__ = name
    arg.__doc__ = _ARG
    return arg


argmax, argmin = _arg("argmax"), _arg("argmin")


def _extreme(name: str, whole: str, of_two: str, where: Callable[..., Tensor]) -> Callable[..., Any]:
    kind = type(name, (Extreme,), {"__slots__": (), "name": name})

    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        need_tensor(name, input)
        if isinstance(dim, BaseTensor) or other is not None:
            return TABLE[of_two](input, dim if other is None else other)
        if dim is None:
            if input._array.size == 0:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                    f"dim with the 'dim' argument."
                )
            return called(TABLE[whole](input), f"{name.capitalize()}Backward1")
        if input._array.ndim == 0:
            return kind(called(TABLE["clone"](input), f"{name.capitalize()}Backward0"), where(input))
        indices = where(input, dim, True)
        values = _gather(input, dim, indices)
        if not keepdim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        return kind(called(values, f"{name.capitalize()}Backward0"), indices)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = (
        f"The {name} of all elements; with ``dim`` the pairs of values and indices along it; of two tensors, "
        f"the {name} of each pair.\n{_EXTREME}"
    )
    return extreme


max, min = _extreme("max", "amax", "maximum", argmax), _extreme("min", "amin", "minimum", argmin)
