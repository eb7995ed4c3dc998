"""Restrictions that a simulated GPU enforces where CuPy raises or its behaviour is undefined; counters of transfers.

``facts/cupy-functions.json`` lists CuPy's functions and parameters; this module has the rules beyond those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Transfers:
    """Counters of transfers between the host and a simulated GPU.

    Attributes:
        to_device, to_host: the number of arrays copied to the device and to the host.
        bytes_to_device, bytes_to_host: the bytes of these arrays.
        waits: the number of times that the program waited for a number from the device, as in ``item()`` and
            ``bool()``, and in an index with a mask, because the device has to count the selected elements first.
    """

    __slots__ = ("to_device", "to_host", "bytes_to_device", "bytes_to_host", "waits")

    def __init__(self) -> None:
        self.to_device = self.to_host = self.bytes_to_device = self.bytes_to_host = self.waits = 0


#: Functions for which the device has to count the elements of the result before it can allocate the result.
COUNTING = frozenset((np.flatnonzero, np.nonzero, np.unique))


def refuse_call(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Raise TypeError or NotImplementedError if numpy's function accepts these arguments and CuPy's does not."""
    if function is np.may_share_memory and not all(hasattr(each, "gpu") for each in args):
        raise TypeError("on a device, np.may_share_memory takes arrays only")
    if function is np.shares_memory and kwargs.get("max_work") is not None:
        raise NotImplementedError("on a device, np.shares_memory has no max_work")
    if kwargs.get("shape") == () and args[0].ndim:
        raise TypeError("CuPy takes shape=() for the shape of the array; use np.zeros(shape, dtype, like=array)")


def refuse_overlap(target: np.ndarray, value: np.ndarray) -> None:
    """Raise ValueError if ``value`` overlaps ``target``, because GPU threads would race.

    ``value`` may have the same address, shape and strides as ``target``: then each element is assigned to itself.
    """
    same = value.shape == target.shape and value.strides == target.strides
    if same and value.__array_interface__["data"] == target.__array_interface__["data"]:
        return
    if np.may_share_memory(target, value):
        raise ValueError(
            "the assigned array may share memory with its target, and a device reads and writes in parallel"
        )


def refuse_conflict(found: np.ndarray, assigned: np.ndarray) -> None:
    """Raise ValueError if an index assigned different values to one position: a device assigns in no fixed order.

    Args:
        found: the values that the index reads after the assignment.
        assigned: the values that were assigned.
    """
    if not np.array_equal(found, np.broadcast_to(assigned, found.shape).astype(found.dtype), equal_nan=True):
        raise ValueError("an index lists a position twice, and a device does not define which value remains")


def lists_positions(index: Any) -> bool:
    """True if an index contains an array of positions, which may repeat."""
    return any(isinstance(each, np.ndarray) and each.dtype.kind != "b" for each in _entries(index))


def masks_in(index: Any) -> int:
    """Return the number of masks in an index. For each mask, a device has to count the selected elements first."""
    return sum(isinstance(each, np.ndarray) and each.dtype.kind == "b" for each in _entries(index))


def _entries(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)
