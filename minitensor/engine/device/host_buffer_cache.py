"""A cache of big host buffers. A freed buffer is reused for a request of the same size.

The operating system provides memory page by page, and fills each page with zeros when it is first written. The C
library returns freed blocks of 32 MiB or more to the system at once, so an operation on a big tensor spends as much
time on new pages as on its numbers. A cached buffer already has its pages, so relu of a 10000x10000 tensor takes 0.6
times as long.

* A buffer returns to the cache only when the last array on it is freed. A :class:`Loan` owns the memory. Every view
  refers to the array from which numpy derived it, and so, directly or indirectly, to the loan. Exports of the
  memory (to numpy, by DLPack or as a buffer) keep the loan alive in the same way.
* A cached buffer contains old values. Use :func:`empty` only if every element is written before it is read.
* Cached bytes count as reserved, not as allocated. At most ``buffer_cache.limit`` bytes are cached. Before a new buffer
  is allocated, cached buffers are freed, so that allocated and cached bytes together do not exceed the program's peak
  of allocated bytes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from minitensor.engine.device.counters import Peaks, cpu_meter, cpu_peaks


def _address(memory: np.ndarray) -> int:
    return memory.__array_interface__["data"][0]  # `.ctypes` may import a module, which fails while Python shuts down


class BufferCache:
    """Unused host buffers.

    Attributes:
        least: a buffer is cached if it has at least this many bytes. The C library itself caches smaller buffers.
        limit: the maximum of cached bytes; 0 disables the cache.
    """

    __slots__ = ("least", "limit", "_memory", "_peaks")

    def __init__(self, peaks: Peaks) -> None:
        self.least = 32 << 20
        self.limit = 1 << 30
        self._memory: dict[int, np.ndarray] = {}  # keyed by address, the oldest first
        self._peaks = peaks

    def serves(self, nbytes: int) -> bool:
        """True if a buffer of ``nbytes`` would be cached."""
        return self.least <= nbytes <= self.limit

    # The garbage collector may free a loan at any moment, so `put` may run even during a lookup. Therefore each step of
    # the following methods is atomic in Python, and no step relies on a state that an earlier step has read.

    def put(self, memory: np.ndarray) -> None:
        """Add ``memory``, which no array uses any more."""
        if self.serves(memory.nbytes):
            self._peaks.add_cached(memory.nbytes)
            self._memory[_address(memory)] = memory
            self.trim(self.limit)

    def take(self, nbytes: int) -> np.ndarray | None:
        """Remove and return the newest buffer of exactly ``nbytes``; return None if there is none."""
        for address in reversed(list(self._memory)):
            memory = self._memory.get(address)
            if memory is not None and memory.nbytes == nbytes and self._memory.pop(address, None) is not None:
                self._peaks.add_cached(-nbytes)
                return memory
        return None

    def trim(self, limit: int) -> None:
        """Free buffers, the oldest first, until no more than ``limit`` bytes are cached."""
        for address in list(self._memory):
            if self._peaks.cached <= limit:
                return
            memory = self._memory.pop(address, None)
            if memory is not None:
                self._peaks.add_cached(-memory.nbytes)


buffer_cache = BufferCache(cpu_peaks)


class Loan:
    """The owner of an array's memory. When the last array on this memory is freed, the memory returns to the cache."""

    __slots__ = ("__array_interface__", "_memory", "__weakref__")

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": memory.shape,
            "data": (_address(memory), False),
        }

    def __del__(self, _cache: BufferCache = buffer_cache) -> None:
        _cache.put(self._memory)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialized contiguous array, on a cached buffer if there is a buffer of exactly this size."""
    nbytes = math.prod(shape) * dtype.itemsize
    if not buffer_cache.serves(nbytes):
        return np.empty(shape, dtype)
    memory = buffer_cache.take(nbytes)
    if memory is None:
        cpu_peaks.settle()
        buffer_cache.trim(max(cpu_peaks.ever - cpu_meter.allocated - nbytes, 0))
        memory = np.empty(nbytes, np.uint8)
    # The base of the returned array and of all its views is the array of bytes, and the base of that array is the loan.
    return np.ndarray(shape, dtype, np.asarray(Loan(memory)))


def is_whole(array: np.ndarray) -> bool:
    """True if ``array`` covers a whole buffer: it owns its memory, or it covers all memory of a :class:`Loan`."""
    base = array.base
    return base is None or (type(base) is ndarray and type(base.base) is Loan and array.nbytes == base.nbytes)
