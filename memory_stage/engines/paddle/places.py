"""Find the cells that a layout covers or an index selects, and find out if a write overlaps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.protocol import CellLayout
from memory_stage.trace.cells import SMALL, runs_of

#: The largest tensor, in elements, for which the cells of an index are found.
MOST_INDEXED = 1 << 20


def dense(shape: list[int]) -> CellLayout:
    """Return the layout of a contiguous tensor."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return CellLayout(list(shape), strides[::-1], 0)


def cells_of(layout: CellLayout) -> np.ndarray:
    """Return the indices of the cells of a layout, as an array of the layout's shape."""
    found = np.asarray(layout.offset)
    for axis, (n, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        along = [-1 if d == axis else 1 for d in range(len(layout.shape))]
        found = found + (np.arange(n) * stride).reshape(along)
    return np.broadcast_to(found, layout.shape)


def indexed(layout: CellLayout, index: Any, is_tensor: Callable[[Any], bool]) -> CellLayout | np.ndarray:
    """Return the sorted cells that an index selects; ``layout`` if it is large or numpy refuses the index."""
    if int(np.prod(layout.shape)) > MOST_INDEXED:
        return layout
    parts = index if isinstance(index, tuple) else (index,)
    plain = tuple(
        tensor_access.copied(each) if is_tensor(each) else np.asarray(each) if isinstance(each, list) else each
        for each in parts
    )
    try:
        return np.unique(cells_of(layout)[plain])
    except (IndexError, TypeError, ValueError):
        return layout


def overlaps(layout: CellLayout, where: CellLayout | np.ndarray) -> bool:
    """True if a write covered at least one cell of a layout."""
    if isinstance(where, np.ndarray):
        if not where.size or 0 in layout.shape:
            return False
        return bool(np.isin(cells_of(layout), where).any())
    ours, mine = runs_of(*layout, SMALL)
    theirs, other = runs_of(*where, SMALL)
    if mine > SMALL or other > SMALL:
        return bool(np.intersect1d(cells_of(layout), cells_of(where)).size) if mine and other else False
    return any(a <= d and c <= b for a, b in ours for c, d in theirs)
