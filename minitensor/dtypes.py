"""The element types of tensors, and to which of two they are promoted.

The rules are the contract's: float32 with float64 gives float64, an integer with a float gives that float, int32
with int64 gives int64, integer division gives float32, and a Python number never widens a tensor.
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
        """Bytes of one element."""
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
    """The :class:`DType` that a name, a numpy dtype, a Python type or a DType stands for.

    Raises:
        TypeError: when it stands for none that a tensor can have.
    """
    if isinstance(given, DType):
        return given
    if type(given) is str and given in DTYPES:
        return DTYPES[given]
    if type(given) is str and len(given) == 1 and given not in "?fdilqp":  # of some letters numpy warns
        raise _no_dtype(given)
    try:
        # numpy takes None for float64, and looks for a `dtype` attribute on whatever it is given.
        found = BY_NUMPY[np.dtype(_as_everywhere(given) if isinstance(given, (str, type, np.dtype)) else "none")]
    except (KeyError, TypeError):
        raise _no_dtype(given) from None
    return found


def _no_dtype(given: Any) -> TypeError:
    return TypeError(f"dtype {given!r} is not supported; a tensor holds one of {', '.join(DTYPES)}")


def _as_everywhere(given: Any) -> Any:
    """Python's ``int`` stands for int64: for numpy, in a browser, it has 32 bits."""
    return np.int64 if given is int else given


def promoted(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype that elements of ``a`` and ``b`` are promoted to."""
    if a in FLOATS and b not in FLOATS:
        return a
    if b in FLOATS and a not in FLOATS:
        return b
    return np.promote_types(a, b)
