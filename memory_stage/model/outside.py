"""What the outside does to memory that is shared with it: numpy, and every library that speaks DLPack.

No event tells of its writes. So what it can reach is copied, and compared when a step ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from memory_stage.engines.protocol import Engine, Key, Layout, Storage
from memory_stage.trace import cells

MOST_BYTES = 1 << 20  # of a storage of more, only the cells that are shown are compared


class Watched:
    """The memory that the outside may write, as it was."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._end: Callable[[], None] | None = None
        #: A weak reference to each storage, which of its cells, and their bits.
        self._copies: dict[Key, tuple[Callable[[], Storage | None], Any, np.ndarray]] = {}
        self._ended: set[Key] = set()  # no longer shared, and looked at for the last time

    def open(self) -> None:
        """From now on, memory is copied when it is first shared, too: it may be written in the same line."""
        self._end = self._engine.when_shared(self.note)

    def close(self) -> None:
        """Nothing is copied any more."""
        self._copies.clear()
        if self._end is not None:
            self._end()
            self._end = None

    def note(self, storage: Storage, shown: set[int] | None = None) -> None:
        """Copy ``storage`` as it is. Of a large one, the cells ``shown``."""
        flat = self._engine.bits(storage)
        if flat is None:
            return
        which: Any = slice(None)
        if flat.nbytes > MOST_BYTES:
            which = np.array(sorted(shown or (0, flat.size - 1)))
        # Bits, so that a NaN is what it was; taken by numpy's own allocator, which no meter counts.
        self._copies[self._engine.key(storage)] = self._engine.weak(storage, _ignore), which, flat[which].copy()

    def is_watched(self, storage: Storage) -> bool:
        """Return True if ``storage`` has been copied, so that a write of the engine's own must be noted."""
        return self._engine.key(storage) in self._copies

    def storages(self) -> list[Storage]:
        """Those that are shared now, and once more those that were: an array may have come and gone in one line."""
        there = self._engine.shared_storages()
        keys = {self._engine.key(storage) for storage in there}
        self._ended &= self._copies.keys() - keys
        for key in self._copies.keys() - keys:
            storage = self._copies[key][0]()
            if key in self._ended or storage is None or self._engine.key(storage) != key:
                del self._copies[key]
            else:
                self._ended.add(key)
                there.append(storage)
        return there

    def changed(self, storage: Storage, shown: set[int]) -> np.ndarray:
        """The cells that are other than when they were noted; they are noted anew."""
        which, then = self._noted(storage)
        flat = self._engine.bits(storage)
        if then is None or flat is None:
            self.note(storage, shown)
            return np.array([], int)
        found = np.flatnonzero(flat[which] != then)
        if found.size or not isinstance(which, slice):
            self.note(storage, shown)
        return found if isinstance(which, slice) else which[found]

    def wrote(self, storage: Storage, written: Layout | np.ndarray) -> None:
        """The engine itself wrote: what it ``written`` says is noted, and nothing else."""
        which, then = self._noted(storage)
        now = self._engine.bits(storage)
        if then is None or now is None:
            return
        if not isinstance(which, slice):
            self.note(storage, set(which.tolist()))
        elif isinstance(written, np.ndarray):
            then[written] = now[written]
        elif 0 not in written.shape:
            low, _ = cells.reach(*written)
            if low < written.offset:  # walks backwards
                self.note(storage)
            else:
                _at(then, written)[...] = _at(now, written)

    def _noted(self, storage: Storage) -> tuple[Any, np.ndarray | None]:
        """Which cells of a storage were noted, and their bits then; None where nothing was."""
        key = self._engine.key(storage)
        ref, which, then = self._copies.get(key, (_gone, None, None))
        alive = ref()
        return (which, then) if alive is not None and self._engine.key(alive) == key else (None, None)


def _at(flat: np.ndarray, layout: Layout) -> np.ndarray:
    """The cells that a layout reads."""
    strides = [stride * flat.itemsize for stride in layout.strides]
    return as_strided(flat[layout.offset :], layout.shape, strides)


def _gone() -> None:
    """In place of a weak reference, where there is none."""


def _ignore(ref: Any) -> None:
    """Its end is noticed when it is asked for."""
