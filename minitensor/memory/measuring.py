"""How many bytes a region of a program takes: ``with memory.measure() as m: ...``.

The counters that a program reads and resets are left alone: a measure adds up what the engine tells while it is open.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from minitensor.device.places import device_named, get_device
from minitensor.events import Hearing
from minitensor.memory.changes import Change, change_told


class Bytes:
    """What happened to the memory of one device since a moment.

    Attributes (bytes, unless said otherwise):
        allocated: how many more are allocated now than then (fewer, when negative).
        peak: the most that were allocated at one time since then, more than at the start; 0 or more.
        allocations: how many allocations there were (a number).
        extra_bytes: what these took together, whether it was freed again or not. 0 for a program that works in place.
    """

    __slots__ = ("allocated", "peak", "allocations", "extra_bytes")

    def __init__(self) -> None:
        self.allocated = self.peak = self.allocations = self.extra_bytes = 0

    def add(self, change: Change) -> None:
        """One change more."""
        self.allocated += change.nbytes
        if change.made:
            self.allocations += 1
            self.extra_bytes += change.nbytes
        if self.allocated > self.peak:
            self.peak = self.allocated

    def __repr__(self) -> str:
        return (
            f"allocated {self.allocated:+,}, peak {self.peak:,}, {self.allocations} "
            f"allocation{'' if self.allocations == 1 else 's'} of {self.extra_bytes:,} bytes"
        )


class Measure(Hearing):
    """A context manager; made by :func:`measure`. Its figures can be read while it is open, and afterwards.

    ``m.allocated``, ``m.peak``, ``m.allocations`` and ``m.extra_bytes`` are those of ``m.device``, as :class:`Bytes`
    says; ``m["cpu"]`` and ``m["gpu:sim"]`` are the :class:`Bytes` of any device.

    On the host an allocation is a storage that was made. Gradients on their way through backward count as allocated,
    and in the peak, until they arrive. On a GPU an allocation is a block of its allocator, rounded as the allocator
    rounds; scratch memory inside an operation counts, too.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._of: dict[str, Bytes] = {}

    def __enter__(self) -> Measure:
        self.open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def hear(self, kind: str, *arguments: Any) -> None:
        """What has happened."""
        change = change_told(kind, arguments)
        if change is not None:
            self._of.setdefault(change.device, Bytes()).add(change)

    def __getitem__(self, device: str) -> Bytes:
        return self._of.get(device) or Bytes()

    @property
    def devices(self) -> list[str]:
        """The names of the devices on which something happened."""
        return sorted(self._of)

    @property
    def allocated(self) -> int:
        """How many bytes more are allocated at the end."""
        return self[self.device].allocated

    @property
    def peak(self) -> int:
        """The most that was allocated at one time, in bytes more than at the start."""
        return self[self.device].peak

    @property
    def allocations(self) -> int:
        """How many allocations there were."""
        return self[self.device].allocations

    @property
    def extra_bytes(self) -> int:
        """The bytes of all allocations together."""
        return self[self.device].extra_bytes

    def __repr__(self) -> str:
        told = [f"{name}: {self[name]!r}" for name in dict.fromkeys((self.device, *self.devices))]
        return f"Measure({'; '.join(told)})"


def measure(device: Any = None) -> Measure:
    """Measure what the ``with`` block does to memory. Measures may be nested; errors pass through.

    Args:
        device: whose figures ``m.allocated`` and the like are; by default the device where new tensors are made.

    Raises:
        ValueError: there is no such device.
    """
    return Measure(name_of("measure", device))


def name_of(op: str, device: Any) -> str:
    """The full name of ``device``; None: of the device where new tensors are made."""
    if device is None:
        return get_device()
    gpu = device_named(op, device)
    return "cpu" if gpu is None else gpu.name
