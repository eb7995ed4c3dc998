"""Find the cells that a call overwrites, the changes of a tensor's layout, and the reason of a refused write."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from memory_stage.engines.cell_layouts import numbers_in_cells
from memory_stage.engines.torch.memory import address_of, cell_sizes, elements_of, layout_of, own_layout_of

MOST_COMPARED = 1 << 20  # the largest number of bytes of a tensor that are compared to find unversioned writes

_NO_LEAF = ("a leaf Variable that requires grad", "a view of a leaf Variable", "leaf variable has been moved")
_OVERLAPS = "more than one element of the written-to tensor refers to a single memory location"
_SEVERAL = "This view is the output of a function that returns multiple views"
_DTYPE = "can't be cast to the desired output type"

#: The cells of a write that increments the version without overwriting anything.
NOWHERE = np.empty(0, np.int64)


def cells_written(x: torch.Tensor, name: str, args: Any) -> Any:
    """Return the cells that an item assignment writes, as a layout or as numbers; None for the whole tensor."""
    if name != "setitem" or not args or args[0] is not x:
        return None
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    parts = tuple(elements_of(each) if isinstance(each, torch.Tensor) else each for each in index)
    sliced = _slice_of(x, parts)
    if sliced is not None or x.numel() > MOST_COMPARED:
        return sliced
    numbers = np.full(tuple(x.shape), own_layout_of(x).offset, np.int64)
    for axis, stride in enumerate(x.stride()):
        shape = [1] * x.dim()
        shape[axis] = x.shape[axis]
        numbers += (np.arange(x.shape[axis]) * stride).reshape(shape)
    try:
        size = x.element_size()
        return numbers_in_cells(numbers[parts], size, cell_sizes.get(address_of(x), size))
    except (IndexError, TypeError, ValueError):  # numpy does not accept this index
        return None


def stamp_of(x: torch.Tensor) -> tuple[Any, ...]:
    """Return the layout, dtype and address of a tensor, to find out if a call changes them."""
    return x.data_ptr() if x.numel() else 0, x.shape, x.stride(), x.storage_offset(), x.dtype


def bits_of(x: torch.Tensor) -> np.ndarray | None:
    """Return a copy of a tensor's elements; of a large tensor, only the first elements."""
    if x.device.type != "cpu" or not x.numel():
        return None
    elements = elements_of(x.detach())
    return elements.reshape(-1)[: MOST_COMPARED // x.element_size()].copy()


def _slice_of(x: torch.Tensor, parts: tuple[Any, ...]) -> Any:
    """Return the layout that an index of integers and slices selects; None for an index of another kind."""
    if not all(each is None or each is Ellipsis or type(each) in (int, slice) for each in parts):
        return None
    return layout_of(x.detach()[parts])


def reason_of(error: BaseException) -> str:
    """Return the key of the sentence that explains why torch refuses a write; an empty string for other errors."""
    text = str(error) if isinstance(error, RuntimeError) else ""
    if any(each in text for each in _NO_LEAF):
        return "leaf_written"
    if _OVERLAPS in text:
        return "overlapping_target"
    if _SEVERAL in text:
        return "view_of_several"
    return "result_does_not_fit" if _DTYPE in text else ""
