"""Tensor memory, watched: how much a region takes, which line takes it, what happened in order, what is there now.

    >>> from minitensor import memory
    >>> with memory.measure() as m:           # bytes and allocations of a region
    ...     y = x.relu()
    ...
    >>> m.allocated, m.peak, m.allocations, m.extra_bytes
    >>> @memory.profile                       # a table, line by line
    ... def step(): ...
    >>> with memory.record() as recording:    # every allocation, write and saving, with name and line
    ...     step()
    ...     memory.dump_snapshot("step.pickle")    # for PyTorch's memory viewer
    ...
    >>> recording.events, recording.dropped
    >>> memory.snapshot()                     # devices, storages, tensors, who saved them: ready for JSON

Watching changes nothing: values, versions, lifetimes, allocated bytes and peak are those of the unwatched run, and the
counters of :mod:`minitensor.device` are left alone. Nobody pays for it while nobody watches.

May import: all that stands below ``memory``.
"""

from minitensor.device.memory_log import MemoryEvent
from minitensor.events import watching
from minitensor.memory.measuring import Bytes, Measure, measure
from minitensor.memory.profiling import Row, Table, profile
from minitensor.memory.recording import Recording, record
from minitensor.memory.snapshots import dump_snapshot, snapshot

watching.add(__name__)

__all__ = [
    "Bytes",
    "Measure",
    "MemoryEvent",
    "Recording",
    "Row",
    "Table",
    "dump_snapshot",
    "measure",
    "profile",
    "record",
    "snapshot",
]
