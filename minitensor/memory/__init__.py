"""Observe tensor memory: the bytes of a region, the bytes of each line, all events in order, and the present state.

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
    >>> memory.snapshot()                     # devices, storages, tensors, nodes that saved them: ready for JSON

Observing changes nothing: values, versions, lifetimes, allocated bytes and peak are the same as without it, and the
counters of :mod:`minitensor.device` are not touched. It has no cost while nothing observes.
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
