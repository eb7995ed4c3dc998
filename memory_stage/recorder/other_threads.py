"""Queue the events of other threads until the recorded thread adds them to the ledger."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from memory_stage.engines.events import Alloc, Event, Free, Omission, Write
from memory_stage.engines.protocol import Engine, GpuMeter, Key
from memory_stage.model import changes
from memory_stage.model.ledger import Ledger


class OtherThreads:
    """A queue of changes. Every thread may append to it, and the recorded thread applies the changes."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine = engine
        self._ledger = ledger
        self._queue: deque[Callable[[], None]] = deque()
        self._freed_early: set[Key] = set()  # keys of storages that were freed before their allocation was applied

    def add(self, event: Event) -> None:
        """Append an event of the engine. The queue stores only keys and weak references."""
        engine, ledger, storages = self._engine, self._ledger, self._ledger.storages
        storages.meters.update(storages.bytes_of_others_freed)
        match event:
            case Alloc(storage):
                self._queue.append(partial(self._alloc, engine.key(storage), engine.weak(storage, _ignore)))
            case Free(storage):
                sizes = engine.freed(storage), engine.freed_on_gpu(storage)
                self._queue.append(partial(self._free, engine.key(storage), *sizes))
            case Write(x):
                key, version = engine.key(engine.storage(x)), engine.version(x)
                self._queue.append(partial(ledger.unannounced.add_from_other_thread, key, version))
            case Omission(reason):
                self._queue.append(lambda: ledger.journal.facts.append(changes.Unseen(reason)))

    def add_freed(self, record: Callable[[], None]) -> None:
        """Append a function that records a freed tensor or node."""
        self._queue.append(record)

    def apply(self) -> None:
        """Add the queued changes to the ledger."""
        while self._queue:
            self._queue.popleft()()

    def _alloc(self, key: Key, alive: Callable[[], Any]) -> None:
        storage = alive()
        if storage is None:
            self._freed_early.add(key)
        elif not self._ledger.storages.is_registered(storage):
            self._ledger.alloc_on_other_thread(storage)

    def _free(self, key: Key, size: int, on_gpu: tuple[GpuMeter, int] | None) -> None:
        storages = self._ledger.storages
        if key in storages.entries:
            self._ledger.free_key(key)
        elif key in self._freed_early:
            self._freed_early.discard(key)
        else:
            storages.free_other(size, on_gpu)


def _ignore(ref: Any) -> None:
    """Do nothing when a storage is freed, because the engine reports it with the event ``Free``."""
