"""The few operations that differ between host arrays and GPU arrays.

The engine computes with numpy's functions, which dispatch to CuPy or to the simulated GPU if their arguments are arrays
on a GPU. So every operation has one implementation. This module has the few functions that numpy does not dispatch.

A few names of numpy are imported one by one, because looking up ``ndarray`` is 50 ns faster than looking up
``np.ndarray``, and nearly every operation does this. For comparison, counting a gradient in backward takes some 250 ns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import asarray, generic, ndarray
from numpy.lib.stride_tricks import as_strided

# These functions moved to another module in numpy 2. Paddle 2.6 needs numpy 1.
_numpy_1: Any = np
_numpy_2: Any = getattr(np.lib, "array_utils", None)
normalize_axis_tuple = (_numpy_2 or _numpy_1.core.numeric).normalize_axis_tuple
#: ``byte_bounds(array)`` returns the address of the first byte and the address after the last byte.
byte_bounds: Callable[[ndarray], tuple[int, int]] = (_numpy_2 or _numpy_1).byte_bounds

Array = Any


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape, or raise ValueError, like numpy's function but for any number of dimensions."""
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    lengths = [next((n for n in column if n != 1), 1) for column in zip(*padded, strict=True)]
    if any(n not in (1, length) for shape in padded for n, length in zip(shape, lengths, strict=True)):
        raise ValueError(f"shape mismatch: {shapes} cannot be broadcast together")
    return tuple(lengths)


#: The GPU for array types without an attribute ``gpu``. A CUDA device registers CuPy's array type.
GPU_OF_TYPE: dict[type, Any] = {}


def gpu_of(array: Array) -> Any:
    """Return the GPU of ``array``; None for a host array or a number."""
    if isinstance(array, (ndarray, generic)):
        return None
    gpu = GPU_OF_TYPE.get(type(array))
    return array.gpu if gpu is None else gpu


def address_of(array: Array) -> int:
    """Return the address of the first element, in bytes."""
    if type(array) is ndarray:
        return array.__array_interface__["data"][0]
    gpu = GPU_OF_TYPE.get(type(array))
    return array.address if gpu is None else gpu.address(array)


def owner_of(array: Array) -> Array:
    """Return the array that owns the memory of ``array``, which may be ``array`` itself."""
    return array if array.base is None else array.base


def as_array(value: Any) -> Array:
    """Return a scalar as an array without dimensions, and an array unchanged.

    numpy's functions return scalars instead of arrays without dimensions.
    """
    return asarray(value) if isinstance(value, (generic, float)) else value


def host_array(array: Array) -> np.ndarray:
    """Return the elements as a host array: ``array`` itself if it is one, else a copy."""
    host: Any = array if isinstance(array, (ndarray, generic)) else array.get()
    return host


def like(host: np.ndarray, array: Array) -> Array:
    """Return ``host`` on the device of ``array``."""
    return host if type(array) is ndarray else gpu_of(array).put(host)


def beside(value: Any, array: Array) -> Array:
    """Return a numpy scalar as an array on the device of ``array``, and any other ``value`` unchanged."""
    return like(asarray(value), array) if isinstance(value, generic) else value


def strided(memory: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view of one-dimensional, contiguous ``memory``. ``offset`` is in elements, ``strides`` are in bytes."""
    if type(memory) is ndarray:
        return ndarray(shape, memory.dtype, memory, offset * memory.itemsize, strides)
    return gpu_of(memory).strided(memory, offset, shape, strides)


def restrided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view that begins at the first element of ``array``. The caller checks that the memory is long enough."""
    if type(array) is ndarray:
        return as_strided(array, shape, strides)
    return gpu_of(array).restrided(array, shape, strides)


def may_share(a: Array, b: Array) -> bool:
    """True if, by a quick test, two arrays of one device may share memory; ``a`` may also be a number."""
    return not isinstance(a, np.generic) and np.may_share_memory(a, b)


def add_at(array: Array, index: Any, values: Array) -> None:
    """Add ``values`` to ``array[index]``; if a position is listed more than once, all of its values are added."""
    if type(array) is ndarray:
        np.add.at(array, index, values)
    else:
        gpu_of(array).add_at(array, index, values)


def raise_at(array: Array, index: Any, values: Array) -> None:
    """Set ``array[index]`` to the maximum of itself and ``values``. The array must be on a GPU and hold integers."""
    gpu_of(array).raise_at(array, index, values)


class _Header:
    """An object that numpy accepts as an array. It has shape and strides, and an address that is never read."""

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
    """True if two arrays have a byte in common: ``np.shares_memory``, extended to arrays of one GPU.

    Raises:
        numpy.exceptions.TooHardError: if the test takes more than ``max_work`` steps.
    """
    if type(a) is not ndarray:
        if not may_share(a, b):
            return False
        # Device addresses may be wider than host addresses, so numpy gets addresses relative to the lowest byte.
        addresses = [address_of(array) for array in (a, b)]
        begin = min(address + _reaches_back(array) for address, array in zip(addresses, (a, b), strict=True))
        # To numpy, address 0 means no memory, so begin at `itemsize`.
        moved = [address - begin + a.itemsize for address in addresses]
        a, b = (np.asarray(_Header(array, address)) for array, address in zip((a, b), moved, strict=True))
    return bool(np.shares_memory(a, b, max_work=max_work))


def _reaches_back(array: Array) -> int:
    """Return the number of bytes by which an array extends before its first element, as a negative number or 0."""
    return sum(stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True) if stride < 0)
