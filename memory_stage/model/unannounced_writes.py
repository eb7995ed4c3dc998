"""Find the writes for which the engine emits no event in the recorded thread.

Numpy and DLPack libraries write shared memory, other threads write any storage, and some operations write without
an event.
"""

from __future__ import annotations

from memory_stage.engines.protocol import Engine, Key, Storage, Tensor
from memory_stage.model import changes
from memory_stage.model.covers import Cover
from memory_stage.model.entries import SaveEntry, StorageEntry, TensorEntry
from memory_stage.model.journal import Journal
from memory_stage.model.saved_tensors import SavedTensors
from memory_stage.model.shared_memory import SharedMemory
from memory_stage.model.storages import Storages
from memory_stage.trace import cells


class UnannouncedWrites:
    """Find unannounced writes by comparing versions and memory, and record them."""

    def __init__(self, engine: Engine, journal: Journal, storages: Storages, saved: SavedTensors) -> None:
        self.shared = SharedMemory(engine)
        self._engine = engine
        self._journal = journal
        self._storages = storages
        self._saved = saved

    def find_by_version(self, x: Tensor, entry: TensorEntry) -> None:
        """Record a write that changed the version of ``x`` without an event, as some optimizers' steps do."""
        storage, kept = entry.storage, self._engine.storage(x)
        before, storage.version = storage.version, self._engine.version(x)
        writes = [fact.op for fact in self._journal.facts if type(fact) is changes.Wrote]
        op = self._engine.writer(kept, storage.version) or (writes or [changes.UNREPORTED_WRITE])[-1]
        cover = Cover([], 0) if op == "_bump_inplace_version" else Cover.all_of(storage.length)
        victims = self._add(storage, kept, cover)
        wanted = not entry.properties["stop_gradient"]
        self._journal.facts.append(changes.Wrote(op, entry, storage, before, cover, victims, None, [], wanted))

    def _add(self, storage: StorageEntry, kept: Storage, cover: Cover) -> list[SaveEntry]:
        """Add the event of a write that changed the version. Return the saved tensors that became stale."""
        self._journal.events.append(self._storages.write_event(storage, kept, cover))
        self.shared.copy(kept, storage.root.known)
        victims, _ = self._saved.judge(storage, preserves=False)
        return victims

    def add_from_other_thread(self, key: Key, version: int) -> None:
        """Record that another thread wrote the storage with this key, which then had the version ``version``."""
        storage = self._storages.entries.get(key)
        aliases = [] if storage is None else storage.aliases.values()
        x = next((x for entry in aliases if not entry.is_array and (x := entry.ref()) is not None), None)
        if storage is None or x is None or version <= storage.version:
            return
        before, storage.version = storage.version, version
        victims = self._add(storage, self._engine.storage(x), Cover.all_of(storage.length))
        facts = self._journal.facts
        last = facts[-1] if facts else None
        if type(last) is changes.Elsewhere and last.storage is storage:
            last.version = version
            last.victims += victims
        else:
            facts.append(changes.Elsewhere(storage, before, version, victims))

    def find_in_shared_memory(self) -> None:
        """Record the cells of shared memory that other libraries have written since the last step."""
        for storage in self.shared.storages():
            entry = self._storages.entries.get(self._engine.key(storage))
            if entry is None:
                continue
            changed = self.shared.changed(storage, entry.known)
            if changed.size:
                self.add_unversioned("", None, entry, storage, Cover.picked(changed))

    def add_unversioned(
        self, op: str, entry: TensorEntry | None, shown: StorageEntry, storage: Storage, cover: Cover
    ) -> None:
        """Add the event and the change of a write that changed no version."""
        event = self._storages.write_event(shown, storage, cover)
        event["unversioned"] = True
        self._journal.events.append(event)
        self._journal.facts.append(self.unversioned(op, entry, shown, cover))

    def unversioned(
        self, op: str, entry: TensorEntry | None, storage: StorageEntry, cover: Cover
    ) -> changes.Unversioned:
        """Return the change for an unversioned write: backward() will read the new values unless it checks them."""
        readable = [
            save for save in storage.saves if save.storage is storage and not save.stale and self._may_be_read(save)
        ]
        used = [save for save in readable if cells.meets(save.event, cover.runs)]
        checked = bool(used) and all(map(self._is_checked, used))
        if not checked:
            self._saved.overwrite_unnoticed(used)
        return changes.Unversioned(op, entry, storage, cover, used, checked)

    def _may_be_read(self, save: SaveEntry) -> bool:
        """True if backward() may still read a saved tensor. The engine knows that even if a release had no event."""
        node = save.node.ref() if save.node.ref is not None else None
        return not save.released and node is not None and not self._engine.is_released(node)

    def _is_checked(self, save: SaveEntry) -> bool:
        """True if backward() will compare a saved tensor with a copy, and therefore notice the write."""
        node = save.node.ref() if save.node.ref is not None else None
        return node is not None and self._engine.is_checked(node, save.position)
