"""Another dtype, another device; and what a tensor is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import gpu_of
from minitensor.dtypes import FLOATS
from minitensor.torch import cuda
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.dtypes import device as Device
from minitensor.torch.dtypes import dtype as DType
from minitensor.torch.dtypes import dtype_of
from minitensor.torch.naming import need_tensor
from minitensor.torch.operands import cast
from minitensor.torch.tensor import Tensor


def to(input: Tensor, *where: Any, device: Any = None, dtype: Any = None, copy: bool = False, **_: Any) -> Tensor:
    """The tensor in another dtype or on another device: ``to("cuda")``, ``to(torch.float64)``, ``to(other)``.

    It is the tensor itself where it is so already, else a copy of its shape, which gradients pass through.

    Raises:
        RuntimeError: for a device that is not there.
        TypeError: for what is neither a device nor a dtype nor a tensor.
    """
    device, dtype = where_to(*where, device=device, dtype=dtype)
    out: Any = input
    if device is not None:
        out = cuda.moved(out, device)
    if dtype is not None and dtype.numpy != out._array.dtype:
        out = cast(out, dtype.numpy)
    return TABLE["clone"](out) if copy and out is input else out


def where_to(*where: Any, device: Any = None, dtype: Any = None, **_: Any) -> tuple[Any, DType | None]:
    """The device and the dtype that arguments of ``to`` ask for; None for either that they do not name.

    Raises:
        TypeError, RuntimeError: for anything else.
    """
    for each in where:
        if isinstance(each, BaseTensor):
            device, dtype = Device("cpu" if gpu_of(each._array) is None else "cuda"), each.dtype
        elif isinstance(each, DType) or each in (float, int, bool):
            dtype = each
        elif isinstance(each, type):
            raise TypeError(
                f"to() received an invalid combination of arguments - got (type)\n"
                f"{each.__name__} is neither a device nor a dtype; a dtype is torch.float32, say."
            )
        elif not isinstance(each, (bool, np.bool_)):
            device = each
    return device, None if dtype is None else dtype_of(dtype)


def _converter(name: str, dtype: str) -> Callable[[Tensor], Tensor]:
    def convert(input: Tensor) -> Tensor:
        return to(input, dtype_of(dtype))

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"The tensor as {dtype}: itself, or a copy of its shape, which gradients pass through. Nothing is refused."
    )
    return convert


for _name, _dtype in {"float": "float32", "double": "float64", "int": "int32", "long": "int64", "bool": "bool"}.items():
    setattr(Tensor, _name, _converter(_name, _dtype))


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of ``other``, in its own shape: itself, or a copy.

    Raises:
        TypeError: when ``other`` is no tensor.
    """
    need_tensor("type_as", other)
    return to(input, other.dtype)


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor. Nothing is refused."""
    return isinstance(obj, BaseTensor)


def numel(input: Tensor) -> int:
    """How many elements there are.

    Raises:
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("numel", input)
    return input._array.size


def is_floating_point(input: Tensor) -> bool:
    """Whether the numbers have fractions.

    Raises:
        TypeError: when ``input`` is no tensor.
    """
    need_tensor("is_floating_point", input)
    return input._array.dtype in FLOATS
