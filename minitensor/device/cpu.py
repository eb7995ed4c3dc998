"""Tensor memory in the computer's own memory, under the names Paddle gives its GPU counters. All sizes in bytes.

What is allocated is what tensors hold. Big buffers that tensors gave back are kept for the next request of their size
(:mod:`minitensor.device.reuse`): they are reserved and not allocated. The two peaks are reset one by one.

What a tensor has is counted when it is made. The operating system may count it later: a page of zeros that nobody has
written yet takes no memory.
"""

from __future__ import annotations

from typing import Any

from minitensor.device import reuse, threads
from minitensor.device.counters import cpu_meter, cpu_peaks


def memory_allocated(device: Any = None) -> int:
    """Bytes that live storages, and gradients on their way, hold now."""
    return cpu_meter.allocated


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes held at one time since the start, or since the last reset."""
    return max(cpu_peaks.allocated, cpu_meter.peak)


def memory_reserved(device: Any = None) -> int:
    """Bytes that are allocated, and those of big buffers that are kept for the next request."""
    return cpu_meter.allocated + cpu_peaks.kept


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes reserved at one time since the start, or since the last reset of this peak."""
    return max(cpu_peaks.reserved, cpu_meter.peak + cpu_peaks.kept)


def reset_max_memory_allocated(device: Any = None) -> None:
    """Start the peak again from what is allocated now."""
    cpu_peaks.settle()
    cpu_peaks.allocated = 0


def reset_max_memory_reserved(device: Any = None) -> None:
    """Start the peak of what is reserved again from now."""
    cpu_peaks.settle()
    cpu_peaks.reserved = 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Start both peaks again from now."""
    cpu_peaks.settle()
    cpu_peaks.allocated = cpu_peaks.reserved = 0


def empty_cache() -> None:
    """Give the buffers that are kept back to the operating system."""
    reuse.kept.trim(0)


def set_reuse_limit(nbytes: int) -> None:
    """Keep at most so many bytes of big buffers (from 32 MiB on) for the next request; 0 keeps none.

    1 GiB to begin with. What is kept beyond a new limit is given back at once.

    Raises:
        TypeError, ValueError: ``nbytes`` is no integer, or negative.
    """
    reuse.kept.limit = limit = _count("set_reuse_limit", "nbytes", nbytes, 0)
    reuse.kept.trim(limit)


def get_reuse_limit() -> int:
    """The most bytes of big buffers that are kept."""
    return reuse.kept.limit


def set_num_threads(n: int) -> None:
    """Compute element by element on big tensors (from 16 MiB on) in so many threads; 1 starts none.

    To begin with, one for each core that the process may use, but no more than 4; the environment variable
    ``MINITENSOR_NUM_THREADS`` sets another number. Results are the same, bit for bit, whatever the number.

    Raises:
        TypeError, ValueError: ``n`` is no integer, or less than 1.
    """
    threads.threads.number = _count("set_num_threads", "n", n, 1)


def get_num_threads() -> int:
    """How many threads compute element by element on big tensors."""
    return threads.threads.number


def _count(op: str, what: str, given: Any, least: int) -> int:
    try:
        number = None if isinstance(given, bool) else given.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None:
        raise TypeError(f"{op}: {what} is an integer, not {given!r}")
    if number < least:
        raise ValueError(f"{op}: {what} is {least} or more, not {number}")
    return number


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: an operation on the host is done when it returns."""
