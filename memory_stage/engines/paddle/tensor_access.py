"""Read the addresses, layouts and elements of Paddle's tensors without side effects.

This module calls no function that :mod:`.monkeypatches` patches.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from memory_stage.engines.protocol import CellLayout

#: Integer dtypes for the bits of elements whose dtype numpy does not have.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def dtype_of(x: Any) -> str:
    """Return the name of a tensor's dtype, such as ``float32``."""
    return str(x.dtype).rpartition(".")[2]


def is_drawable(x: Any) -> bool:
    """True if a tensor is dense and has memory on the host."""
    return x.is_dense() and x._is_initialized() and x.place.is_cpu_place()


def base_of(x: Any) -> int:
    """Return the address of the first byte of a tensor's storage."""
    return int(x.data_ptr()) - int(x.offset)


def layout_of(x: Any) -> CellLayout:
    """Return the shape, strides and offset of a tensor, in cells."""
    shape, strides = [int(n) for n in x.shape], [int(n) for n in x.strides]
    if 0 in shape and len(strides) != len(shape):  # in Paddle 2.6, after `flatten_` of an empty tensor
        strides = [0] * len(shape)
    return CellLayout(shape, strides, int(x.offset) // x.element_size())


def reach_of(layout: CellLayout) -> int:
    """Return how many cells the storage must have to contain the layout."""
    if 0 in layout.shape:
        return layout.offset
    return layout.offset + 1 + sum((n - 1) * stride for n, stride in zip(layout.shape, layout.strides, strict=True))


def cells_at(address: int, length: int, dtype: str) -> np.ndarray:
    """Return an array over the cells at an address, without copying. Read it at once: it keeps nothing alive."""
    kind = np.dtype(_BITS.get(dtype, dtype))
    if not length or not address:
        return np.empty(0, kind)
    memory: Any = (ctypes.c_char * (length * kind.itemsize)).from_address(address)
    return np.frombuffer(memory, kind)


def as_numbers(cells: np.ndarray, dtype: str) -> np.ndarray:
    """Return cells as numbers that numpy can print. A bfloat16 is the upper half of a float32."""
    if dtype == "bfloat16":
        return (cells.astype("uint32") << 16).view("float32")
    return cells


def copied(x: Any) -> np.ndarray:
    """Return a copy of a tensor's elements, in memory that Paddle does not count."""
    layout, dtype = layout_of(x), dtype_of(x)
    flat = cells_at(base_of(x), reach_of(layout), dtype)
    strides = [stride * flat.itemsize for stride in layout.strides]
    elements = np.lib.stride_tricks.as_strided(flat[layout.offset :], layout.shape, strides)
    return as_numbers(elements.copy(), dtype)
