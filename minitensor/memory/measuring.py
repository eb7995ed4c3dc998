"""Measure the bytes that a region of a program allocates: ``with memory.measure() as m: ...``.

A measure counts the engine's events. It neither reads nor resets the counters of :mod:`minitensor.device`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from minitensor.engine import checks
from minitensor.engine.device.places import device_named, get_device
from minitensor.engine.events import Event, Subscription
from minitensor.memory.changes import MemoryChange, change_of


class Bytes:
    """Memory statistics of one device since the start of a measure.

    Attributes (bytes, unless stated otherwise):
        allocated: the increase of the allocated bytes since the start (negative for a decrease).
        peak: the maximum of that increase since the start; 0 or more.
        allocations: the number of allocations.
        extra_bytes: the sum of all allocations, even if the memory was freed again; 0 if all work was in place.
    """

    __slots__ = ("allocated", "peak", "allocations", "extra_bytes")

    def __init__(self) -> None:
        self.allocated = self.peak = self.allocations = self.extra_bytes = 0

    def add(self, change: MemoryChange) -> None:
        """Count one change of the allocated bytes."""
        self.allocated += change.nbytes
        if change.is_allocation:
            self.allocations += 1
            self.extra_bytes += change.nbytes
        if self.allocated > self.peak:
            self.peak = self.allocated

    def __repr__(self) -> str:
        return (
            f"allocated {self.allocated:+,}, peak {self.peak:,}, {self.allocations} "
            f"allocation{'' if self.allocations == 1 else 's'} of {self.extra_bytes:,} bytes"
        )


class Measure(Subscription):
    """The context manager that :func:`measure` returns. Its figures can be read inside the block and afterwards.

    ``m.allocated``, ``m.peak``, ``m.allocations`` and ``m.extra_bytes`` are the figures of ``m.device``, as
    :class:`Bytes` describes them; ``m["cpu"]`` and ``m["gpu:sim"]`` are the :class:`Bytes` of any device.

    On the host, an allocation is a new storage. Gradients that ``backward()`` has computed and not passed on yet
    count for ``allocated`` and ``peak``, but not as allocations. On a GPU, an allocation is a block of the allocator;
    its size is rounded up, and temporary memory inside an operation also counts.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._of: dict[str, Bytes] = {}

    def __enter__(self) -> Measure:
        self.open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def on_event(self, event: Event) -> None:
        """Count the bytes that an event allocates or frees."""
        change = change_of(event)
        if change is not None:
            self._of.setdefault(change.device, Bytes()).add(change)

    def __getitem__(self, device: str) -> Bytes:
        return self._of.get(checks.text("Measure", "device", device)) or Bytes()

    @property
    def devices(self) -> list[str]:
        """The names of the devices on which memory was allocated or freed."""
        return sorted(self._of)

    @property
    def allocated(self) -> int:
        """The increase of the allocated bytes since the start."""
        return self[self.device].allocated

    @property
    def peak(self) -> int:
        """The maximum of ``allocated`` since the start; 0 or more."""
        return self[self.device].peak

    @property
    def allocations(self) -> int:
        """The number of allocations."""
        return self[self.device].allocations

    @property
    def extra_bytes(self) -> int:
        """The sum of the bytes of all allocations."""
        return self[self.device].extra_bytes

    def __repr__(self) -> str:
        figures = [f"{name}: {self[name]!r}" for name in dict.fromkeys((self.device, *self.devices))]
        return f"Measure({'; '.join(figures)})"


def measure(device: Any = None) -> Measure:
    """Measure the memory use of the ``with`` block. Measures may be nested. An error in the block is not caught.

    Args:
        device: the device of ``m.allocated`` and the other figures; by default, the device for new tensors.

    Raises:
        ValueError: if there is no such device.
    """
    return Measure(name_of("measure", device))


def name_of(op: str, device: Any) -> str:
    """Return the full name of ``device``; None means the device for new tensors."""
    if device is None:
        return get_device()
    gpu = device_named(op, device)
    return "cpu" if gpu is None else gpu.name
