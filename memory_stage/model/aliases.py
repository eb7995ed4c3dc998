"""The books of a recording, second part: who looks at a storage, that is tensors, and numpy arrays on shared memory."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import numpy as np

from memory_stage.engines.protocol import Engine, Key, Look, Tensor
from memory_stage.model import changes
from memory_stage.model.entries import Group, StorageEntry, TensorEntry
from memory_stage.model.holders import SOMETHING, holder_of
from memory_stage.model.memory import Memory

MOST_ASKED = 20  # times that the heap is searched for holders


class Aliases(Memory):
    """Memory, and who looks at it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.tensors: dict[int, TensorEntry] = {}
        self.arrays: dict[int, TensorEntry] = {}  # numpy's, on memory that is shared
        self._asked = 0
        self.touched: dict[Group, None] = {}  # whose members or states have changed in this step
        self.labels: Counter[str] = Counter()  # of memory states
        self._groups: dict[Key | None, Group] = {}  # by the engine's key of those that it has grouped

    # ---------- tensors ----------

    def meet(self, x: Tensor, op: str = "", group: Group | None = None) -> TensorEntry:
        """The entry of a tensor. One that has gone to another storage since is told to have moved."""
        entry = self.tensors.get(id(x))
        if entry is not None:
            if self.entry_of(x) is not entry.storage:
                self._move(x, entry)
            elif self.engine.version(x) != entry.storage.version:
                self.wrote_unheard(x, entry)
            return entry
        kept = self.engine.storage(x)
        storage = self._storage(kept)
        storage.seen_by_tensor = True
        if group is None:
            group = self._group(x, storage)
        key = id(x)
        # The callback outlives neither: it holds an id and a weak reference to the books.
        me = weakref.ref(self)
        ref = weakref.ref(x, lambda _: _alias_gone(me, key, "tensors"))
        entry = TensorEntry(self._new_id("t"), ref, group, self._look(x, storage), op, run=self.run)
        self.tensors[key] = entry
        group.members[key] = storage.aliases[key] = entry
        self.touched[group] = None
        entry.event = event = {"do": "tensor", "id": entry.id, "storage": storage.id, **entry.look}
        # Met only now on an old storage: a view is new, anything else was there before.
        was_there = storage.root.step < 0 <= self.step and not op
        (self.before if was_there else self.events).append(event)
        entry.step = -1 if was_there else self.step
        self._show_ends(storage, kept, entry.look)
        if self.engine.version(x) != storage.version:
            self.wrote_unheard(x, entry)
        return entry

    def entry_of(self, x: Tensor) -> StorageEntry | None:
        """The entry of the storage that a tensor looks at, if there is one yet."""
        return self.storages.get(self.engine.key(self.engine.storage(x)))

    def wrote_unheard(self, x: Tensor, entry: TensorEntry) -> None:
        """The version moved and no write was told, as when an optimizer updates the averages that it keeps."""
        raise NotImplementedError

    def _group(self, x: Tensor, storage: StorageEntry) -> Group:
        key = self.engine.group(x)
        if key is not None:
            group = self._groups.get(key)
            if group is not None and any(self._belongs(entry.ref(), key) for entry in group.members.values()):
                return group
        group = Group(self._new_id("f"), storage)
        storage.groups.append(group)
        self.touched[group] = None
        if key is not None:
            self._found(group, key)
        return group

    def _belongs(self, x: Tensor | None, key: Key) -> bool:
        return x is not None and self.engine.group(x) == key

    def _found(self, group: Group, key: Key) -> None:
        group.key = key
        self._groups[key] = group

    def _join(self, x: Tensor, entry: TensorEntry, group: Group) -> None:
        """The tensor leaves its group for another one."""
        key = id(x)
        entry.group.members.pop(key, None)
        entry.storage.aliases.pop(key, None)
        self.touched |= {entry.group: None, group: None}
        entry.group = group
        group.members[key] = group.storage.aliases[key] = entry
        if entry.names:
            self.name_group(entry)

    def name_group(self, entry: TensorEntry) -> None:
        """A tensor got its first name: states without a name of their own are called by it."""
        group = entry.group
        if not group.label:
            group.label = entry.short_name
            for version, state in group.states.items():
                if state.step == self.step or entry.look["leaf"]:
                    self.labels[state.label] -= 1
                    state.event["label"] = label = f"{group.label}@{version}"
                    self.labels[label] += 1

    def _move(self, x: Tensor, entry: TensorEntry) -> None:
        """The tensor looks at another storage than before."""
        old, left = dict(entry.look), entry.storage
        kept, version = self.engine.storage(x), self.engine.version(x)
        storage = self._storage(kept)
        storage.seen_by_tensor = True
        if storage.version != version:  # a new one, whose version was raised after it was told of
            storage.version = storage.event["version"] = version
        self._join(x, entry, self._group(x, storage))
        entry.look = look = self._look(x, storage)
        event = {"do": "retensor", "id": entry.id, "storage": storage.id}
        event |= _changes(old, look)
        # What it left may be freed already: it is gone from there first.
        freed_since = left.root.freed and self.events and self.events[-1]["do"] == "free"
        self.events.insert(len(self.events) - bool(freed_since), event)
        self._show_ends(storage, kept, look)
        if left.root is not storage.root:
            self.facts.append(changes.Moved("", entry, old, left.root))

    def _look(self, x: Tensor, storage: StorageEntry) -> dict[str, Any]:
        own = {} if storage.over is None else {"version": self.engine.version(x)}
        return {**own, **_as_told(self.engine.look(x))}

    def _refresh(self, x: Tensor, entry: TensorEntry) -> None:
        """Tell of a tensor's shape, strides and wish for a gradient when they have changed."""
        look = self._look(x, entry.storage)
        changed = _changes(entry.look, look)
        if not changed:
            return
        entry.look = look
        self.touched[entry.group] = None
        if entry.step == self.step:
            entry.event.update(changed)
        else:
            self.events.append({"do": "retensor", "id": entry.id, **changed})
        self._show_ends(entry.storage, self.engine.storage(x), look)

    # ---------- arrays of numpy ----------

    def meet_array(self, array: np.ndarray) -> TensorEntry | None:
        """The entry of a numpy array on the memory of a storage; None for an array that shares nothing with one."""
        storage = self.engine.storage_behind(array)
        if storage is None:
            return None
        kept = self._storage(storage)
        key = id(array)
        entry = self.arrays.get(key)
        if entry is not None and entry.storage is kept:
            return entry
        look = _as_told(self.engine.look_of_array(storage, array))
        me = weakref.ref(self)
        ref = weakref.ref(array, lambda _: _alias_gone(me, key, "arrays"))
        entry = TensorEntry(self._new_id("t"), ref, Group("", kept), look, run=self.run)
        self.arrays[key] = kept.aliases[key] = entry
        entry.event = {"do": "tensor", "id": entry.id, "storage": kept.id, **look, "outside": "numpy"}
        self.events.append(entry.event)
        self._show_ends(kept, storage, look)
        return entry

    def aliases_of(self, storage: StorageEntry) -> list[TensorEntry]:
        """Tensors and arrays on the memory of ``storage``, also those that count versions of their own."""
        counters = [each for each in self.storages.values() if each.over is storage]
        return [entry for each in (storage, *counters) for entry in each.aliases.values()]

    def holder_of(self, entry: TensorEntry) -> str:
        """Who holds a tensor without a name, in words. Asked of the whole heap, and so not often."""
        if entry.names or entry.held:
            entry.holder = ""
        elif not entry.holder:
            value = entry.ref()
            if value is None or self._asked >= MOST_ASKED:
                return SOMETHING
            self._asked += 1
            entry.holder = holder_of(value)
        return entry.holder or SOMETHING

    def tell_holders(self) -> None:
        """Tell of those who hold tensors that no name stands for."""
        for entry in list(self.tensors.values()):
            known = entry.holder
            self.holder_of(entry)
            if entry.holder not in (known, "", SOMETHING):
                self.events.append({"do": "retensor", "id": entry.id, "holder": entry.holder})

    # ---------- gone ----------

    def looker_gone(self, key: int, kind: str) -> None:
        """A tensor or an array (as ``kind`` says) is freed."""
        entry = getattr(self, kind).pop(key, None)
        if entry is not None:
            self._let_go(key, entry)

    def _let_go(self, key: int, entry: TensorEntry) -> None:
        entry.freed = True
        entry.group.members.pop(key, None)
        if not entry.is_array:
            self.touched[entry.group] = None
        entry.storage.aliases.pop(key, None)
        self._freed("tensors", entry.id)
        self.facts.append(changes.TensorFreed(entry))

    def free_known(self, key: Key) -> None:
        """A storage is gone. An array of numpy that had lent it goes on without the trace."""
        entry = self.storages.get(key)
        for number, alias in list(entry.aliases.items()) if entry is not None else ():
            if alias.is_array and self.arrays.pop(number, None) is not None:
                self._let_go(number, alias)
        super().free_known(key)


def _alias_gone(books: weakref.ref[Aliases], key: int, kind: str) -> None:
    alive = books()
    if alive is not None:
        alive.gone(lambda: alive.looker_gone(key, kind))


def _changes(old: dict[str, Any], look: dict[str, Any]) -> dict[str, Any]:
    """What is other in a look than it was."""
    changed = {key: value for key, value in look.items() if value != old.get(key)}
    return {**changed, "elements": None} if "elements" in old and "elements" not in look else changed


def _as_told(look: Look) -> dict[str, Any]:
    """In the words of a trace."""
    (shape, strides, offset), dtype, wants_gradient, leaf, elements = look
    own = {} if elements is None else {"elements": elements._asdict()}
    return {
        **own,
        "shape": shape,
        "strides": strides,
        "offset": offset,
        "dtype": dtype,
        "stop_gradient": not wants_gradient,
        "leaf": leaf,
    }
