"""Copies of the memory that numpy or a DLPack library may write without emitting an event.

When a step ends, the memory is compared with its copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from memory_stage.engines.protocol import CellLayout, Engine, Key, Storage
from memory_stage.trace import cells

MOST_BYTES = 1 << 20  # of a larger storage, only the cells that the trace shows are compared


class SharedMemory:
    """Copies of the storages that another library may write."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._end: Callable[[], None] | None = None
        #: Maps the engine's key of a storage to a weak reference, the indexes of its copied cells, and their bits.
        self._copies: dict[Key, tuple[Callable[[], Storage | None], Any, np.ndarray]] = {}
        self._ended: set[Key] = set()  # storages that are no longer shared and are compared for the last time

    def open(self) -> None:
        """Copy all shared storages, and each further storage as soon as it becomes shared.

        A storage is copied at once, because the line that shares it may also write it.
        """
        self._end = self._engine.when_shared(self.copy)
        for storage in self.storages():
            self.copy(storage)

    def close(self) -> None:
        """Drop the copies, and stop copying."""
        self._copies.clear()
        if self._end is not None:
            self._end()
            self._end = None

    def copy(self, storage: Storage, shown: set[int] | None = None) -> None:
        """Copy ``storage``; of a large storage, copy only the cells ``shown``, by default the first and the last."""
        flat = self._engine.bits(storage)
        if flat is None:
            return
        indexes: Any = slice(None)
        if flat.nbytes > MOST_BYTES:
            indexes = np.array(sorted(shown or (0, flat.size - 1)))
        # Bits are compared, because a NaN is not equal to itself. Numpy allocates the copy, so no meter counts it.
        self._copies[self._engine.key(storage)] = self._engine.weak(storage, _ignore), indexes, flat[indexes].copy()

    def is_copied(self, storage: Storage) -> bool:
        """True if ``storage`` has a copy, so that :meth:`wrote` must be called after each write of the engine."""
        return self._engine.key(storage) in self._copies

    def storages(self) -> list[Storage]:
        """Return the shared storages, and those that stopped being shared since the last call.

        Storages of the second kind are compared once more, because one line may make an array, write it and free it.
        """
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
        """Return the indexes of the cells that differ from the copy, and update the copy or make one."""
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
        """Update the copy in the cells that the engine itself wrote, and in no others."""
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
            if low < written.offset:  # the layout has a negative stride
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
    """Return None, as a weak reference to a freed object does."""


def _ignore(ref: Any) -> None:
    """Do nothing when a storage is freed, because :meth:`SharedMemory.storages` finds that out."""
