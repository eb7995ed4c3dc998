"""What differs between arrays of the host and arrays of a GPU, and nothing else does.

The engine computes with numpy's functions. Given an array of CuPy or of the simulated GPU, they pass the work on to it;
so there is one implementation of every operation. The few things that numpy does not pass on are here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = Any


def gpu_of(array: Array) -> Any:
    """The GPU that ``array`` lies on; None for an array, or a number, of the host."""
    return None if isinstance(array, (np.ndarray, np.generic)) else array.gpu


def address_of(array: Array) -> int:
    """The address in bytes of the first element."""
    return array.__array_interface__["data"][0] if type(array) is np.ndarray else array.address


def owner_of(array: Array) -> Array:
    """The array that owns the memory of ``array``."""
    return array if array.base is None else array.base


def as_array(value: Any) -> Array:
    """An array: numpy turns arrays without dimensions into bare numbers; those of a GPU stay arrays."""
    return np.asarray(value) if isinstance(value, (np.generic, float)) else value


def host_array(array: Array) -> np.ndarray:
    """The elements on the host: the array itself there, else a copy."""
    return array if isinstance(array, (np.ndarray, np.generic)) else array.get()


def like(host: np.ndarray, array: Array) -> Array:
    """``host`` on the device of ``array``."""
    return host if type(array) is np.ndarray else array.gpu.put(host)


def strided(memory: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of one-dimensional, contiguous ``memory``: ``offset`` in elements, ``strides`` in bytes."""
    if type(memory) is np.ndarray:
        return np.ndarray(shape, memory.dtype, memory, offset * memory.itemsize, strides)
    return memory.gpu.strided(memory, offset, shape, strides)


def restrided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view from the first element of ``array`` on, wherever it leads. The caller has checked that it may."""
    if type(array) is np.ndarray:
        return as_strided(array, shape, strides)
    return array.gpu.restrided(array, shape, strides)
