"""The books of a recording, first part: storages and tensors, the cells that are shown and those that were written.

Tensors are read without their properties, which may bring a view's history up to date.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.device.arrays import host_array
from minitensor.dtypes import BY_NUMPY
from minitensor.history import Leaf, peek
from minitensor.notebook.recording import cells, facts
from minitensor.notebook.recording.entries import Event, Family, StorageEntry, TensorEntry
from minitensor.notebook.recording.meters import Meters
from minitensor.storage import Storage
from minitensor.tensor import Tensor

MOST_PICKED = 10_000  # cells that an index picks are told apart; of more, the first and the last


def _shows_all_of_it(x: Tensor) -> bool:
    """Whether ``peek(x)`` is the value of ``x`` itself and not of a family that it is a view in."""
    history = x._history
    return history is None or x._seen == history.epoch or x._array is history.founder


class Memory:
    """Storages and tensors. ``events`` and ``facts`` fill up during a step; ``close_step`` empties them."""

    def __init__(self) -> None:
        self.before: list[Event] = []
        self.events: list[Event] = []
        self.facts: list[Any] = []
        self.storages: dict[int, StorageEntry] = {}
        self.tensors: dict[int, TensorEntry] = {}
        self.bytes_before = 0
        self.bytes_of_others_freed = 0
        self.meters = Meters()
        self.step = -1  # -1 while it is noted what was there before
        self.line = 1  # of the running statement
        self.run = 0  # number of its execution
        #: Called when the interpreter frees a tensor, with what there is to be noted.
        self.gone: Callable[[Callable[[], None]], None] = at_once
        self._counts: dict[str, int] = {}
        self._families: list[Family] = []

    def _new_id(self, letter: str) -> str:
        self._counts[letter] = number = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def close_step(self) -> tuple[list[Event], list[Any]]:
        """The events and facts of the step that ends."""
        done = self.events, self.facts
        self.events, self.facts = [], []
        self.step += 1
        return done

    # ---------- storages ----------

    def alloc(self, storage: Storage) -> StorageEntry:
        """A storage is there."""
        buffer = storage.buffer
        event: Event = {
            "do": "storage",
            "id": str(len(self.storages) + self._counts.get("gone", 0) + 1),
            "length": buffer.size,
            "itemsize": buffer.itemsize,
            "bytes": storage.nbytes,
            "dtype": _dtype(buffer),
            "values": {},
        }
        if storage.version:
            event["version"] = storage.version
        event["device"] = self.meters.meet(buffer)
        entry = StorageEntry(event["id"], buffer.size, storage.nbytes, storage.version, event, self.step)
        shown = range(buffer.size) if entry.is_small else (0, buffer.size - 1)
        entry.known.update(shown)
        event["values"] = cells.read(buffer, sorted(entry.known))
        self.storages[id(storage)] = entry
        self.events.append(event)
        if self.step >= 0:
            self.facts.append(facts.Allocated(entry))
        return entry

    def free(self, storage: Storage) -> None:
        """A storage is on its way out."""
        entry = self.storages.pop(id(storage), None)
        if entry is None:
            self.bytes_of_others_freed += storage.nbytes
            return
        self._counts["gone"] = self._counts.get("gone", 0) + 1
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
        if entry is None:
            entry = self.alloc(storage)
            if self.step >= 0:
                self.facts.pop()
                self.before.append(self.events.pop())
                entry.step = -1
            self.bytes_before += storage.nbytes
        return entry

    def _show_ends(self, entry: StorageEntry, buffer: np.ndarray, look: dict[str, Any]) -> None:
        """Give the cells at the ends of what ``look`` shows the number they have had since they were last written."""
        if entry.is_small:
            return
        runs, _ = cells.runs_of(look["shape"], look["strides"], look["offset"], cells.MOST_RANGES)
        news = cells.ends(runs) - entry.known
        entry.known |= news
        for index, text in cells.read(buffer, news).items():
            for event, written in reversed(entry.writes):
                if any(first <= int(index) <= last for first, last in written):
                    event["cells"].setdefault(index, text)
                    break
            else:
                entry.event["values"][index] = text

    def _write_event(self, x: Tensor, entry: StorageEntry, where: Any) -> tuple[Event, int, list[cells.Run], bool]:
        buffer = x._storage.buffer
        runs, count, exact = _written(x, buffer, where)
        event: Event = {"do": "write", "storage": entry.id, "cells": {}, "count": count, "version": entry.version}
        if entry.is_small:
            event["cells"] = cells.read(buffer, [i for first, last in runs for i in range(first, last + 1)])
        elif runs:
            told = runs if len(runs) <= cells.MOST_RANGES else [(runs[0][0], runs[-1][1])]
            event["ranges"] = [list(run) for run in told]
            entry.known |= cells.ends(runs)
            written = [i for i in entry.known if any(first <= i <= last for first, last in runs)]
            event["cells"] = cells.read(buffer, sorted(written))
            entry.writes.append((event, runs))
        return event, count, runs, exact

    # ---------- tensors ----------

    def meet(self, x: Tensor, op: str = "", family: Family | None = None) -> TensorEntry:
        """The entry of a tensor."""
        entry = self.tensors.get(id(x))
        if entry is not None:
            return entry
        storage = self._storage(x._storage)
        storage.seen_by_tensor = True
        if family is None:
            family = self._family(x, storage)
        key = id(x)
        # The callback outlives neither: it holds an id and a weak reference to the books.
        me = weakref.ref(self)
        ref = weakref.ref(x, lambda _: _tensor_gone(me, key))
        entry = TensorEntry(self._new_id("t"), ref, family, self._look(x, storage), op, run=self.run)
        self.tensors[key] = entry
        family.members[key] = entry
        entry.event = event = {"do": "tensor", "id": entry.id, "storage": storage.id, **entry.look}
        # Met only now on an old storage: a view is new, anything else was there before.
        was_there = storage.step < 0 <= self.step and not op
        (self.before if was_there else self.events).append(event)
        self._show_ends(storage, x._storage.buffer, entry.look)
        return entry

    def _family(self, x: Tensor, storage: StorageEntry) -> Family:
        history = x._history
        if history is not None:
            for family in self._families:
                if family.history == id(history) and family.members:
                    return family
        family = Family(self._new_id("f"), storage, history=None if history is None else id(history))
        self._families.append(family)
        return family

    def _look(self, x: Tensor, storage: StorageEntry) -> dict[str, Any]:
        array = x._array
        shape, strides, offset = cells.layout(array, x._storage.buffer)
        node = peek(x)
        return {
            "shape": shape,
            "strides": strides,
            "offset": offset,
            "dtype": _dtype(array),
            "stop_gradient": node is None,
            "leaf": node is None or (type(node) is Leaf and _shows_all_of_it(x)),
        }

    def tensor_gone(self, key: int) -> None:
        entry = self.tensors.pop(key, None)
        if entry is None:
            return
        entry.freed = True
        entry.family.members.pop(key, None)
        if not entry.family.members:
            self._families.remove(entry.family)
        self._freed("tensors", entry.id)
        self.facts.append(facts.TensorFreed(entry))

    def _refresh(self, x: Tensor, entry: TensorEntry) -> None:
        """Tell of a tensor's shape, strides and wish for a gradient when they have changed."""
        look = self._look(x, entry.storage)
        changed = {key: value for key, value in look.items() if value != entry.look[key]}
        if not changed:
            return
        entry.look = look
        if entry.event in self.events:
            entry.event.update(changed)
        else:
            self.events.append({"do": "retensor", "id": entry.id, **changed})
        self._show_ends(entry.storage, x._storage.buffer, look)


