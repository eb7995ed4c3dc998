"""What a simulated GPU refuses because CuPy refuses it or leaves it undefined, and its count of what crosses.

``facts/cupy-functions.json`` has what CuPy offers; what is told here does not follow from names and parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Transfers:
    """What crossed between the host and a simulated GPU.

    Attributes:
        to_device, to_host: how many arrays were copied, and
        bytes_to_device, bytes_to_host: their bytes.
        waits: how often the program waited for one number: ``item()``, ``bool()``, a mask that has to be counted.
    """

    __slots__ = ("to_device", "to_host", "bytes_to_device", "bytes_to_host", "waits")

    def __init__(self) -> None:
        self.to_device = self.to_host = self.bytes_to_device = self.bytes_to_host = self.waits = 0


#: Functions whose result is as long as something that has to be counted first.
COUNTING = frozenset((np.flatnonzero, np.nonzero, np.unique))


def refuse_call(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Raise where CuPy's function of that name does not take these arguments, though numpy's does.

    Raises:
        TypeError, NotImplementedError: saying what CuPy does not take.
    """
    if function is np.may_share_memory and not all(hasattr(each, "gpu") for each in args):
        raise TypeError("on a device, only arrays are asked whether they may share memory")
    if function is np.shares_memory and kwargs.get("max_work") is not None:
        raise NotImplementedError("on a device, np.shares_memory knows no max_work")
    if kwargs.get("shape") == () and args[0].ndim:
        raise TypeError("CuPy takes shape=() for the shape of the array; use np.zeros(shape, dtype, like=array)")


def refuse_overlap(target: np.ndarray, value: np.ndarray) -> None:
    """Raise ValueError where CuPy copies memory that overlaps, or lets threads race for it."""
    same = value.shape == target.shape and value.strides == target.strides
    if same and value.__array_interface__["data"] == target.__array_interface__["data"]:
        return
    if np.may_share_memory(target, value):
        raise ValueError("what is assigned may share memory with its target, and a device reads and writes at once")


def refuse_conflict(found: np.ndarray, assigned: np.ndarray) -> None:
    """Raise ValueError where an index named a place twice, for two values: a device assigns in no order.

    Args:
        found: what the index reads after the assignment.
        assigned: what was assigned.
    """
    if not np.array_equal(found, np.broadcast_to(assigned, found.shape).astype(found.dtype), equal_nan=True):
        raise ValueError("an index names a place twice, and a device does not say which value stays")


def lists_places(index: Any) -> bool:
    """Whether an index names places by number, and so may name one twice."""
    return any(isinstance(each, np.ndarray) and each.dtype.kind != "b" for each in _entries(index))


def masks_in(index: Any) -> int:
    """How many masks an index has: before one picks elements, a device counts how many it picks."""
    return sum(isinstance(each, np.ndarray) and each.dtype.kind == "b" for each in _entries(index))


def _entries(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)
