"""Convert tensors to another dtype or device, also under older names such as ``Variable`` and ``FloatTensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.dtypes import FLOATS
from minitensor.torch import cuda, memory_formats
from minitensor.torch.arguments import need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.creation import tensor, zeros
from minitensor.torch.dtypes import BY_NAME, SCALARS, dtype_of
from minitensor.torch.dtypes import device as Device
from minitensor.torch.dtypes import dtype as DType
from minitensor.torch.errors import warn
from minitensor.torch.operands import cast
from minitensor.torch.result_strides import arrange, like_first
from minitensor.torch.tensor import Tensor, as_torch


def to(
    input: Tensor,
    *where: Any,
    device: Any = None,
    dtype: Any = None,
    copy: bool = False,
    memory_format: Any = None,
    **_: Any,
) -> Tensor:
    """Return the tensor in another dtype, on another device or in another memory format: ``to("cuda")``,
    ``to(torch.float64)``, ``to(other)``, ``to(memory_format=torch.channels_last)``.

    The result is the tensor itself if nothing changes and ``copy`` is False. Otherwise it is a copy of the same shape.
    Gradients flow through the copy.

    Raises:
        RuntimeError: if there is no such device; for ``channels_last``, if the tensor does not have four dimensions.
        TypeError: if an argument is neither a device nor a dtype nor a tensor.
    """
    flags = [each for each in where if isinstance(each, (bool, np.bool_))]  # PyTorch's `non_blocking` and `copy`
    copy = checks.flag("to()", "copy", flags[1] if len(flags) > 1 else copy)
    device, dtype = device_and_dtype(*where, device=device, dtype=dtype)
    out: Any = input
    if device is not None:
        out = cuda.move(out, device)
    if dtype is not None and dtype.numpy != out._array.dtype:
        out = _laid_out_like(out, cast(out, dtype.numpy))
    out = _laid_out_like(out, TABLE["clone"](out)) if copy and out is input else out
    return out if memory_format is None else memory_formats.converted(input, out, memory_format)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a copy on a new storage. Gradients flow through the copy.

    Args:
        memory_format: the order of the copy in memory; by default that of ``input``.

    Raises:
        RuntimeError: for ``channels_last``, if the tensor does not have four dimensions.
        TypeError: if ``input`` is not a tensor, or ``memory_format`` not a memory format.
    """
    need_tensor("clone", input)
    out = _laid_out_like(input, TABLE["clone"](input))
    order = memory_formats.order_of("clone", memory_format, out._array.ndim)
    return out if order is None else memory_formats.laid_out(out, order)


def _laid_out_like(x: BaseTensor, copied: Any) -> Any:
    """Return ``copied``, a copy of ``x``, after setting the strides of its dimensions of length 1 as PyTorch does."""
    return arrange(copied, like_first, x) if 1 in x._array.shape else copied


def device_and_dtype(*where: Any, device: Any = None, dtype: Any = None, **_: Any) -> tuple[Any, DType | None]:
    """Return the device and the dtype among the arguments of ``to``. If one of them is not given, it is None.

    Bools are ignored: they are PyTorch's arguments ``non_blocking`` and ``copy``. The device is not checked.

    Raises:
        TypeError: if there are several tensors, or if an argument is a class other than ``float``, ``int`` or ``bool``.
    """
    if sum(isinstance(each, BaseTensor) for each in where) > 1:
        raise TypeError("to() received an invalid combination of arguments - got (Tensor, Tensor)")
    for each in where:
        if isinstance(each, BaseTensor):
            device, dtype = Device("cpu" if gpu_of(each._array) is None else "cuda"), each.dtype
        elif isinstance(each, DType) or each is float or each is int or each is bool:
            dtype = each
        elif isinstance(each, type):
            raise TypeError(
                f"to() received an invalid combination of arguments - got (type)\n"
                f"{each.__name__} is neither a device nor a dtype; a dtype is torch.float32, say."
            )
        elif not isinstance(each, (bool, np.bool_)):
            device = each
    return device, None if dtype is None else dtype_of(dtype)


#: Maps the names of methods such as ``float`` to the dtypes to which they convert.
CONVERTERS = {
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
}


