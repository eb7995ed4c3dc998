"""What differs between arrays of the host and arrays of a GPU, and nothing else does.

The engine computes with numpy's functions. Given an array of CuPy or of the simulated GPU, they pass the work on to it;
so there is one implementation of every operation. The few things that numpy does not pass on are here.

What nearly every operation or backward asks of numpy is imported by its name, here and in its other modules:
``ndarray`` is found 50 ns sooner than ``np.ndarray``, and a keep or a let-go on the way back takes 250.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import asarray, generic, ndarray
from numpy.lib.stride_tricks import as_strided

#: Before numpy 2, which Paddle 2.6 cannot run with, these two stood elsewhere.
_two: Any = getattr(np.lib, "array_utils", None)
_one: Any = np
normalize_axis_tuple = (_two or _one.core.numeric).normalize_axis_tuple


def byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """The address of its first byte, and the one after its last."""
    bounds: tuple[int, int] = (_two or _one).byte_bounds(array)
    return bounds


Array = Any

#: The GPU of arrays that do not name it themselves, by their type: a CUDA device enters the arrays of CuPy.
GPU_OF_TYPE: dict[type, Any] = {}


def gpu_of(array: Array) -> Any:
    """The GPU that ``array`` lies on; None for an array, or a number, of the host."""
    if isinstance(array, (ndarray, generic)):
        return None
    gpu = GPU_OF_TYPE.get(type(array))
    return array.gpu if gpu is None else gpu


def address_of(array: Array) -> int:
    """The address in bytes of the first element."""
    if type(array) is ndarray:
        return array.__array_interface__["data"][0]
    gpu = GPU_OF_TYPE.get(type(array))
    return array.address if gpu is None else gpu.address(array)


def owner_of(array: Array) -> Array:
    """The array that owns the memory of ``array``."""
    return array if array.base is None else array.base


def as_array(value: Any) -> Array:
    """An array: numpy turns arrays without dimensions into bare numbers; those of a GPU stay arrays."""
    return asarray(value) if isinstance(value, (generic, float)) else value


def host_array(array: Array) -> np.ndarray:
    """The elements on the host: the array itself there, else a copy."""
    host: Any = array if isinstance(array, (ndarray, generic)) else array.get()
    return host


def like(host: np.ndarray, array: Array) -> Array:
    """``host`` on the device of ``array``."""
    return host if type(array) is ndarray else gpu_of(array).put(host)


def beside(value: Any, array: Array) -> Array:
    """``value``; a bare number, which lies nowhere, as an array on the device of ``array``."""
    return like(asarray(value), array) if isinstance(value, generic) else value


def strided(memory: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of one-dimensional, contiguous ``memory``: ``offset`` in elements, ``strides`` in bytes."""
    if type(memory) is ndarray:
        return ndarray(shape, memory.dtype, memory, offset * memory.itemsize, strides)
    return gpu_of(memory).strided(memory, offset, shape, strides)


def restrided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view from the first element of ``array`` on, wherever it leads. The caller has checked that it may."""
    if type(array) is ndarray:
        return as_strided(array, shape, strides)
    return gpu_of(array).restrided(array, shape, strides)


def may_share(a: Array, b: Array) -> bool:
    """Whether two arrays of one device may have memory in common, as far as is plain to see; ``a`` may be a number."""
    return not isinstance(a, np.generic) and np.may_share_memory(a, b)


def add_at(array: Array, index: Any, values: Array) -> None:
    """Add ``values`` to ``array[index]``; a place named twice gets both. numpy does not pass indices in tuples on."""
    if type(array) is ndarray:
        np.add.at(array, index, values)
    else:
        gpu_of(array).add_at(array, index, values)


def raise_at(array: Array, index: Any, values: Array) -> None:
    """Let ``array[index]``, integers on a GPU, be no less than ``values``."""
    gpu_of(array).raise_at(array, index, values)


class _Header:
    """How an array lies, for numpy: shape and strides at an address that nobody reads."""

    __slots__ = ("__array_interface__",)

    def __init__(self, array: Array, address: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": array.dtype.str,
            "shape": array.shape,
            "strides": array.strides,
            "data": (address, True),
        }


def share_memory(a: Array, b: Array, max_work: Any) -> bool:
    """Whether two arrays have a byte in common: ``np.shares_memory``, for arrays of one GPU, too.

    Raises:
        numpy.exceptions.TooHardError: when finding out takes more than ``max_work`` steps.
    """
    if type(a) is not ndarray:
        if not may_share(a, b):
            return False
        # A device's addresses can be wider than this computer's: numpy is told how far the two are from each other.
        addresses = [address_of(array) for array in (a, b)]
        begin = min(address + _reaches_back(array) for address, array in zip(addresses, (a, b), strict=True))
        moved = [address - begin + a.itemsize for address in addresses]  # 0 would be no memory
        a, b = (np.asarray(_Header(array, address)) for array, address in zip((a, b), moved, strict=True))
    return bool(np.shares_memory(a, b, max_work=max_work))


def _reaches_back(array: Array) -> int:
    """How many bytes before its first element an array begins, as a negative number; 0 without negative strides."""
    return sum(stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True) if stride < 0)
