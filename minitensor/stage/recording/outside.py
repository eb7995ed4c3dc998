"""What the outside does to memory that is shared with it: numpy, and every library that speaks DLPack.

No event tells of its writes. So what it can reach is copied, and compared when a step ends.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.device.arrays import gpu_of, restrided
from minitensor.sharing import borrowing
from minitensor.stage.recording import cells

MOST_BYTES = 1 << 20  # of a storage of more, only the cells that are shown are compared


def storage_behind(array: np.ndarray) -> Storage | None:
    """The storage whose memory a numpy array shows, when it is shared; else None."""
    if type(array) not in (np.ndarray, np.memmap, np.matrix) or array.size == 0:
        return None
    begin, end = np.lib.array_utils.byte_bounds(array)
    for shared in borrowing._meeting(begin, end):
        storage = shared.storage()
        if storage is not None and shared.begin <= begin and end <= shared.end:
            return storage
    return None


#: In place of what was noted: nothing was.
_NOTHING: Any = (None, None, None)


class Watched:
    """The memory that the outside may write, as it was."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[weakref.ref[Storage], Any, np.ndarray]] = {}

    def open(self) -> None:
        """From now on, memory is copied when it is first shared, too: it may be written in the same line."""
        borrowing.when_shared.append(self.note)

    def close(self) -> None:
        """Nothing is copied any more."""
        self._copies.clear()
        if self.note in borrowing.when_shared:
            borrowing.when_shared.remove(self.note)

    def note(self, storage: Storage, shown: set[int] | None = None) -> None:
        """Copy ``storage`` as it is. Of a large one, the cells ``shown``."""
        if gpu_of(storage.buffer) is not None or not storage.buffer.size:
            return
        flat = _flat(storage)
        which: Any = slice(None)
        if storage.buffer.nbytes > MOST_BYTES:
            which = np.array(sorted(shown or (0, storage.buffer.size - 1)))
        # Bits, so that a NaN is what it was; taken by numpy's own allocator, which no meter counts.
        self._copies[id(storage)] = weakref.ref(storage), which, flat[which].copy()

    def storages(self) -> list[Storage]:
        """Those that are shared now. Others are forgotten."""
        there = borrowing.shared_storages()
        keys = {id(storage) for storage in there}
        for key in self._copies.keys() - keys:
            del self._copies[key]
        return there

    def changed(self, storage: Storage, shown: set[int]) -> np.ndarray:
        """The cells that are other than when they were noted; they are noted anew."""
        ref, which, then = self._copies.get(id(storage), _NOTHING)
        if ref is None or ref() is not storage:
            self.note(storage, shown)
            return np.array([], int)
        found = np.flatnonzero(_flat(storage)[which] != then)
        if found.size or not isinstance(which, slice):
            self.note(storage, shown)
        return found if isinstance(which, slice) else which[found]

    def wrote(self, x: Tensor, where: Any) -> None:
        """The engine itself wrote through ``x``: what it wrote is noted, and nothing else."""
        storage: Storage = getattr(x._storage, "of", x._storage)
        ref, which, then = self._copies.get(id(storage), _NOTHING)
        if ref is None or ref() is not storage or x._array.size == 0:
            return
        array = where if where is not None and not isinstance(where, tuple) else x._array
        if not isinstance(which, slice):
            self.note(storage, set(which.tolist()))
            return
        shape, strides, offset = cells.layout(array, storage.buffer)
        bits = then[offset:]
        low, _ = cells.reach(shape, strides, offset)
        if low < offset:  # walks backwards
            self.note(storage)
            return
        place = restrided(bits, tuple(shape), tuple(s * bits.itemsize for s in strides))
        now = array.view(then.dtype)
        if isinstance(where, tuple):
            place[where] = now[where]
        else:
            place[...] = now


def _flat(storage: Storage) -> np.ndarray:
    """The bits of every cell."""
    buffer = storage.buffer
    return restrided(buffer, (buffer.size,), (buffer.itemsize,)).view(f"u{buffer.itemsize}")
