"""Read the tensors that a node of torch saved for backward, and track writes to them."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

import torch

from memory_stage.engines.protocol import CellLayout, SavedTensorState
from memory_stage.engines.torch.memory import VersionCounter
from memory_stage.trace.cells import SMALL, merged, reach, runs_of

#: The attributes with the saved tensors of each type of node: ``_raw_saved_self`` first, the others by name.
_NAMES_SAVED: dict[type, tuple[str, ...]] = {}


class Entry:
    """A tensor that a node saved.

    Attributes:
        what: the name of the saved tensor at the node; ``out`` for the result.
        counter: the tensor's storage, or its separate version counter.
        layout: the cells of the storage that the tensor reads.
        version: the version at which the tensor was saved.
        lost: True if a write has overwritten at least one element.
        intact_version: the newest version at which the bytes were known to be unchanged.
        is_compared: True if backward() compares versions; False for an attribute of a custom function's ``ctx``.
        is_read: True if backward() has reached the node and reads the tensor without comparing versions.
    """

    __slots__ = (
        "what",
        "counter",
        "layout",
        "version",
        "lost",
        "intact_version",
        "is_compared",
        "is_read",
        "__weakref__",
    )

    def __init__(
        self, what: str, counter: VersionCounter, layout: CellLayout, version: int, is_compared: bool = True
    ) -> None:
        self.what, self.counter, self.layout, self.version = what, counter, layout, version
        self.lost, self.intact_version, self.is_compared, self.is_read = False, version, is_compared, False

    def saved_state(self) -> SavedTensorState:
        """Return the state of the saved tensor, assuming that it has not been released."""
        if not self.is_compared:
            return SavedTensorState.TAKEN if self.lost else SavedTensorState.RIGHT
        if self.lost:
            return SavedTensorState.LOST
        if self.counter.version == self.version:
            return SavedTensorState.RIGHT
        return SavedTensorState.MOVED if self.intact_version == self.counter.version else SavedTensorState.LOST


def saved_in(fn: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors that a node saved, by name, except those that a hook of the program packs."""
    kind = type(fn)
    if kind not in _NAMES_SAVED:
        names = [name for name in dir(fn) if name.startswith("_raw_saved_")]
        _NAMES_SAVED[kind] = tuple(sorted(names, key=lambda name: name != "_raw_saved_self"))
    for name in _NAMES_SAVED[kind]:
        try:
            saved = getattr(fn, name)
        except RuntimeError:  # an earlier backward has released the tensor
            continue
        what = name.removeprefix("_raw_saved_")
        what = "out" if what == "result" else what
        several = isinstance(saved, (tuple, list))
        for number, each in enumerate(saved if several else (saved,)):
            if each is not None and each.unpack_hook is None:
                yield (f"{what}[{number}]" if several else what), each


def is_custom(fn: Any) -> bool:
    """True if a node is the ``ctx`` of a custom function."""
    return isinstance(fn, torch.autograd.function.BackwardCFunction)


def attributes_of(fn: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors that a custom function stores as attributes of its ``ctx``, by name.

    The tensors in a list, tuple or dict that is an attribute have the name of this attribute.
    """
    if not is_custom(fn):
        return
    for name, value in list(vars(fn).items()):
        several = list(value.values()) if isinstance(value, dict) else value
        for each in several if isinstance(several, (list, tuple)) else (several,):
            if isinstance(each, torch.Tensor):
                yield f"ctx.{name}", each


def unchecked_in(node: Any) -> list[tuple[str, torch.Tensor]]:
    """Return the attributes of a ``ctx`` that ``backward`` reads and whose versions torch does not compare."""
    found = list(attributes_of(node))
    read = _names_in(getattr(type(node)._forward_cls.backward, "__code__", None)) if found else set()
    return [(name, x) for name, x in found if name.removeprefix("ctx.") in read]


def _names_in(code: CodeType | None) -> set[str]:
    """Return the names that a function and the functions inside it use."""
    if code is None:
        return set()
    names = set(code.co_names)
    for each in code.co_consts:
        names |= _names_in(each) if isinstance(each, CodeType) else set()
    return names


def touches(layout: CellLayout, cells: Any) -> bool:
    """True if a layout reads one of ``cells``. If one of the two has many runs of cells, True if their ranges overlap.

    Args:
        cells: a layout, the sorted numbers of cells, or None for all cells of the storage.
    """
    if cells is None:
        return True
    if not isinstance(cells, CellLayout):  # sorted cell numbers
        if not len(cells):
            return False
        runs = [(int(cells[0]), int(cells[-1]))] if len(cells) > SMALL else [(int(i), int(i)) for i in cells]
    else:
        runs = _runs(cells)
    own = _runs(layout)
    return any(a <= d and c <= b for a, b in own for c, d in runs)


def _runs(layout: CellLayout) -> list[tuple[int, int]]:
    if 0 in layout.shape:
        return []
    runs, total = runs_of(*layout, SMALL)
    return merged(runs) if total <= SMALL else [reach(*layout)]
