"""What numpy and other libraries write into memory that they share with tensors: no event and no version tells of it.

What they can reach is copied, and compared when the engine is heard next.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from minitensor.engine.core.regions import address
from minitensor.engine.core.storage import Storage
from minitensor.engine.device.arrays import gpu_of, restrided
from minitensor.engine.saved.cells import Cells
from minitensor.engine.sharing import numpy_memory

MOST_BYTES = 1 << 20  # a larger storage is not compared: that would take longer than the program


class Outside:
    """The memory that the outside may write, as it was."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[weakref.ref[Storage], np.ndarray]] = {}

    def open(self) -> None:
        """From now on, memory is copied when it is first shared, too."""
        for storage in numpy_memory.shared_storages():
            self.note(storage)
        numpy_memory.when_shared.append(self.note)

    def close(self) -> None:
        """Nothing is copied any more."""
        self._copies.clear()
        if self.note in numpy_memory.when_shared:
            numpy_memory.when_shared.remove(self.note)

    def note(self, storage: Storage) -> None:
        """Copy ``storage`` as it is."""
        if gpu_of(storage.buffer) is None and 0 < storage.buffer.nbytes <= MOST_BYTES:
            self._copies[id(storage)] = weakref.ref(storage), bits(storage).copy()

    def wrote(self, storage: Storage) -> None:
        """The engine has written it."""
        if id(storage) in self._copies:
            self.note(storage)

    def changed(self) -> Iterator[tuple[Storage, Cells]]:
        """The storages that are other than they were, and which of their cells; they are noted anew."""
        for key, (link, then) in list(self._copies.items()):
            storage = link()
            if storage is None:
                del self._copies[key]
                continue
            found = np.flatnonzero(bits(storage) != then)
            if found.size:
                self.note(storage)
                size: int = storage.buffer.itemsize
                yield storage, Cells.at(found + address(storage.buffer) // size, size)


def bits(storage: Storage) -> Any:
    """The cells of a host storage as integers, in the order of the memory: so that a NaN is what it was."""
    buffer = storage.buffer
    return restrided(buffer, (buffer.size,), (buffer.itemsize,)).view(f"u{buffer.itemsize}")
