"""Copies of memory that numpy and DLPack libraries may write; their writes emit no event.

Memory is compared with its copy when a step ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from memory_stage.engines.protocol import CellLayout, Engine, Key, Storage
from memory_stage.trace import cells

MOST_BYTES = 1 << 20  # only the shown cells of a larger storage are compared


class SharedMemory:
    """Copies of the storages that another library may write."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._end: Callable[[], None] | None = None
        #: A weak reference to each storage, the indexes of its copied cells, and their bits.
        self._copies: dict[Key, tuple[Callable[[], Storage | None], Any, np.ndarray]] = {}
        self._ended: set[Key] = set()  # no longer shared, and compared for the last time

    def open(self) -> None:
        """Copy all shared storages, and each storage once it is shared: the same line may write it."""
        self._end = self._engine.when_shared(self.copy)
        for storage in self.storages():
            self.copy(storage)

    def close(self) -> None:
        """Drop the copies, and copy no more storages."""
        self._copies.clear()
        if self._end is not None:
            self._end()
            self._end = None

    def copy(self, storage: Storage, shown: set[int] | None = None) -> None:
        """Copy ``storage``, or only the cells ``shown`` of a large one."""
        flat = self._engine.bits(storage)
        if flat is None:
            return
        indexes: Any = slice(None)
        if flat.nbytes > MOST_BYTES:
            indexes = np.array(sorted(shown or (0, flat.size - 1)))
        # Bits are compared because a NaN differs from itself. Numpy allocates the copy, which no meter counts.
        self._copies[self._engine.key(storage)] = self._engine.weak(storage, _ignore), indexes, flat[indexes].copy()

    def is_copied(self, storage: Storage) -> bool:
        """True if ``storage`` has a copy, so that :meth:`wrote` must be called for the engine's writes to it."""
        return self._engine.key(storage) in self._copies

    def storages(self) -> list[Storage]:
        """Return the shared storages, and one last time those that were shared: one line may make and free an array."""
        found = self._engine.shared_storages()
        keys = {self._engine.key(storage) for storage in found}
        self._ended &= self._copies.keys() - keys
        for key in self._copies.keys() - keys:
            storage = self._copies[key][0]()
            if key in self._ended or storage is None or self._engine.key(storage) != key:
                del self._copies[key]
            else:
                self._ended.add(key)
                found.append(storage)
        return found

    def changed(self, storage: Storage, shown: set[int]) -> np.ndarray:
        """Return the indexes of cells that differ from the copy, and copy them again."""
        indexes, bits = self._copy_of(storage)
        flat = self._engine.bits(storage)
        if bits is None or flat is None:
            self.copy(storage, shown)
            return np.array([], int)
        found = np.flatnonzero(flat[indexes] != bits)
        if found.size or not isinstance(indexes, slice):
            self.copy(storage, shown)
        return found if isinstance(indexes, slice) else indexes[found]

    def wrote(self, storage: Storage, written: CellLayout | np.ndarray) -> None:
        """Copy the cells that the engine itself wrote, and no others."""
        indexes, bits = self._copy_of(storage)
        flat = self._engine.bits(storage)
        if bits is None or flat is None:
            return
        if not isinstance(indexes, slice):
            self.copy(storage, set(indexes.tolist()))
        elif isinstance(written, np.ndarray):
            bits[written] = flat[written]
        elif 0 not in written.shape:
            low, _ = cells.reach(*written)
            if low < written.offset:  # a negative stride
                self.copy(storage)
            else:
                _at(bits, written)[...] = _at(flat, written)

    def _copy_of(self, storage: Storage) -> tuple[Any, np.ndarray | None]:
        """Return the indexes of a storage's copied cells and their bits; None if there is no copy."""
        key = self._engine.key(storage)
        ref, indexes, bits = self._copies.get(key, (_none, None, None))
        alive = ref()
        return (indexes, bits) if alive is not None and self._engine.key(alive) == key else (None, None)


def _at(flat: np.ndarray, layout: CellLayout) -> np.ndarray:
    """Return a view of the cells that a layout reads."""
    strides = [stride * flat.itemsize for stride in layout.strides]
    return as_strided(flat[layout.offset :], layout.shape, strides)


def _none() -> None:
    """Replace a weak reference that does not exist."""


def _ignore(ref: Any) -> None:
    """Ignore that a storage is freed: :meth:`SharedMemory.storages` finds out."""
