"""The element types of tensors, and the rules that promote two of them to one.

The rules come from the book's contract: float32 with float64 gives float64, an integer with a float gives that float,
int32 with int64 gives int64, integer division gives float32, and a Python number never widens a tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class DType:
    """An element type. Compares equal to its name: ``x.dtype == "float32"``."""

    __slots__ = ("name", "numpy")

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype(name)

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"minitensor.{self.name}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, str):
            return other == self.name
        if isinstance(other, (np.dtype, type)):
            try:
                return self.numpy == _as_everywhere(other)
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_of, (self.name,))


float32, float64, int32, int64, bool_ = map(DType, ("float32", "float64", "int32", "int64", "bool"))

DTYPES = {dtype.name: dtype for dtype in (float32, float64, int32, int64, bool_)}
FLOATS = frozenset((float32.numpy, float64.numpy))
BY_NUMPY = {dtype.numpy: dtype for dtype in DTYPES.values()}


def dtype_of(given: Any) -> DType:
    """Return the :class:`DType` for a name, a numpy dtype, a Python type or a DType.

    Raises:
        TypeError: if ``given`` names no dtype that a tensor can have.
    """
    if isinstance(given, DType):
        return given
    if type(given) is str and given in DTYPES:
        return DTYPES[given]
    if type(given) is str and len(given) == 1 and given not in "?fdilqp":  # numpy warns about some letters
        raise _no_dtype(given)
    try:
        # numpy reads None as float64, and uses the `dtype` attribute of any other object.
        found = BY_NUMPY[np.dtype(_as_everywhere(given) if isinstance(given, (str, type, np.dtype)) else "none")]
    except (KeyError, TypeError):
        raise _no_dtype(given) from None
    return found


def _no_dtype(given: Any) -> TypeError:
    return TypeError(f"dtype {given!r} is not supported; a tensor holds one of {', '.join(DTYPES)}")


def _as_everywhere(given: Any) -> Any:
    """Map Python's ``int`` to int64, because numpy gives it 32 bits in a browser."""
    return np.int64 if given is int else given


def promoted(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the dtype that elements of ``a`` and ``b`` are promoted to."""
    if a in FLOATS and b not in FLOATS:
        return a
    if b in FLOATS and a not in FLOATS:
        return b
    return np.promote_types(a, b)
