"""Element types, shapes and devices with PyTorch's names and printed forms, such as ``torch.Size([2])``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import LARGEST, NUMPY_INTEGERS, shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import current, set_device
from minitensor.engine.dtypes import DTYPES, FLOATS, INTEGERS, ByNumpyDType, DType
from minitensor.engine.dtypes import dtype_of as engine_dtype_of
from minitensor.engine.dtypes import limits as limits_of


@checks.with_own_methods
class dtype(DType):
    """An element type. It compares equal to the engine's type of the same name, but prints as ``torch.float32``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    @property
    def is_floating_point(self) -> bool:
        """True if the elements are floats."""
        return self.numpy in FLOATS

    @property
    def is_complex(self) -> bool:
        """Always False, because minitensor has no complex types."""
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_of, (self.name,))


BY_NAME = {name: dtype(name) for name in DTYPES}
bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = BY_NAME.values()
BY_NUMPY = ByNumpyDType(lambda known: BY_NAME[known.name])

#: The C++ names of element types, which PyTorch uses in errors about masks and matrix products.
C_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
}
#: The names of element types in PyTorch's other errors.
SCALARS = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
}
#: Maps numpy dtypes to the names in ``SCALARS``.
SCALAR_NAMES = ByNumpyDType(lambda known: SCALARS[known.name])


def dtype_of(given: Any) -> dtype:
    """Return the dtype for ``given``: a dtype of torch or Paddle, a text such as "float32", or float, int or bool.

    Raises:
        TypeError: if minitensor has no such type.
        ImportError: if ``given`` is bfloat16 and the package ml_dtypes is not installed.
    """
    if isinstance(given, dtype):
        engine_dtype_of(given)  # raises ImportError if the package for this dtype is missing
        return given
    if given is float or given is int or given is bool:
        return {float: float64, int: int64, bool: bool_}[given]
    if isinstance(given, str):
        given = given.removeprefix("torch.")
    try:
        return BY_NAME[engine_dtype_of(given).name]
    except TypeError:
        known = ", ".join(f"torch.{name}" for name in DTYPES)
        raise TypeError(f"dtype {shown(given)} is not supported; a tensor of minitensor holds one of {known}") from None


class finfo:
    """The limits of a floating-point type: ``torch.finfo(torch.float32).eps``.

    Raises:
        TypeError: if the type is not a floating-point type.
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None) -> None:
        given = float32 if type is None else dtype_of(type)
        if not given.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{given}'")
        limits = limits_of(given.numpy)
        self.bits, self.dtype = limits.bits, given.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.resolution, self.tiny = float(limits.resolution), float(limits.tiny)
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({', '.join(f'{name}={value:g}' for name, value in shown)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer type: ``torch.iinfo(torch.int32).max``.

    Raises:
        TypeError: if the type is not an integer type.
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        given = dtype_of(type)
        if given.numpy not in INTEGERS:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{given}'")
        limits = np.iinfo(given.numpy)
        self.bits, self.dtype, self.max, self.min = limits.bits, given.name, int(limits.max), int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


class Size(tuple):
    """A shape: a tuple that prints as ``torch.Size([2, 3])``."""

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        count = 1
        for length in self:
            count *= length
        return count

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            index = checks.integer("torch.Size", "index", index)
            if not -len(self) <= index < len(self):
                raise IndexError(f"torch.Size: index {index} is out of range for {len(self)} dimensions")
        else:
            index = checks.slice_of("torch.Size", index)
        picked = super().__getitem__(index)
        return Size(picked) if isinstance(index, slice) else picked

    def __add__(self, other: Any) -> Size:
        return Size(super().__add__(checks.instance("torch.Size", "the other operand of +", other, tuple, "a tuple")))


def _ordinal(given: int | str) -> int:
    """Return an integer: the number of a GPU that is given as an integer or as text.

    Raises:
        RuntimeError: if an integer does not fit into 64 bits, or if a text has more than 18 digits.
    """
    is_long = len(given) > 18 if isinstance(given, str) else not -LARGEST <= given < LARGEST
    if is_long:
        raise RuntimeError(f"CUDA error: invalid device ordinal\nThere is one GPU, 'cuda:0', not {shown(given)}.")
    return int(given)


class device:
    """The device of a tensor: ``torch.device("cpu")``, ``torch.device("cuda:0")``.

    Without a CUDA device, "cuda" is the simulated GPU, which prints a note when it is first used.

    Raises:
        RuntimeError: for any device but the host and GPUs.
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __init__(self, name: Any, index: int | None = None) -> None:
        if isinstance(name, device):
            self._set(name.type, name.index)
            return
        if isinstance(name, (int, *NUMPY_INTEGERS)) and not isinstance(name, bool):
            name, index = "cuda", _ordinal(name)
        name = name if isinstance(name, str) else shown(name)
        found = re.fullmatch(r"(cpu|cuda|gpu)(?::(\d+|sim))?", name)
        if found is None:
            if re.fullmatch(r"[a-z]+\d+", name):
                raise RuntimeError(f"Invalid device string: '{name}'\nA dtype is torch.{name}, say, without quotes.")
            raise RuntimeError(
                f"Expected one of cpu, cuda device type at start of device string: {name}\n"
                f"minitensor has torch.device('cpu') and torch.device('cuda')."
            )
        kind = "cuda" if found[1] == "gpu" else found[1]
        self._set(kind, index if found[2] is None or found[2] == "sim" else _ordinal(found[2]))

    def _set(self, kind: str, index: int | None) -> None:
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self),))


def device_of(x: BaseTensor) -> device:
    """Return the device of a tensor."""
    return device("cpu") if gpu_of(x._array) is None else device("cuda", 0)


def set_default_device(device: Any) -> None:
    """Create new tensors of this thread on ``device`` from now on; None means the host.

    Raises:
        RuntimeError: if ``device`` is neither the host nor the first GPU.
    """
    set_device(engine_place("cpu" if device is None else device))


def get_default_device() -> Any:
    """Return the device on which new tensors are created."""
    return device("cpu") if current.gpu is None else device("cuda", 0)


def engine_place(given: Any) -> str:
    """Return the engine's name of a device, "cpu" or "gpu".

    Raises:
        RuntimeError: if ``given`` is neither the host nor the first GPU.
    """
    wanted = device(given)
    if wanted.index not in (None, 0):
        raise RuntimeError(f"CUDA error: invalid device ordinal\nThere is one GPU, 'cuda:0', not {str(wanted)!r}.")
    return "cpu" if wanted.type == "cpu" else "gpu"
