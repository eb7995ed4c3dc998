"""Count tensor memory on the host, under the names of Paddle's GPU counters. All sizes are in bytes.

Memory that a tensor uses is *allocated*. A big buffer that a tensor has released is cached for the next request of the
same size (:mod:`minitensor.engine.device.host_buffer_cache`). Allocated and cached memory together are *reserved*. The
peak of allocated bytes and the peak of reserved bytes are reset separately.

A tensor's bytes are counted when the tensor is created. The operating system may count them later, because a page of
zeros uses no memory until it is written.
"""

from __future__ import annotations

import operator
from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.device import host_buffer_cache, threads
from minitensor.engine.device.counters import cpu_meter, cpu_peaks


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of live storages, and of gradients that ``backward()`` has not passed on yet."""
    return cpu_meter.allocated


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak of allocated bytes since the start, or since the last reset of this peak."""
    return max(cpu_peaks.allocated, cpu_meter.peak)


def memory_reserved(device: Any = None) -> int:
    """Return the number of allocated and cached bytes."""
    return cpu_meter.allocated + cpu_peaks.cached


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak of reserved bytes since the start, or since the last reset of this peak."""
    return max(cpu_peaks.reserved, cpu_meter.peak + cpu_peaks.cached)


def reset_max_memory_allocated(device: Any = None) -> None:
    """Reset the peak of allocated bytes to the current number."""
    cpu_peaks.settle()
    cpu_peaks.allocated = 0


def reset_max_memory_reserved(device: Any = None) -> None:
    """Reset the peak of reserved bytes to the current number."""
    cpu_peaks.settle()
    cpu_peaks.reserved = 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset both peaks to the current numbers."""
    cpu_peaks.settle()
    cpu_peaks.allocated = cpu_peaks.reserved = 0


def empty_cache() -> None:
    """Return cached buffers to the operating system."""
    host_buffer_cache.buffer_cache.trim(0)


def set_reuse_limit(nbytes: int) -> None:
    """Cache at most ``nbytes`` bytes of big buffers (32 MiB or more each) for later requests; 0 caches none.

    The default is 1 GiB. If more is cached than a new limit allows, the excess is freed at once.

    Raises:
        TypeError, ValueError: if ``nbytes`` is not an integer, or is negative.
    """
    host_buffer_cache.buffer_cache.limit = limit = _count("set_reuse_limit", "nbytes", nbytes, 0)
    host_buffer_cache.buffer_cache.trim(limit)


def get_reuse_limit() -> int:
    """Return the limit that :func:`set_reuse_limit` sets, in bytes."""
    return host_buffer_cache.buffer_cache.limit


def set_num_threads(n: int) -> None:
    """Compute elementwise operations on big tensors (16 MiB or more) in ``n`` threads, including the calling thread.

    The default is one thread for each core that the process may use, but at most 4; the environment variable
    ``MINITENSOR_NUM_THREADS`` sets another number. The results are bitwise the same for any number.

    Raises:
        TypeError, ValueError: if ``n`` is not an integer, or is less than 1.
    """
    threads.threads.number = _count("set_num_threads", "n", n, 1)


def get_num_threads() -> int:
    """Return the number of threads for elementwise operations on big tensors."""
    return threads.threads.number


def _count(op: str, what: str, given: Any, least: int) -> int:
    try:
        number = None if isinstance(given, bool) else operator.index(given)
    except (AttributeError, TypeError):
        number = None
    if number is None:
        raise TypeError(f"{op}: {what} must be an integer, not {shown(given)}")
    if number < least:
        raise ValueError(f"{op}: {what} must be {least} or more, not {shown(number)}")
    return number


def synchronize(device: Any = None) -> None:
    """Do nothing: an operation on the host has finished when it returns."""
