"""Convert the layout of a tensor to cells of its storage, for tensors whose elements and cells differ in size."""

from __future__ import annotations

import numpy as np

from memory_stage.engines.protocol import CellLayout


def in_cells(own: CellLayout, size: int, cell: int) -> CellLayout:
    """Convert a layout in elements of ``size`` bytes to cells of ``cell`` bytes."""
    shape, strides, offset = own
    if size == cell or 0 in shape:
        return own
    if size > cell:
        times = size // cell
        return CellLayout([*shape, times], [*(stride * times for stride in strides), 1], offset * times)
    parts = cell // size
    steps = list(zip(shape, strides, strict=True))
    whole = [(n, stride // parts) for n, stride in steps if stride % parts == 0]
    within = offset % parts + sum((n - 1) * stride for n, stride in steps if stride % parts)
    count = within // parts + 1
    whole += [(count, 1)] if count > 1 or not whole else []
    return CellLayout([n for n, _ in whole], [stride for _, stride in whole], offset // parts)


def numbers_in_cells(numbers: np.ndarray, size: int, cell: int) -> np.ndarray:
    """Return the sorted numbers of the cells of ``cell`` bytes that elements of ``size`` bytes occupy."""
    if size > cell:
        times = size // cell
        numbers = (numbers.reshape(-1, 1) * times + np.arange(times)).reshape(-1)
    return np.unique(numbers * size // cell if size < cell else numbers)