def converter(name: str) -> Callable[[Tensor], Tensor]:
    """Return the method called ``name``, one of the keys of :data:`CONVERTERS`."""
    dtype = CONVERTERS[name]

    def convert(input: Tensor, *, memory_format: Any = None) -> Tensor:
        return to(input, dtype_of(dtype), memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"Return the tensor itself if it is {dtype}, else a {dtype} copy of its shape. Gradients flow through the copy."
    )
    return convert


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Return ``input`` itself if it has the dtype of ``other``, else a copy of the same shape in that dtype.

    Raises:
        TypeError: if ``other`` is not a tensor.
    """
    need_tensor("type_as", other)
    return to(input, other.dtype)


def is_tensor(obj: Any) -> bool:
    """True if ``obj`` is a tensor."""
    return isinstance(obj, BaseTensor)


def numel(input: Tensor) -> int:
    """Return the number of elements.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("numel", input)
    return input._array.size


def is_floating_point(input: Tensor) -> bool:
    """True if the elements are floats.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("is_floating_point", input)
    return input._array.dtype in FLOATS


# ---------- names that only older programs use ----------


#: Maps the name of each dtype to PyTorch's class name for its tensors, such as ``FloatTensor`` for float32.
_TYPE_NAMES = {dtype: f"{scalar}Tensor" for dtype, scalar in SCALARS.items()}


class _TensorType(type):
    """Metaclass of classes such as ``FloatTensor``, whose instances are the tensors of one dtype on the host."""

    name: str

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x._array.dtype.name == cls.name and not x.is_cuda

    def __call__(cls, *given: Any, **named: Any) -> Tensor:
        if named:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{min(named)}'")
        if not given or all(hasattr(n, "__index__") and not isinstance(n, BaseTensor) for n in given):
            return zeros(*(given or (0,)), dtype=cls.name)
        if len(given) > 1:
            raise TypeError(f"{cls.__name__}() takes data, or the length of each dimension")
        data = given[0]
        return to(data.detach(), BY_NAME[cls.name]) if isinstance(data, Tensor) else tensor(data, dtype=cls.name)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_TYPE_DOC = """
Integer arguments are the lengths of a shape: FloatTensor(2, 3) is a tensor of zeros with 2 rows and 3 columns. Data
(nested lists or an array) are copied, and the result has their shape. A tensor of the same dtype is not copied: the
result shares its memory.

Raises:
    TypeError: if an element is not a number, or if there are several arguments that are not integers.
    ValueError: if the lists differ in length.
"""


#: The classes ``FloatTensor``, ``LongTensor`` and so on, keyed by name.
TENSOR_TYPES: dict[str, type] = {
    name: _TensorType(
        name,
        (),
        {
            "name": dtype,
            "__doc__": f"{'An' if dtype[0] == 'i' else 'A'} {dtype} tensor from data or from a shape.\n{_TYPE_DOC}",
        },
    )
    for dtype, name in _TYPE_NAMES.items()
}


def type_(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, such as "torch.FloatTensor". If ``dtype`` (a dtype, a type or a type's
    name) is given, return the tensor converted to it instead.

    Returns:
        A name; or a tensor of the shape of ``input``.

    Raises:
        ValueError: if there is no such type.
    """
    if dtype is None:
        return f"torch.{'cuda.' if input.is_cuda else ''}{_TYPE_NAMES[input._array.dtype.name]}"
    if isinstance(dtype, _TensorType):
        return to(input, BY_NAME[dtype.name])
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removeprefix("cuda.")
        if name not in TENSOR_TYPES:
            known = ", ".join(f"torch.{each}" for each in TENSOR_TYPES)
            raise ValueError(f"invalid type: '{dtype}'\nminitensor has {known}.")
        return to(input, BY_NAME[TENSOR_TYPES[name].name])  # type: ignore[attr-defined]  # an attribute of the metaclass
    if isinstance(dtype, type):
        raise ValueError(f"invalid type: '{dtype.__name__}'\nPass a dtype, such as torch.float32.")
    return to(input, dtype_of(dtype))


class _AnyTensor(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_AnyTensor):
    """PyTorch's former wrapper of a tensor. ``Variable(x, requires_grad)`` returns another tensor on the same memory.

    Raises:
        TypeError: if ``data`` is not a tensor.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        """Return a tensor on the memory of ``data``, without its history; an empty tensor if ``data`` is None."""
        if data is None:
            data = zeros(0)
        if not isinstance(data, BaseTensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        out = as_torch(BaseTensor.detach(data))
        out.requires_grad = requires_grad
        return out
