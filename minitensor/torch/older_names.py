"""Names that older programs use: ``Variable``, ``FloatTensor`` and its kin, ``Tensor.type``."""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.converting import to
from minitensor.torch.creation import tensor, zeros
from minitensor.torch.dtypes import BY_NAME, SCALAR_NAMES, dtype_of
from minitensor.torch.tensor import Tensor, as_kind
from minitensor.torch.warning import warn

#: PyTorch's type of an element type: ``FloatTensor`` of float32.
_TYPE_NAMES = {dtype: f"{scalar}Tensor" for dtype, scalar in SCALAR_NAMES.items()}


class _Kind(type):
    """A class whose instances are the tensors of one element type, on the host."""

    name: str

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x._array.dtype.name == cls.name and not x.is_cuda

    def __call__(cls, *given: Any) -> Tensor:
        if not given or all(hasattr(n, "__index__") and not isinstance(n, BaseTensor) for n in given):
            return zeros(*(given or (0,)), dtype=cls.name)
        if len(given) > 1:
            raise TypeError(f"{cls.__name__}() takes data, or the lengths of a size")
        data = given[0]
        return to(data.detach(), BY_NAME[cls.name]) if isinstance(data, Tensor) else tensor(data, dtype=cls.name)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_KIND = """
A size is its shape, as numbers, and filled with 0; data are numbers, nested lists or an array, whose shape it has, on a
storage of its own. A tensor of that dtype is shared.

Raises:
    TypeError: for what is no number, or several data.
    ValueError: for lists that are not equally long.
"""

#: ``FloatTensor``, ``DoubleTensor``, ``IntTensor``, ``LongTensor``, ``BoolTensor``.
KINDS: dict[str, type] = {
    name: _Kind(
        name,
        (),
        {
            "name": dtype.name,
            "__doc__": f"{'An' if dtype.name[0] == 'i' else 'A'} {dtype.name} tensor of data, or of a size.\n{_KIND}",
        },
    )
    for dtype, name in _TYPE_NAMES.items()
}


def type_(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; with ``dtype`` (a dtype, a type or its name) the tensor of that type.

    Returns:
        A name; or a tensor of the shape of ``input``.

    Raises:
        ValueError: when there is no such type.
    """
    if dtype is None:
        return f"torch.{'cuda.' if input.is_cuda else ''}{_TYPE_NAMES[input._array.dtype]}"
    if isinstance(dtype, _Kind):
        return to(input, BY_NAME[dtype.name])
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removeprefix("cuda.")
        if name not in KINDS:
            raise ValueError(f"invalid type: '{dtype}'\nThere are {', '.join(f'torch.{each}' for each in KINDS)} here.")
        return to(input, BY_NAME[KINDS[name].name])  # type: ignore[attr-defined]  # of the metaclass
    if isinstance(dtype, type):
        raise ValueError(f"invalid type: '{dtype.__name__}'\nWanted is a dtype, as torch.float32 is one.")
    return to(input, dtype_of(dtype))


class _AnyTensor(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_AnyTensor):
    """The tensor itself under PyTorch's older name: a look at the same memory that may want a gradient.

    Raises:
        TypeError: for what is no tensor.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        """The look."""
        if data is None:
            data = zeros(0)
        if not isinstance(data, BaseTensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        made = as_kind(BaseTensor.detach(data))
        made.requires_grad = requires_grad
        return made


Tensor.type = type_  # type: ignore[attr-defined]  # put on the class here
