"""Counts bytes of live storages: now, and at most so far.

Every storage adds its bytes when it is made and takes them away when it is freed; nothing is estimated.
Gradients on their way through backward count too. Scratch memory inside one numpy call or one gradient rule, gone
before the operation returns, is not counted.
"""

from __future__ import annotations


class Meter:
    """Counters of one device, in bytes. Who counts does so itself: a call would cost more than the addition.

    Threads lose nothing: CPython changes threads where a function is called or a loop turns, and between reading a
    counter and writing it there is neither.
    """

    __slots__ = ("allocated", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0


#: The meter of the computer's own memory.
cpu_meter = Meter()


class Peaks:
    """What the counts of :data:`cpu_meter` have reached. Since the last :meth:`settle` its own peak tells.

    Attributes:
        allocated, reserved: the most that was allocated, and reserved, up to then.
        ever: the most that was allocated up to then, whatever was reset.
        kept: what is reserved and not allocated, now.
    """

    __slots__ = ("allocated", "reserved", "ever", "kept")

    def __init__(self) -> None:
        self.allocated = self.reserved = self.ever = self.kept = 0

    def settle(self) -> None:
        """Take over what the meter has seen, and start it again."""
        peak, cpu_meter.peak = cpu_meter.peak, cpu_meter.allocated  # at once: another thread may count in between
        self.allocated = max(self.allocated, peak)
        self.reserved = max(self.reserved, peak + self.kept)
        self.ever = max(self.ever, peak)

    def keep(self, nbytes: int) -> None:
        """From now on so many bytes more (fewer, when negative) are kept."""
        self.settle()
        self.kept += nbytes


cpu_peaks = Peaks()