def at_once(tell: Callable[[], None]) -> None:
    tell()


def _tensor_gone(memory: weakref.ref[Memory], key: int) -> None:
    alive = memory()
    if alive is not None:
        alive.gone(lambda: alive.tensor_gone(key))


def _dtype(array: np.ndarray) -> str:
    return BY_NUMPY[array.dtype].name if array.dtype in BY_NUMPY else array.dtype.name


def _written(x: Tensor, buffer: np.ndarray, where: Any) -> tuple[list[cells.Run], int, bool]:
    """The runs of cells that a write through ``x`` covered, rising; how many cells; whether the runs hold no others."""
    if where is None or not isinstance(where, tuple):
        array = x._array if where is None else where
        shape, strides, offset = cells.layout(array, buffer)
        runs, total = cells.runs_of(shape, strides, offset, cells.SMALL)
        if total > cells.SMALL:
            return [cells.reach(shape, strides, offset)], array.size, False
        return cells.merged(runs), array.size, True
    picked = np.unique(_positions(x, buffer, where))
    if picked.size > MOST_PICKED:
        return [(int(picked[0]), int(picked[-1]))], picked.size, False
    return cells.merged((i, i) for i in picked.tolist()), picked.size, True


def _positions(x: Tensor, buffer: np.ndarray, where: Any) -> np.ndarray:
    """The cells that an index array or a mask picks, without an array of the size of ``x``."""
    shape, strides, offset = cells.layout(x._array, buffer)
    found = np.asarray(offset)
    where = tuple(host_array(each) if hasattr(each, "dtype") else each for each in where)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        along = (np.arange(n) * stride).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        found = found + np.broadcast_to(along, shape)[where]
    return found
