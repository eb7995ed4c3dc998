"""Bytes of tensor memory in the computer's own memory, under the names Paddle gives its GPU counters."""

from __future__ import annotations

from minitensor.device.counters import cpu_meter


def memory_allocated() -> int:
    """Bytes that live storages hold now."""
    return cpu_meter.allocated


def max_memory_allocated() -> int:
    """The most bytes held at one time since the start, or since the last reset."""
    return cpu_meter.peak


def reset_max_memory_allocated() -> None:
    """Start the peak again from what is allocated now."""
    cpu_meter.peak = cpu_meter.allocated
