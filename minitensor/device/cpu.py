"""Tensor memory in the computer's own memory, under the names Paddle gives its GPU counters. All sizes in bytes.

There is no cache on the host: what a tensor gives back goes to the C library at once. So what is reserved is what is
allocated; their peaks are reset one by one.

What a tensor has is counted when it is made. The operating system may count it later: a page of zeros that nobody has
written yet takes no memory.
"""

from __future__ import annotations

from typing import Any

from minitensor.device.counters import cpu_meter


class _Peaks:
    """The two peaks, up to the last reset of either; since then the meter's own counts for both."""

    __slots__ = ("allocated", "reserved")

    def __init__(self) -> None:
        self.allocated = self.reserved = 0

    def settle(self) -> None:
        """Take over what the meter has seen, and start it again."""
        self.allocated = max(self.allocated, cpu_meter.peak)
        self.reserved = max(self.reserved, cpu_meter.peak)
        cpu_meter.peak = cpu_meter.allocated


_peaks = _Peaks()


def memory_allocated(device: Any = None) -> int:
    """Bytes that live storages, and gradients on their way, hold now."""
    return cpu_meter.allocated


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes held at one time since the start, or since the last reset."""
    return max(_peaks.allocated, cpu_meter.peak)


def memory_reserved(device: Any = None) -> int:
    """The same as :func:`memory_allocated`: nothing is kept for the next request."""
    return cpu_meter.allocated


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes held at one time since the start, or since the last reset of this peak."""
    return max(_peaks.reserved, cpu_meter.peak)


def reset_max_memory_allocated(device: Any = None) -> None:
    """Start the peak again from what is allocated now."""
    _peaks.settle()
    _peaks.allocated = 0


def reset_max_memory_reserved(device: Any = None) -> None:
    """Start the peak of what is reserved again from now."""
    _peaks.settle()
    _peaks.reserved = 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Start both peaks again from now."""
    _peaks.settle()
    _peaks.allocated = _peaks.reserved = 0


def empty_cache() -> None:
    """Nothing is cached on the host, so nothing is given back."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: an operation on the host is done when it returns."""
