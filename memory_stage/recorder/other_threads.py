"""Events of other threads, which the thread that is recorded adds to the ledger."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from memory_stage.engines.protocol import Engine, Key
from memory_stage.model import changes
from memory_stage.model.ledger import Ledger


class OtherThreads:
    """A queue of events. Any thread may add to it, and the recorded thread applies it."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine = engine
        self._ledger = ledger
        self._queue: deque[tuple[Any, ...]] = deque()
        self._made: set[Key] = set()  # storages that were freed before their allocation was applied

    def add(self, kind: str, *arguments: Any) -> None:
        """Add an event of the engine; the queue gets keys and weak references only."""
        engine, storages = self._engine, self._ledger.storages
        storages.meters.update(storages.bytes_of_others_freed)
        if kind == "alloc":
            (storage,) = arguments
            self._queue.append((kind, engine.key(storage), engine.weak(storage, _ignore)))
        elif kind == "free":
            (storage,) = arguments
            self._queue.append((kind, engine.key(storage), engine.freed(storage), engine.freed_there(storage)))
        elif kind == "write":
            storage = engine.storage(arguments[0])
            self._queue.append((kind, engine.key(storage), engine.version(arguments[0])))
        elif kind == "unseen":
            self._queue.append((kind, *arguments))

    def add_freed(self, record: Callable[[], None]) -> None:
        """Add a function that records a freed tensor or node."""
        self._queue.append(("freed", record))

    def apply(self) -> None:
        """Add the queued events to the ledger."""
        ledger, storages = self._ledger, self._ledger.storages
        while self._queue:
            kind, *given = self._queue.popleft()
            if kind == "freed":
                given[0]()
            elif kind == "unseen":
                ledger.journal.facts.append(changes.Unseen(*given))
            elif kind == "write":
                ledger.unannounced.add_from_other_thread(*given)
            elif kind == "alloc":
                key, alive = given
                storage = alive()
                if storage is None:
                    self._made.add(key)
                elif not storages.is_registered(storage):
                    ledger.alloc_on_other_thread(storage)
            elif given[0] in storages.entries:
                ledger.free_key(given[0])
            elif given[0] in self._made:
                self._made.discard(given[0])
            else:
                storages.free_other(given[1], given[2])


def _ignore(ref: Any) -> None:
    """Ignore that a storage is freed: the engine emits an event."""
