"""Count the bytes of live storages: the current number and the peak.

Every storage adds its bytes when it is created and subtracts them when it is freed; nothing is estimated. Gradients
that backward has computed and not passed on yet are counted, too. Scratch memory inside one numpy call or one gradient
rule, which is freed before the operation returns, is not counted.
"""

from __future__ import annotations


class Meter:
    """The byte counters of one device. Callers assign to the attributes, because calling a method would take longer.

    Threads lose no updates: CPython switches threads only at function calls and loop iterations, and callers do neither
    between reading a counter and writing it.
    """

    __slots__ = ("allocated", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0


#: The meter of host memory.
cpu_meter = Meter()


class Peaks:
    """The peaks of host memory before the last :meth:`settle`. :data:`cpu_meter` has the peak of the time after it.

    Attributes:
        allocated, reserved: the maximum of allocated bytes, and the maximum of reserved bytes, since the last reset.
        ever: the maximum of allocated bytes since the start, regardless of resets.
        cached: the bytes that are now reserved but not allocated.
    """

    __slots__ = ("allocated", "reserved", "ever", "cached")

    def __init__(self) -> None:
        self.allocated = self.reserved = self.ever = self.cached = 0

    def settle(self) -> None:
        """Include the peak of the meter in these peaks, and restart the peak of the meter."""
        peak, cpu_meter.peak = cpu_meter.peak, cpu_meter.allocated  # in one statement, because another thread may count
        self.allocated = max(self.allocated, peak)
        self.reserved = max(self.reserved, peak + self.cached)
        self.ever = max(self.ever, peak)

    def add_cached(self, nbytes: int) -> None:
        """Change the number of cached bytes by ``nbytes``, which may be negative."""
        self.settle()
        self.cached += nbytes


cpu_peaks = Peaks()
