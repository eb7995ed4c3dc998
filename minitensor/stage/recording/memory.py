"""The books of a recording, first part: storages, the cells that are shown and those that were written."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.core.storage import Storage
from minitensor.dtypes import BY_NUMPY
from minitensor.stage.recording import cells, facts
from minitensor.stage.recording.covers import Cover
from minitensor.stage.recording.entries import Event, StorageEntry
from minitensor.stage.recording.meters import Meters


class Memory:
    """Storages. ``events`` and ``facts`` fill up during a step; ``close_step`` empties them."""

    def __init__(self) -> None:
        self.before: list[Event] = []
        self.events: list[Event] = []
        self.facts: list[Any] = []
        self.storages: dict[int, StorageEntry] = {}
        self.bytes_before = 0
        self.bytes_of_others_freed = 0
        self.meters = Meters()
        self.step = -1  # -1 while it is noted what was there before
        self.line = 1  # of the running statement
        self.run = 0  # number of its execution
        #: Called when the interpreter frees a tensor, with what there is to be noted.
        self.gone: Callable[[Callable[[], None]], None] = at_once
        self._counts: dict[str, int] = {}

    def _new_id(self, letter: str) -> str:
        self._counts[letter] = number = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def close_step(self) -> tuple[list[Event], list[Any]]:
        """The events and facts of the step that ends."""
        done = self.events, self.facts
        self.events, self.facts = [], []
        self.step += 1
        return done

    # ---------- coming and going ----------

    def alloc(self, storage: Storage) -> StorageEntry:
        """A storage is there."""
        buffer = storage.buffer
        event: Event = {
            "do": "storage",
            "id": self._new_id(""),
            "length": buffer.size,
            "itemsize": buffer.itemsize,
            "bytes": storage.nbytes or buffer.nbytes,
            "dtype": dtype_name(buffer),
            "values": {},
        }
        if storage.nbytes == 0 < buffer.nbytes:
            event["borrowed"] = True
        if storage.version:
            event["version"] = storage.version
        event["device"] = self.meters.meet(buffer)
        entry = StorageEntry(
            event["id"], buffer.size, event["bytes"], storage.version, event, self.step, counted=storage.nbytes
        )
        shown = range(buffer.size) if entry.is_small else (0, buffer.size - 1)
        entry.known.update(shown)
        event["values"] = cells.read(buffer, sorted(entry.known))
        self.storages[id(storage)] = entry
        self.events.append(event)
        if self.step >= 0:
            self.facts.append(facts.Allocated(entry))
        return entry

    def knows(self, storage: Storage) -> bool:
        """Whether the trace shows a storage."""
        return id(storage) in self.storages

    def free(self, storage: Storage) -> None:
        """A storage is on its way out."""
        entry = self.storages.pop(id(storage), None)
        if entry is None:
            self.bytes_of_others_freed += storage.nbytes
            return
        entry.freed = True
        self._freed("storages", entry.id)
        self.facts.append(facts.StorageFreed(entry))

    def _freed(self, kind: str, id_: str) -> None:
        if not self.events or self.events[-1]["do"] != "free":
            self.events.append({"do": "free", "tensors": [], "storages": []})
        self.events[-1][kind].append(id_)

    def _storage(self, storage: Storage) -> StorageEntry:
        """The entry of a storage; one that was never told of was there before the first step."""
        entry = self.storages.get(id(storage))
        if entry is not None:
            return entry
        below = getattr(storage, "of", None)
        if below is not None:
            return self._counter(storage, self._storage(below))
        entry = self.alloc(storage)
        if self.step >= 0:
            self.facts.pop()
            self.before.append(self.events.pop())
            entry.step = -1
        self.bytes_before += storage.nbytes
        return entry

    def _counter(self, storage: Storage, below: StorageEntry) -> StorageEntry:
        """An entry for what counts versions of its own over the memory of ``below`` and is no storage to look at."""
        entry = StorageEntry(
            below.id, below.length, below.nbytes, storage.version, below.event, below.step, over=below.root
        )
        entry.seen_by_tensor = True
        key, entries = id(storage), self.storages
        # Nothing tells when it goes: it is not counted.
        entry.ref = weakref.ref(storage, lambda ref: _no_more(entries, key, ref))
        self.storages[key] = entry
        return entry

    # ---------- cells ----------

    def _show_ends(self, entry: StorageEntry, buffer: np.ndarray, look: dict[str, Any]) -> None:
        """Give the cells at the ends of what ``look`` shows the number they have had since they were last written."""
        entry = entry.root
        if entry.is_small:
            return
        runs, _ = cells.runs_of(look["shape"], look["strides"], look["offset"], cells.MOST_RANGES)
        news = cells.ends(runs) - entry.known
        entry.known |= news
        for index, text in cells.read(buffer, news).items():
            for event, cover in reversed(entry.writes):
                if cover.holds(int(index)):
                    event["cells"].setdefault(index, text)
                    break
            else:
                entry.event["values"][index] = text

    def _write_event(self, entry: StorageEntry, buffer: np.ndarray, cover: Cover) -> Event:
        """The event of a write that covered these cells; ``entry`` has its version already."""
        root, runs = entry.root, cover.runs
        event: Event = {"do": "write", "storage": root.id, "cells": {}, "count": cover.count, "version": root.version}
        if root.is_small:
            event["cells"] = cells.read(buffer, [i for first, last in runs for i in range(first, last + 1)])
        elif runs:
            told = runs if len(runs) <= cells.MOST_RANGES else [(runs[0][0], runs[-1][1])]
            event["ranges"] = [list(run) for run in told]
            root.known |= cells.ends(runs)
            event["cells"] = cells.read(buffer, sorted(i for i in root.known if cover.holds(i)))
            if cover.exact and cover.count == root.length:
                root.writes.clear()
            root.writes.append((event, cover))
        return event


def at_once(tell: Callable[[], None]) -> None:
    """Note it now."""
    tell()


def _no_more(entries: dict[int, StorageEntry], key: int, ref: Any) -> None:
    if key in entries and entries[key].ref is ref:
        del entries[key]


def dtype_name(array: np.ndarray) -> str:
    """``float32``, also for what tensors do not hold."""
    return BY_NUMPY[array.dtype].name if array.dtype in BY_NUMPY else array.dtype.name
