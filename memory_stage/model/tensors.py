"""Tensors, the objects that refer to them, numpy arrays on shared memory, and the view groups of tensors."""

from __future__ import annotations

import gc
import types
import weakref
from collections import Counter
from typing import Any

import numpy as np

from memory_stage.engines.protocol import Engine, Key, StorageView, Tensor
from memory_stage.messages import Text, message
from memory_stage.model import changes
from memory_stage.model.entries import StorageEntry, TensorEntry, ViewGroup
from memory_stage.model.journal import Journal
from memory_stage.model.storages import Storages
from memory_stage.model.unannounced_writes import UnannouncedWrites

MOST_SEARCHES = 20  # the most searches of the heap, in one recording, for objects that refer to unnamed tensors


class Tensors:
    """The tensors and arrays of a trace.

    Attributes:
        entries: the entries of tensors, by id.
        arrays: the entries of numpy arrays, by id.
        touched: groups whose members or states have changed in this step.
        labels: the number of memory states with each label.
    """

    def __init__(self, engine: Engine, journal: Journal, storages: Storages, unannounced: UnannouncedWrites) -> None:
        self.entries: dict[int, TensorEntry] = {}
        self.arrays: dict[int, TensorEntry] = {}
        self.touched: dict[ViewGroup, None] = {}
        self.labels: Counter[Text] = Counter()
        self._engine = engine
        self._journal = journal
        self._storages = storages
        self._unannounced = unannounced
        self._searches = 0
        self._groups: dict[Key | None, ViewGroup] = {}  # the groups, by the engine's key

    # ---------- tensors ----------

    def register(
        self, x: Tensor, op: str = "", group: ViewGroup | None = None, *, is_written: bool = False
    ) -> TensorEntry:
        """Return the entry of a tensor, or add one. Record a move to another storage or a write since the last call.

        If ``is_written``, the caller records the last write.
        """
        entry = self.entries.get(id(x))
        if entry is not None:
            if self.storage_of(x) is not entry.storage:
                self._move(x, entry)
            elif self._engine.version(x) != entry.storage.version:
                self._unannounced.find_by_version(x, entry)
            return entry
        journal, kept = self._journal, self._engine.storage(x)
        storage = self._storages.entry_of(kept)
        storage.seen_by_tensor = True
        if group is None:
            group = self.group_of(x, storage)
        key = id(x)
        # The callback refers only to an id and to a weak reference, so that it keeps neither tensor nor recording
        # alive.
        me = weakref.ref(self)
        ref = weakref.ref(x, lambda _: _on_alias_freed(me, key, "entries"))
        entry = TensorEntry(journal.new_id("t"), ref, group, self._properties_of(x, storage), op, run=journal.run)
        self.entries[key] = entry
        group.members[key] = storage.aliases[key] = entry
        self.touched[group] = None
        entry.event = event = {"do": "tensor", "id": entry.id, "storage": storage.id, **entry.properties}
        # If no operation made the tensor, and its storage existed before the first step, then the tensor also did.
        existed = storage.root.step < 0 <= journal.step and not op
        (journal.before if existed else journal.events).append(event)
        entry.step = -1 if existed else journal.step
        self._storages.show_ends(storage, kept, entry.properties)
        if self._engine.version(x) not in (storage.version, storage.version + is_written):
            self._unannounced.find_by_version(x, entry)
        return entry

    def storage_of(self, x: Tensor) -> StorageEntry | None:
        """Return the entry of a tensor's storage; None if it has none."""
        return self._storages.entries.get(self._engine.key(self._engine.storage(x)))

    def _move(self, x: Tensor, entry: TensorEntry) -> None:
        old, left = dict(entry.properties), entry.storage
        kept, version = self._engine.storage(x), self._engine.version(x)
        storage = self._storages.entry_of(kept)
        storage.seen_by_tensor = True
        if storage.version != version:  # a new storage whose version was incremented after its event
            storage.version = storage.event["version"] = version
        self.join(x, entry, self.group_of(x, storage))
        entry.properties = properties = self._properties_of(x, storage)
        event = {"do": "retensor", "id": entry.id, "storage": storage.id}
        event |= _changes(old, properties)
        # If the old storage has been freed, the tensor left it before that.
        events = self._journal.events
        freed_since = left.root.freed and events and events[-1]["do"] == "free"
        events.insert(len(events) - bool(freed_since), event)
        self._storages.show_ends(storage, kept, properties)
        if left.root is not storage.root:
            self._journal.facts.append(changes.Moved("", entry, old, left.root))

    def _properties_of(self, x: Tensor, storage: StorageEntry) -> dict[str, Any]:
        own = {} if storage.over is None else {"version": self._engine.version(x)}
        return {**own, **_as_event(self._engine.storage_view(x))}

    def refresh(self, x: Tensor, entry: TensorEntry) -> None:
        """Record a tensor's shape, strides and need for a gradient if they have changed."""
        properties = self._properties_of(x, entry.storage)
        changed = _changes(entry.properties, properties)
        if not changed:
            return
        entry.properties = properties
        self.touched[entry.group] = None
        if entry.step == self._journal.step:
            entry.event.update(changed)
        else:
            self._journal.events.append({"do": "retensor", "id": entry.id, **changed})
        self._storages.show_ends(entry.storage, self._engine.storage(x), properties)

    # ---------- groups ----------

    def group_of(self, x: Tensor, storage: StorageEntry) -> ViewGroup:
        """Return the group of a tensor on ``storage``; add it if it is new."""
        key = self._engine.group(x)
        if key is not None:
            group = self._groups.get(key)
            if group is not None and any(self._belongs(entry.ref(), key) for entry in group.members.values()):
                return group
        group = ViewGroup(self._journal.new_id("f"), storage)
        storage.groups.append(group)
        self.touched[group] = None
        if key is not None:
            self.set_key(group, key)
        return group

    def _belongs(self, x: Tensor | None, key: Key) -> bool:
        return x is not None and self._engine.group(x) == key

    def set_key(self, group: ViewGroup, key: Key) -> None:
        """Set the engine's key of a group."""
        group.key = key
        self._groups[key] = group

    def forget_empty(self, group: ViewGroup) -> None:
        """Forget a group that has neither tensors nor states."""
        if not (group.members or group.states) and self._groups.get(group.key) is group:
            del self._groups[group.key]

    def join(self, x: Tensor, entry: TensorEntry, group: ViewGroup) -> None:
        """Move a tensor from its group to another group."""
        key = id(x)
        entry.group.members.pop(key, None)
        entry.storage.aliases.pop(key, None)
        self.touched |= {entry.group: None, group: None}
        entry.group = group
        group.members[key] = group.storage.aliases[key] = entry
        if entry.names:
            self.name_group(entry)

    def name_group(self, entry: TensorEntry) -> None:
        """Label a tensor's group and its states with the tensor's first name, if the group has no label yet.

        Only the states of the running step are labelled; for a leaf, all states are.
        """
        group = entry.group
        if not group.label:
            group.label = entry.short_name
            for version, state in group.states.items():
                if state.step == self._journal.step or entry.properties["leaf"]:
                    self.labels[state.label] -= 1
                    state.event["label"] = label = f"{group.label}@{version}"
                    self.labels[label] += 1

    # ---------- arrays of numpy ----------

    def register_array(self, array: np.ndarray) -> TensorEntry | None:
        """Return the entry of a numpy array; None without a storage of equal itemsize behind it."""
        shared = self._engine.storage_behind(array)
        if shared is None:
            return None
        storage = self._storages.entry_of(shared)
        key = id(array)
        entry = self.arrays.get(key)
        if entry is not None and entry.storage is storage:
            return entry
        properties = _as_event(self._engine.storage_view_of_array(shared, array))
        me = weakref.ref(self)
        ref = weakref.ref(array, lambda _: _on_alias_freed(me, key, "arrays"))
        entry = TensorEntry(self._journal.new_id("t"), ref, ViewGroup("", storage), properties, run=self._journal.run)
        self.arrays[key] = storage.aliases[key] = entry
        entry.event = {"do": "tensor", "id": entry.id, "storage": storage.id, **properties, "outside": "numpy"}
        self._journal.events.append(entry.event)
        self._storages.show_ends(storage, shared, properties)
        return entry

    # ---------- aliases and holders ----------

    def aliases_of(self, storage: StorageEntry) -> list[TensorEntry]:
        """Return all tensors and arrays on the memory of ``storage``, including those with another version counter."""
        counters = [each for each in self._storages.entries.values() if each.over is storage]
        return [entry for each in (storage, *counters) for entry in each.aliases.values()]

    def holder_of(self, entry: TensorEntry) -> Text:
        """Return a phrase for the object that refers to a tensor without a name. The number of searches is limited."""
        if entry.names or entry.running_line:
            entry.holder = ""
        elif not entry.holder:
            value = entry.ref()
            if value is None or self._searches >= MOST_SEARCHES:
                return SOMETHING
            self._searches += 1
            entry.holder = holder_of(value)
        return entry.holder or SOMETHING

    def add_holders(self) -> None:
        """Record the object that refers to each tensor without a name."""
        for entry in list(self.entries.values()):
            known = entry.holder
            self.holder_of(entry)
            if entry.holder not in (known, "", SOMETHING):
                self._journal.events.append({"do": "retensor", "id": entry.id, "holder": entry.holder})

    # ---------- freeing ----------

    def free(self, key: int, kind: str) -> None:
        """Record that a tensor or array is freed. ``kind`` is the attribute that contains its entry."""
        entry = getattr(self, kind).pop(key, None)
        if entry is not None:
            self._free(key, entry)

    def _free(self, key: int, entry: TensorEntry) -> None:
        entry.freed = True
        entry.group.members.pop(key, None)
        if not entry.is_array:
            self.touched[entry.group] = None
        entry.storage.aliases.pop(key, None)
        self._journal.add_freed("tensors", entry.id)
        self._journal.facts.append(changes.TensorFreed(entry))

    def free_arrays(self, storage: StorageEntry) -> None:
        """Drop the entries of arrays on a storage that is freed.

        An array may own the memory and live on, but the trace cannot show it without the storage.
        """
        for key, alias in list(storage.aliases.items()):
            if alias.is_array and self.arrays.pop(key, None) is not None:
                self._free(key, alias)


