"""The element types of tensors, and the rules that promote two of them to one.

The wider of two floats or two integers wins, but float16 with bfloat16 gives float32, and uint8 with int8 gives int16.
An integer with a float gives that float. The quotient of two integers is float32. A Python number never widens the
dtype of a tensor.

numpy has no bfloat16. The optional package ml_dtypes adds it; all other dtypes work without that package. The package
takes 2 MB of memory, so it is imported when a program first uses bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

import numpy as np

from minitensor.engine.checks import shown

Value = TypeVar("Value")


class DType:
    """An element type. It is equal to its name: ``x.dtype == "float32"``."""

    __slots__ = ("name", "_numpy")

    name: str
    _numpy: np.dtype | None

    def __init__(self, name: str) -> None:
        if isinstance(name, str) and name == "bfloat16":
            numpy_dtype = None
        else:
            try:
                numpy_dtype = np.dtype(name if isinstance(name, str) else "none")
            except (TypeError, ValueError):  # ValueError: a text that cannot be encoded
                known = ", ".join(DTYPES)
                raise TypeError(f"{type(self).__name__}: name must be one of {known}, not {shown(name)}") from None
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_numpy", numpy_dtype)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is a dtype, which never changes: its {name!r} cannot be set")

    @property
    def numpy(self) -> np.dtype:
        """numpy's dtype for arrays of such elements.

        Raises:
            ImportError: for bfloat16 without the package ml_dtypes.
        """
        found = self._numpy
        if found is None:
            found = _load_bfloat16()
            object.__setattr__(self, "_numpy", found)
        return found

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return 2 if self._numpy is None else self._numpy.itemsize

    @property
    def is_available(self) -> bool:
        """False for bfloat16 if the package ml_dtypes is not installed; True for all other dtypes."""
        return self._numpy is not None or find_spec("ml_dtypes") is not None

    def __repr__(self) -> str:
        return f"minitensor.{self.name}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, str):
            return other == self.name
        if isinstance(other, (np.dtype, type)):
            try:
                dtype = np.dtype(_int_as_int64(other))
                return dtype.name == self.name if self._numpy is None else bool(self._numpy == dtype)
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_of, (self.name,))


#: All element types by name: bools and integers, then floats, both groups from narrow to wide.
DTYPES = {
    name: DType(name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
}
bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = DTYPES.values()


class ByNumpyDType(dict[np.dtype, Value], Generic[Value]):
    """A table with an entry for the numpy dtype of each element type. The entry of bfloat16 is added on first use."""

    def __init__(self, value: Callable[[DType], Value]) -> None:
        super().__init__((dtype.numpy, value(dtype)) for dtype in DTYPES.values() if dtype is not bfloat16)
        self._value = value

    def __missing__(self, dtype: np.dtype) -> Value:
        if dtype.name != bfloat16.name:
            raise KeyError(dtype)
        return self.setdefault(dtype, self._value(bfloat16))


BY_NUMPY: ByNumpyDType[DType] = ByNumpyDType(lambda dtype: dtype)
#: Floats of 16 bits. Operations compute on them in float32 and round the result once, as processors and frameworks do.
#: ``HALVES`` and ``FLOATS`` contain bfloat16 as soon as a program uses it.
HALVES = {float16.numpy}
FLOATS = {*HALVES, float32.numpy, float64.numpy}
INTEGERS = frozenset(dtype.numpy for dtype in (uint8, int8, int16, int32, int64))
#: Integers of 8 and 16 bits.
SMALL = frozenset(dtype.numpy for dtype in (uint8, int8, int16))
#: The integer types for indices and classes.
INDICES = frozenset((int32.numpy, int64.numpy))


def _load_bfloat16() -> np.dtype:
    try:
        dtype = np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise ImportError(
            "the dtype bfloat16 needs the package ml_dtypes. Install it with: pip install 'minitensor[bfloat16]'"
        ) from None
    HALVES.add(dtype)
    FLOATS.add(dtype)
    return dtype


def is_supported(dtype: np.dtype) -> bool:
    """True if a tensor can have this numpy dtype."""
    return dtype in BY_NUMPY or (dtype.name == bfloat16.name and dtype == bfloat16.numpy)


def dtype_of(given: Any) -> DType:
    """Return the :class:`DType` for a name, a numpy dtype, a Python type or a DType.

    Raises:
        TypeError: if ``given`` names no dtype that a tensor can have.
        ImportError: for bfloat16 without the package ml_dtypes.
    """
    if isinstance(given, DType):
        given.numpy  # noqa: B018  # raises if the dtype is not available
        return given
    if type(given) is str and given in DTYPES:
        return dtype_of(DTYPES[given])
    if type(given) is str and len(given) == 1 and given not in "?bBhefdilqp":  # numpy warns about some letters
        raise _no_dtype(given)
    try:
        # numpy reads None as float64, and uses the `dtype` attribute of any other object.
        found = BY_NUMPY[np.dtype(_int_as_int64(given) if isinstance(given, (str, type, np.dtype)) else "none")]
    except (KeyError, TypeError):
        raise _no_dtype(given) from None
    return found


def _no_dtype(given: Any) -> TypeError:
    return TypeError(f"dtype {shown(given)} is not supported; a tensor holds one of {', '.join(DTYPES)}")


def _int_as_int64(given: Any) -> Any:
    """Replace Python's ``int`` by int64, because numpy would take it as int32 in a browser."""
    return np.int64 if given is int else given


def promoted(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the dtype that elements of ``a`` and ``b`` are promoted to."""
    if a in FLOATS and b not in FLOATS:
        return a
    if b in FLOATS and a not in FLOATS:
        return b
    # Neither 16-bit float can hold all numbers of the other, and numpy has no common dtype for them.
    if a in HALVES and b in HALVES and a != b:
        return float32.numpy
    return np.promote_types(a, b)


def limits(dtype: np.dtype) -> Any:
    """Return the ``finfo`` of a floating dtype, an object with the limits of the dtype."""
    return import_module("ml_dtypes").finfo(dtype) if dtype.name == bfloat16.name else np.finfo(dtype)
