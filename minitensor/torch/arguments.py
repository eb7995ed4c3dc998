"""Arguments that are integers, and what PyTorch says of those that are none."""

from __future__ import annotations

import operator
from typing import Any


def need_int(op: str, name: str, given: Any, position: int = 1) -> int:
    """``given`` as an integer.

    Raises:
        TypeError: when it is none.
        RuntimeError: when it has more than 64 bits.
    """
    try:
        number = operator.index(given)
    except TypeError:
        kind = type(given).__name__
        raise TypeError(f"{op}(): argument '{name}' (position {position}) must be int, not {kind}") from None
    if not -(2**63) <= number < 2**63:
        raise RuntimeError(f"{op}(): argument '{name}' has more than 64 bits: {number}")
    return number


def need_ints(op: str, name: str, given: Any, position: int = 1) -> list[int]:
    """``given`` as a list of integers.

    Raises:
        TypeError, RuntimeError: when it is none.
    """
    if not isinstance(given, (list, tuple)):
        kind = type(given).__name__
        raise TypeError(f"{op}(): argument '{name}' (position {position}) must be tuple of ints, not {kind}")
    return [need_int(op, name, each, position) for each in given]