def _on_alias_freed(tensors: weakref.ref[Tensors], key: int, kind: str) -> None:
    alive = tensors()
    if alive is not None:
        alive._journal.on_freed(lambda: alive.free(key, kind))


def _changes(old: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a tensor that differ from its old ones."""
    changed = {key: value for key, value in properties.items() if value != old.get(key)}
    return {**changed, "elements": None} if "elements" in old and "elements" not in properties else changed


def _as_event(properties: StorageView) -> dict[str, Any]:
    """Return the properties of a tensor in the form that an event has."""
    (shape, strides, offset), dtype, requires_gradient, leaf, elements = properties
    own = {} if elements is None else {"elements": elements._asdict()}
    return {
        **own,
        "shape": shape,
        "strides": strides,
        "offset": offset,
        "dtype": dtype,
        "stop_gradient": not requires_gradient,
        "leaf": leaf,
    }


_KINDS: tuple[tuple[type, Text], ...] = (
    (list, message("a list")),
    (tuple, message("a tuple")),
    (dict, message("a dict")),
    (set, message("a set")),
    (types.CellType, message("a function that closed over it")),
    (types.GeneratorType, message("a generator")),
)

SOMETHING = message("something else")


def holder_of(value: Any) -> Text:
    """Return a phrase for the first container that the garbage collector finds: ``an object of class Net``."""
    for each in gc.get_referrers(value):
        for kind, text in _KINDS:
            if type(each) is kind and not _is_namespace(each):
                return text
        if _is_object(each):
            return message("an object of class {name}", name=type(each).__name__)
    return SOMETHING


def _is_object(holder: Any) -> bool:
    """True if a value is an object of the program, with a dict of attributes or with slots."""
    if isinstance(holder, (types.ModuleType, type, types.FunctionType)):
        return False
    return hasattr(holder, "__dict__") or hasattr(type(holder), "__slots__")


def _is_namespace(container: Any) -> bool:
    """True if a container is the dict of a module's global names."""
    return type(container) is dict and ("__builtins__" in container or "__name__" in container)
