"""Counts bytes of live storages: now, and at most so far.

Every storage adds its bytes when it is made and takes them away when it is freed; nothing is estimated.
Gradients on their way through backward count too. Scratch memory inside one numpy call or one gradient rule, gone
before the operation returns, is not counted.
"""

from __future__ import annotations


class Meter:
    """Counters of one device, in bytes."""

    __slots__ = ("allocated", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0

    def take(self, nbytes: int) -> None:
        """Count ``nbytes`` bytes more (fewer, when negative)."""
        self.allocated = now = self.allocated + nbytes
        if now > self.peak:
            self.peak = now


#: The meter of the computer's own memory.
cpu_meter = Meter()
