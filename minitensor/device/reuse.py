"""Big buffers of the host are kept for the next request of their size.

The operating system hands out memory page by page, each filled with zeros when it is first written. From 32 MiB on the
C library gives memory back to it at once, so an operation on a big tensor spends as long on new pages as on numbers.
A buffer that is kept has its pages already: relu of 10000x10000 takes .6 of the time.

* A buffer is kept when the last array that shows any of it is gone, and not before. Every array that numpy makes of
  another holds on to what it shows; so what is exported to numpy, by DLPack or as a buffer, and any view of it, all
  hold on to the :class:`Loan` that owns the memory, and only the end of that gives it back.
* What is kept holds old numbers. :func:`empty` is for whoever writes every element before anybody looks.
* What is kept counts as reserved, not as allocated. It is bounded by ``kept.limit``; and where a buffer of another size
  has to be made, old ones go until all of it is no more than the program has needed at one time before.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from minitensor.device.counters import Peaks, cpu_meter, cpu_peaks


def _address(memory: np.ndarray) -> int:
    return memory.__array_interface__["data"][0]  # `.ctypes` may import, which Python refuses at its end


class Kept:
    """Memory that nobody uses.

    Attributes:
        least: bytes of the smallest buffer that is kept. Smaller ones the C library keeps itself.
        limit: bytes that may be kept in all; 0 keeps nothing.
    """

    __slots__ = ("least", "limit", "_memory", "_peaks")

    def __init__(self, peaks: Peaks) -> None:
        self.least = 32 << 20
        self.limit = 1 << 30
        self._memory: dict[int, np.ndarray] = {}  # by address, the oldest first
        self._peaks = peaks

    def serves(self, nbytes: int) -> bool:
        """Whether a buffer of that size would be kept."""
        return self.least <= nbytes <= self.limit

    # A buffer may come back at any moment, also while one is being looked for: the garbage collector can end a loan.
    # So every step below is one that Python does not interrupt, and what was seen before it is not relied upon.

    def keep(self, memory: np.ndarray) -> None:
        """Take over ``memory``, which nobody looks at any more."""
        if self.serves(memory.nbytes):
            self._peaks.keep(memory.nbytes)
            self._memory[_address(memory)] = memory
            self.trim(self.limit)

    def give(self, nbytes: int) -> np.ndarray | None:
        """Memory of just that size, the newest first; None when there is none."""
        for address in reversed(list(self._memory)):
            memory = self._memory.get(address)
            if memory is not None and memory.nbytes == nbytes and self._memory.pop(address, None) is not None:
                self._peaks.keep(-nbytes)
                return memory
        return None

    def trim(self, limit: int) -> None:
        """Give memory back to the C library, the oldest first, until no more than ``limit`` bytes are kept."""
        for address in list(self._memory):
            if self._peaks.kept <= limit:
                return
            memory = self._memory.pop(address, None)
            if memory is not None:
                self._peaks.keep(-memory.nbytes)


kept = Kept(cpu_peaks)


class Loan:
    """What numpy takes for the owner of an array's memory: when the last array on it is gone, the memory is kept."""

    __slots__ = ("__array_interface__", "_memory", "__weakref__")

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": memory.shape,
            "data": (_address(memory), False),
        }

    def __del__(self, _kept: Kept = kept) -> None:
        _kept.keep(self._memory)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array to be written in full, contiguous, on memory that was kept if there is any of its size."""
    nbytes = math.prod(shape) * dtype.itemsize
    if not kept.serves(nbytes):
        return np.empty(shape, dtype)
    memory = kept.give(nbytes)
    if memory is None:
        cpu_peaks.settle()
        kept.trim(max(cpu_peaks.ever - cpu_meter.allocated - nbytes, 0))
        memory = np.empty(nbytes, np.uint8)
    # Of this array and of every view of it the base is one and the same array, whose own base is the loan.
    return np.ndarray(shape, dtype, np.asarray(Loan(memory)))


def is_whole(array: np.ndarray) -> bool:
    """Whether ``array`` shows all of a buffer, whoever else does: it has its memory or, on the host, all of a loan."""
    base = array.base
    return base is None or (type(base) is ndarray and type(base.base) is Loan and array.nbytes == base.nbytes)
