"""Observe tensor memory: count the bytes of a region or of each line, record all events, or take a snapshot.

    >>> from minitensor import memory
    >>> with memory.measure() as m:           # bytes and allocations of a region
    ...     y = x.relu()
    ...
    >>> m.allocated, m.peak, m.allocations, m.extra_bytes
    >>> @memory.profile                       # a table, line by line
    ... def step(): ...
    >>> with memory.record() as recording:    # every allocation, write and save, with name and line
    ...     step()
    ...     memory.dump_snapshot("step.pickle")    # for PyTorch's memory viewer
    ...
    >>> recording.events, recording.dropped
    >>> memory.snapshot()                     # devices, storages, tensors, and nodes that saved them, as data for JSON

Observation does not change a program: values, versions, lifetimes, allocated bytes, the peak and the counters of
:mod:`minitensor.device` remain the same. A program that does not use this package pays nothing for it.
"""

from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.engine.events import watching
from minitensor.memory.measuring import Bytes, Measure, measure
from minitensor.memory.profiling import ProfileRow as Row
from minitensor.memory.profiling import Table, profile
from minitensor.memory.recording import Recording, record
from minitensor.memory.snapshots import dump_snapshot, snapshot

watching.add(__name__)

__all__ = [
    *("Bytes", "Measure", "MemoryEvent", "Recording", "Row", "Table", "dump_snapshot", "measure", "profile", "record"),
    "snapshot",
]
