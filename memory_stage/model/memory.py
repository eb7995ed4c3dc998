"""The books of a recording, first part: storages, the cells that are shown and those that were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memory_stage.engines.protocol import Engine, Key, Meter, Storage
from memory_stage.model import changes
from memory_stage.model.covers import Cover
from memory_stage.model.entries import Event, StorageEntry
from memory_stage.model.meters import Meters
from memory_stage.trace import cells


class Memory:
    """Storages. ``events`` and ``facts`` fill up during a step; ``close_step`` empties them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.before: list[Event] = []
        self.events: list[Event] = []
        self.facts: list[Any] = []
        self.storages: dict[Key, StorageEntry] = {}
        self.bytes_before = 0
        self.bytes_of_others_freed = 0
        self.meters = Meters(engine)
        self.step = -1  # -1 while it is noted what was there before
        self.line = 1  # of the running statement
        self.run = 0  # number of its execution
        self.otherwise = False  # while an operation is noted that has another name in its vocabulary
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
        block = self.engine.block(storage)
        event: Event = {
            "do": "storage",
            "id": self._new_id(""),
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
        event["device"] = self.meters.meet(block.gpu)
        entry = StorageEntry(
            event["id"], block.length, event["bytes"], block.version, event, self.step, counted=block.counted
        )
        shown = range(block.length) if entry.is_small else (0, block.length - 1)
        entry.known.update(shown)
        event["values"] = self._texts(storage, sorted(entry.known))
        self.storages[self.engine.key(storage)] = entry
        self.events.append(event)
        if self.step >= 0:
            self.facts.append(changes.Allocated(entry))
        return entry

    def knows(self, storage: Storage) -> bool:
        """Whether the trace shows a storage."""
        return self.engine.key(storage) in self.storages

    def free(self, storage: Storage) -> None:
        """A storage is on its way out."""
        if self.knows(storage):
            self.free_known(self.engine.key(storage))
            return
        self.other_freed(self.engine.freed(storage), self.engine.freed_there(storage))

    def other_freed(self, here: int, there: tuple[Meter, int] | None) -> None:
        """A storage that the trace does not show is gone: bytes of the computer's memory, or of a GPU's."""
        self.bytes_of_others_freed += here
        if there is not None:
            self.meters.other_freed(*there)

    def free_known(self, key: Key) -> None:
        """A storage that the trace shows, of this key, is gone."""
        entry = self.storages.pop(key, None)
        if entry is None:
            return
        entry.freed = True
        self._freed("storages", entry.id)
        self.facts.append(changes.StorageFreed(entry))

    def _freed(self, kind: str, id_: str) -> None:
        if not self.events or self.events[-1]["do"] != "free":
            self.events.append({"do": "free", "tensors": [], "storages": []})
        self.events[-1][kind].append(id_)

    def _storage(self, storage: Storage) -> StorageEntry:
        """The entry of a storage; one that was never told of was there before the first step."""
        entry = self.storages.get(self.engine.key(storage))
        if entry is not None:
            return entry
        below = self.engine.below(storage)
        if below is not None:
            return self._counter(storage, self._storage(below))
        entry = self.alloc(storage)
        if self.step >= 0:
            self.facts.pop()
            self.before.append(self.events.pop())
            entry.step = -1
        block = self.engine.block(storage)
        if block.gpu is None:
            self.bytes_before += block.counted
        else:
            self.meters.was_there(block.gpu, block.counted)
        return entry

    def _counter(self, storage: Storage, below: StorageEntry) -> StorageEntry:
        """An entry for what counts versions of its own over the memory of ``below`` and is no storage to look at."""
        version = self.engine.block(storage).version
        entry = StorageEntry(below.id, below.length, below.nbytes, version, below.event, below.step, over=below.root)
        entry.seen_by_tensor = True
        key, entries = self.engine.key(storage), self.storages
        # Nothing tells when it goes: it is not counted.
        entry.ref = self.engine.weak(storage, lambda ref: _no_more(entries, key, ref))
        self.storages[key] = entry
        return entry

    # ---------- cells ----------

    def _texts(self, storage: Storage, indexes: Iterable[int]) -> dict[str, str]:
        """The texts of some cells of a storage, by index."""
        wanted = list(indexes)
        numbers = self.engine.numbers(storage, wanted)
        return {str(i): cells.text_of(number) for i, number in zip(wanted, numbers, strict=True)}

    def _show_ends(self, entry: StorageEntry, storage: Storage, look: dict[str, Any]) -> None:
        """Give the cells at the ends of what ``look`` shows the number they have had since they were last written."""
        entry = entry.root
        if entry.is_small:
            return
        runs, _ = cells.runs_of(look["shape"], look["strides"], look["offset"], cells.MOST_RANGES)
        news = cells.ends(runs) - entry.known
        entry.known |= news
        for index, text in self._texts(storage, news).items():
            for event, cover in reversed(entry.writes):
                if cover.holds(int(index)):
                    event["cells"].setdefault(index, text)
                    break
            else:
                entry.event["values"][index] = text

    def _write_event(self, entry: StorageEntry, storage: Storage, cover: Cover) -> Event:
        """The event of a write that covered these cells; ``entry`` has its version already."""
        root, runs = entry.root, cover.runs
        event: Event = {"do": "write", "storage": root.id, "cells": {}, "count": cover.count, "version": root.version}
        if root.is_small:
            event["cells"] = self._texts(storage, [i for first, last in runs for i in range(first, last + 1)])
        elif runs:
            told = runs if len(runs) <= cells.MOST_RANGES else [(runs[0][0], runs[-1][1])]
            event["ranges"] = [list(run) for run in told]
            root.known |= cells.ends(runs)
            event["cells"] = self._texts(storage, sorted(i for i in root.known if cover.holds(i)))
            if cover.exact and cover.count == root.length:
                root.writes.clear()
            root.writes.append((event, cover))
        return event


def at_once(tell: Callable[[], None]) -> None:
    """Note it now."""
    tell()


def _no_more(entries: dict[Key, StorageEntry], key: Key, ref: Any) -> None:
    if key in entries and entries[key].ref is ref:
        del entries[key]
