"""The storages that a trace shows, their cells, the writes to these cells, and the meters of their memory.

A trace shows the GPU's meter if at least one of its storages is on a GPU, which is known only at the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memory_stage.engines.protocol import Engine, GpuMeter, Key, Storage
from memory_stage.model import changes
from memory_stage.model.covers import Cover
from memory_stage.model.entries import Event, StorageEntry
from memory_stage.model.journal import Journal
from memory_stage.trace import cells
from memory_stage.trace.cells import Raster

SAMPLES = 40_000  # the largest number of sample cells in a recording; after these, events get no raster


class Storages:
    """The storages that a trace shows.

    Attributes:
        entries: the entries of storages, by the engine's key.
        meters: the meters of host memory and of the GPU.
        bytes_before: the bytes of the storages in host memory that existed before the first step.
        bytes_of_others_freed: the bytes of freed storages in host memory that the trace does not show.
    """

    def __init__(self, engine: Engine, journal: Journal) -> None:
        self.entries: dict[Key, StorageEntry] = {}
        self.meters = Meters(engine)
        self.bytes_before = 0
        self.bytes_of_others_freed = 0
        self._engine = engine
        self._journal = journal
        self._samples_left = SAMPLES

    # ---------- registering and freeing ----------

    def alloc(self, storage: Storage) -> StorageEntry:
        """Register a new storage."""
        journal, block = self._journal, self._engine.block(storage)
        event: Event = {
            "do": "storage",
            "id": journal.new_id(""),
            "length": block.length,
            "itemsize": block.itemsize,
            "bytes": block.nbytes,
            "dtype": block.dtype,
            "values": {},
        }
        if block.counted == 0 < block.nbytes:
            event["borrowed"] = True
        if block.version:
            event["version"] = block.version
        event["device"] = self.meters.register(block.gpu)
        entry = StorageEntry(
            event["id"], block.length, event["bytes"], block.version, event, journal.step, counted=block.counted
        )
        shown = range(block.length) if entry.is_small else (0, block.length - 1)
        entry.known.update(shown)
        event["values"] = self._texts(storage, sorted(entry.known))
        self.entries[self._engine.key(storage)] = entry
        journal.events.append(event)
        if journal.step >= 0:
            journal.facts.append(changes.Allocated(entry))
        return entry

    def is_registered(self, storage: Storage) -> bool:
        """True if the trace shows a storage."""
        return self._engine.key(storage) in self.entries

    def entry_of(self, storage: Storage) -> StorageEntry:
        """Return the entry of a storage. Add a missing one, for a version counter or for a storage that existed before
        the first step.
        """
        entry = self.entries.get(self._engine.key(storage))
        if entry is not None:
            return entry
        below = self._engine.below(storage)
        if below is not None:
            return self._add_counter(storage, self.entry_of(below))
        entry, journal = self.alloc(storage), self._journal
        if journal.step >= 0:
            journal.facts.pop()
            journal.before.append(journal.events.pop())
            entry.step = -1
        block = self._engine.block(storage)
        if block.gpu is None:
            self.bytes_before += block.counted
        else:
            self.meters.add_existing(block.gpu, block.counted)
        return entry

    def _add_counter(self, storage: Storage, below: StorageEntry) -> StorageEntry:
        """Add an entry for a separate version counter of the memory of ``below``. The trace does not show it."""
        version = self._engine.block(storage).version
        entry = StorageEntry(below.id, below.length, below.nbytes, version, below.event, below.step, over=below.root)
        entry.seen_by_tensor = True
        key, entries = self._engine.key(storage), self.entries
        # The engine emits no event when it frees a version counter.
        entry.ref = self._engine.weak(storage, lambda ref: _remove(entries, key, ref))
        self.entries[key] = entry
        return entry

    def free(self, key: Key) -> None:
        """Record that the storage with this key is freed. Do nothing if the trace does not show it."""
        entry = self.entries.pop(key, None)
        if entry is None:
            return
        entry.freed = True
        self._journal.add_freed("storages", entry.id)
        self._journal.facts.append(changes.StorageFreed(entry))

    def free_other(self, on_host: int, on_gpu: tuple[GpuMeter, int] | None) -> None:
        """Count the bytes of a freed storage that the trace does not show."""
        self.bytes_of_others_freed += on_host
        if on_gpu is not None:
            self.meters.free_other(*on_gpu)

    # ---------- cells ----------

    def _texts(self, storage: Storage, indexes: Iterable[int]) -> dict[str, str]:
        """Return the values of some cells of a storage as texts, by cell."""
        indexes = list(indexes)
        numbers = self._engine.numbers(storage, indexes)
        return {str(i): cells.text_of(number) for i, number in zip(indexes, numbers, strict=True)}

    def show_ends(self, entry: StorageEntry, storage: Storage, layout: dict[str, Any]) -> None:
        """Show the first and the last cells of the first few runs of cells in ``layout``.

        Their values are added to the event that wrote them last, which is a write or the allocation.
        """
        entry = entry.root
        self._show_raster(entry, storage, layout)
        if entry.is_small:
            return
        runs, _ = cells.runs_of(layout["shape"], layout["strides"], layout["offset"], cells.MOST_RANGES)
        added = cells.ends(runs) - entry.known
        entry.known |= added
        for index, text in self._texts(storage, added).items():
            for event, cover in reversed(entry.writes):
                if cover.holds(int(index)):
                    event["cells"].setdefault(index, text)
                    break
            else:
                entry.event["values"][index] = text

    def _show_raster(self, entry: StorageEntry, storage: Storage, layout: dict[str, Any]) -> None:
        """Choose sample cells of a large storage by the shape of the first tensor that covers it."""
        if entry.length <= cells.LARGEST_IN_NUMBERS or entry.raster is not None:
            return
        entry.raster = Raster.of_layout(layout["shape"], layout["strides"], layout["offset"], entry.length)
        event = entry.writes[-1][0] if entry.writes else entry.event
        self._sample(entry, storage, event)

    def _sample(self, entry: StorageEntry, storage: Storage, event: Event) -> None:
        """Add the values of the sample cells to an event, except on a GPU, where reading would wait for the GPU."""
        if entry.raster is None or self._engine.block(storage).gpu is not None:
            return
        picked = entry.raster.cells.ravel()
        self._samples_left -= picked.size
        if self._samples_left >= 0:
            event["raster"] = entry.raster.with_values(self._engine.numbers(storage, picked.tolist()))

    def write_event(self, entry: StorageEntry, storage: Storage, cover: Cover) -> Event:
        """Return the event of a write to the cells of ``cover``. ``entry`` must have the new version already."""
        root, runs = entry.root, cover.runs
        event: Event = {"do": "write", "storage": root.id, "cells": {}, "count": cover.count, "version": root.version}
        if root.is_small:
            event["cells"] = self._texts(storage, [i for first, last in runs for i in range(first, last + 1)])
        elif runs:
            shown = runs if len(runs) <= cells.MOST_RANGES else [(runs[0][0], runs[-1][1])]
            event["ranges"] = [list(run) for run in shown]
            root.known |= cells.ends(runs)
            event["cells"] = self._texts(storage, sorted(i for i in root.known if cover.holds(i)))
            if cover.exact and cover.count == root.length:
                root.writes.clear()
            root.writes.append((event, cover))
        self._sample(root, storage, event)
        return event


def _remove(entries: dict[Key, StorageEntry], key: Key, ref: Callable[[], Any]) -> None:
    if key in entries and entries[key].ref is ref:
        del entries[key]


CPU = "cpu"


class Meters:
    """Count allocated bytes and their peak since :meth:`begin`, without resetting the peak that the program can read.

    Attributes:
        start: the bytes that were allocated in host memory at the beginning.
        peak: the most bytes that were allocated in host memory since the beginning.
        used: True if at least one storage of the run is on a GPU.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.start = self.peak = 0
        self.used = False
        self._gpu: GpuMeter | None = None
        self._gpu_peak = 0
        self._others: dict[int, int] = {}  # bytes on a GPU that the trace does not show, by the id of the GPU's meter
        self._others_freed: dict[int, int] = {}  # the part of these bytes that was freed during the run
        self._registered: list[GpuMeter] = []  # references to the meters, so that their ids stay valid

    def begin(self) -> None:
        """Read the meters at the start of the run."""
        self.start = self.peak = self._engine.allocated()
        for gpu in self._engine.gpus():
            self._registered.append(gpu)
            self._others[id(gpu)] = self._others.get(id(gpu), 0) + gpu.counters().allocated
        if self._gpu is None and self._registered:
            # Choose a GPU now: its allocator may release reserved bytes before a storage on it is registered.
            self._gpu = self._registered[-1]
        if self._gpu is not None:
            self._gpu_peak = self._allocated_on(self._gpu)

    def register(self, gpu: GpuMeter | None) -> str:
        """Register the meter of the GPU that a storage is on. Return the device's name.

        Args:
            gpu: the meter; None for a storage in host memory.
        """
        if gpu is None:
            return CPU
        self.used = True
        if gpu is not self._gpu:
            self._gpu = gpu
            self._registered.append(gpu)
            self._gpu_peak = self._allocated_on(gpu)
        return gpu.name

    def add_existing(self, gpu: GpuMeter, counted: int) -> None:
        """Subtract the bytes of a shown storage from those on ``gpu`` that the trace does not show."""
        self._others[id(gpu)] = self._others.get(id(gpu), 0) - counted

    def free_other(self, gpu: GpuMeter, counted: int) -> None:
        """Count a freed storage on ``gpu`` that the trace does not show."""
        self._others_freed[id(gpu)] = self._others_freed.get(id(gpu), 0) + counted

    def _allocated_on(self, gpu: GpuMeter) -> int:
        """Return the bytes allocated on ``gpu``, plus those of freed storages that the trace does not show."""
        return gpu.counters().allocated + self._others_freed.get(id(gpu), 0)

    def update(self, others_freed: int) -> None:
        """Update the peaks after an event.

        Args:
            others_freed: the bytes of freed storages in host memory that the trace does not show.
        """
        self.peak = max(self.peak, self._engine.allocated() + others_freed)
        if self._gpu is not None:
            self._gpu_peak = max(self._gpu_peak, self._allocated_on(self._gpu))

    def reading(self) -> dict[str, int]:
        """Return ``allocated``, ``peak`` and ``reserved`` of the GPU; zeros before the program uses one.

        The first two include bytes that the trace does not show: :meth:`shown` subtracts them.
        """
        if self._gpu is None:
            return {"allocated": 0, "peak": 0, "reserved": 0}
        allocated = self._allocated_on(self._gpu)
        return {"allocated": allocated, "peak": self._gpu_peak, "reserved": self._gpu.counters().reserved}

    def shown(self, reading: dict[str, int]) -> dict[str, int]:
        """Return a reading minus the bytes that the trace does not show. They are known only when the run is over."""
        others = self._others.get(id(self._gpu), 0)
        return {**reading, **{name: max(0, reading[name] - others) for name in ("allocated", "peak")}}

    @property
    def device(self) -> str:
        """The name of the device whose memory the trace shows."""
        return self._gpu.name if self.used and self._gpu is not None else CPU
