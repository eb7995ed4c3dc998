"""Check arguments, and raise PyTorch's errors for arguments that are not allowed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitensor.engine.checks import real, shown
from minitensor.engine.core.tensor import Tensor as BaseTensor


def need_int(op: str, name: str, given: Any, position: int | None = 1) -> int:
    """Return ``given`` as an integer.

    Args:
        position: the position of the argument in the call, counted from 1; None if it was passed by name.

    Raises:
        TypeError: if ``given`` is not an integer.
        RuntimeError: if ``given`` needs more than 64 bits.
    """
    try:
        number = _index(given)
    except TypeError:
        place = "" if position is None else f" (position {position})"
        raise TypeError(f"{op}(): argument '{name}'{place} must be int, not {type(given).__name__}") from None
    if not -(2**63) <= number < 2**63:
        raise RuntimeError(f"{op}(): argument '{name}' has more than 64 bits: {shown(number)}")
    return number


def _index(given: Any) -> int:
    """Return ``given`` as an integer; raise TypeError if it is anything else. As in PyTorch, a bool is not allowed."""
    if type(given) is int:
        return given
    if isinstance(given, (bool, np.bool_)) or (isinstance(given, BaseTensor) and given._array.dtype == np.bool_):
        raise TypeError
    return operator.index(given)


def dropout_probability(op: str, name: str, given: Any) -> Any:
    """Return ``given``, the probability with which elements are dropped.

    Raises:
        TypeError: if ``given`` is not a number.
        ValueError: if ``given`` is not from 0 to 1.
    """
    p = real(f"{op}()", name, given)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {shown(given)}")
    return p


def need_ints(op: str, name: str, given: Any, position: int = 1) -> list[int]:
    """Return ``given`` as a list of integers.

    Raises:
        TypeError: if ``given`` is not a list or tuple of integers.
        RuntimeError: if an integer needs more than 64 bits.
    """
    if not isinstance(given, (list, tuple)):
        kind = type(given).__name__
        raise TypeError(f"{op}(): argument '{name}' (position {position}) must be tuple of ints, not {kind}")
    return [need_int(op, name, each, position) for each in given]


def need_tensor(op: str, x: Any, position: int = 1, name: str = "input") -> None:
    """Raise TypeError unless ``x`` is a tensor."""
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}")


def as_dim(dim: Any, ndim: int) -> int:
    """Return ``dim`` as a number of at least 0: a negative ``dim`` counts from the end.

    Raises:
        IndexError: if there is no such dimension.
        TypeError: if ``dim`` is not an integer.
    """
    try:
        number = _index(dim)
    except TypeError:
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}") from None
    reach = max(ndim, 1)
    if not -reach <= number < reach:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {shown(number)})"
        )
    return number % reach


def as_existing_dim(op: str, dim: Any, ndim: int) -> int:
    """Return ``dim`` as :func:`as_dim` does, but raise an error if the tensor has no dimensions.

    Raises:
        IndexError, TypeError: if there is no such dimension, or ``dim`` is not an integer.
    """
    found = as_dim(dim, ndim)
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions\n{op}() needs a dimension.")
    return found


def sizes_of(op: str, size: Sequence[Any]) -> list[int]:
    """Return the lengths of a shape, which the program passed one by one or as one sequence.

    Raises:
        TypeError: if there are none, or if one is not an integer.
    """
    if not size:
        raise TypeError(f'{op}() missing 1 required positional arguments: "size"')
    given = size[0] if len(size) == 1 and not hasattr(size[0], "__index__") else size
    try:
        if isinstance(given, (bytes, bytearray)):  # Python would take each byte as a length
            raise TypeError
        return [_index(n) for n in given]
    except (TypeError, AttributeError, NotImplementedError, ValueError):  # ValueError: a released memoryview
        raise TypeError(f"{op}(): argument 'size' must be tuple of ints, not {shown(given)}") from None


def refuse_bools(kernel: str, *tensors: BaseTensor) -> None:
    """Raise NotImplementedError if all operands of a matrix product are nonempty tensors of bools.

    The message says, as PyTorch's does, that ``kernel`` is not implemented for bools.
    """
    if all(x._array.dtype.kind == "b" and x._array.size for x in tensors):
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
