"""Keeps the books of a recording: storages, tensors, families, memory states, nodes and what they saved.

It turns what the engine tells into events of a trace (``trace.schema.json``) and into facts for the sentences. It
keeps identities and weak references, never a tensor, a storage, a node or an array, so that watching frees nothing
later than usual. It reads tensors without their properties, which may bring a view's history up to date.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitensor.dtypes import _BY_NUMPY
from minitensor.history import FREED, READ, RELAID, WRITE, Leaf, Node
from minitensor.notebook import cells, facts
from minitensor.operands import CONSTANT
from minitensor.storage import Storage
from minitensor.tensor import Tensor

Event = dict[str, Any]


@dataclass(eq=False)
class StorageEntry:
    """A storage that the trace shows."""

    id: str
    length: int
    nbytes: int
    version: int
    event: Event
    step: int  # in which it was made; -1 for one that was there before
    seen_by_tensor: bool = False
    freed: bool = False
    known: set[int] = field(default_factory=set)  # cells whose numbers are told
    #: Writes so far: event, runs. Only for storages that are not shown whole.
    writes: list[tuple[Event, list[cells.Run]]] = field(default_factory=list)

    @property
    def is_small(self) -> bool:
        return self.length <= cells.SMALL


@dataclass(eq=False)
class Family:
    """Tensors that share one history, and the memory states they have gone through."""

    id: str
    storage: StorageEntry
    label: str = ""
    history: int | None = None  # id of the engine's History, once there is one
    members: dict[int, TensorEntry] = field(default_factory=dict)
    states: dict[int, StateEntry] = field(default_factory=dict)  # by version
    told: tuple[Any, ...] = ()  # what the last family event said


@dataclass(eq=False)
class StateEntry:
    """The numbers of a family at one version."""

    id: str
    family: Family
    version: int
    event: Event
    names: list[str] = field(default_factory=list)
    dropped: bool = False
    gradient: str | None = None  # what has arrived here in backward

    @property
    def label(self) -> str:
        return self.event["label"]


@dataclass(eq=False)
class TensorEntry:
    """A tensor that the trace shows."""

    id: str
    ref: Callable[[], Tensor | None]  # a weak reference
    family: Family
    look: dict[str, Any]
    op: str = ""  # the operation that made it
    names: list[str] = field(default_factory=list)
    last_name: str = ""
    held: str = ""  # "line 5", while only the running line holds it
    was_named: bool = False
    freed: bool = False
    run: int = 0  # the execution of a statement that made it
    event: Event = field(default_factory=dict)
    pending: tuple[str, list[str]] | None = None  # op and states read, while its node is not there yet

    @property
    def storage(self) -> StorageEntry:
        return self.family.storage

    @property
    def name(self) -> str:
        """What to call it: a name it has or had, or the operation that made it."""
        return self.names[0] if self.names else self.last_name


@dataclass(eq=False)
class NodeEntry:
    """A value of the history. Drawn when it is an operation that made a memory state."""

    state: StateEntry
    op: str
    line: int
    drawn: str | None  # id in the trace
    saves: list[SaveEntry] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    of: TensorEntry | None = None  # the tensor whose value it was when first seen
    ref: Callable[[], Node | None] | None = None
    partial: bool = False  # the value of a part of its family's memory
    arrived: Any = None  # the gradient so far, as nested lists of numbers; None when it is long
    dead: bool = False


@dataclass(eq=False)
class SaveEntry:
    """A tensor that a node keeps for backward."""

    id: str
    what: str
    storage: StorageEntry
    version: int
    node: NodeEntry
    state: StateEntry | None = None  # whose numbers they are
    of: TensorEntry | None = None  # a tensor on the same storage, when no state is known
    released: bool = False
    event: Event = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call the numbers."""
        if self.state is not None:
            return self.state.label.rpartition("@")[0]
        return (self.of.name or self.of.op) if self.of is not None else self.what

    @property
    def label(self) -> str:
        """The name with the version at which they were saved: ``a@0``."""
        return f"{self.name}@{self.version}"


def peek(x: Tensor) -> Node | None:
    """The node of the value that ``x`` shows; for a view that is out of date, its family's."""
    history = x._history
    return x._node if history is None or x._seen == history.epoch else history.node


def _shows_all_of_it(x: Tensor) -> bool:
    """Whether ``peek(x)`` is the value of ``x`` itself and not of a family that it is a view in."""
    history = x._history
    return history is None or x._seen == history.epoch or x._array is history.founder


class Ledger:
    """See the module's text. ``events`` and ``facts`` fill up during a step; ``close_step`` empties them."""

    def __init__(self) -> None:
        self.before: list[Event] = []
        self.events: list[Event] = []
        self.facts: list[Any] = []
        self.storages: dict[int, StorageEntry] = {}
        self.tensors: dict[int, TensorEntry] = {}
        self.values: dict[int, NodeEntry] = {}
        self.states: dict[str, StateEntry] = {}
        self.bytes_before = 0
        self.bytes_of_others_freed = 0
        self.step = -1
        self.line = 1
        self.run = 0
        #: Called when the interpreter frees a tensor or a node, with what there is to be noted.
        self.gone: Callable[[Callable[[], None]], None] = _at_once
        self._counts: dict[str, int] = {}
        self._dying: list[NodeEntry] = []
        self._unlabelled: list[SaveEntry] = []
        self._families: list[Family] = []

    def _new_id(self, letter: str) -> str:
        self._counts[letter] = number = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def begin(self) -> None:
        """What was told until now was there before the first step."""
        self.look()
        self.tidy()
        self.before, self.events, self.facts = self.events, [], []
        self.step = 0

    def stop(self) -> None:
        """Look after tensors and nodes no longer."""
        self.gone = _at_once
        for entry in self.tensors.values():
            entry.ref = _gone
        for value in self.values.values():
            value.ref = _gone

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

    def _show_ends(self, entry: StorageEntry, buffer: np.ndarray, runs: list[cells.Run]) -> None:
        """Give cells that become interesting the number they have had since they were last written."""
        if entry.is_small:
            return
        news = cells.ends(runs) - entry.known
        entry.known |= news
        for index, text in cells.read(buffer, news).items():
            for event, written in reversed(entry.writes):
                if any(first <= int(index) <= last for first, last in written):
                    event["cells"].setdefault(index, text)
                    break
            else:
                entry.event["values"][index] = text

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
        # The callback must not hold the ledger's entry of a living tensor by name: the id is enough.
        ref = weakref.ref(x, lambda _, self=weakref.ref(self), key=key: _tensor_gone(self, key))
        entry = TensorEntry(self._new_id("t"), ref, family, self._look(x, storage), op, run=self.run)
        self.tensors[key] = entry
        family.members[key] = entry
        entry.event = event = {"do": "tensor", "id": entry.id, "storage": storage.id, **entry.look}
        (self.events if storage.step >= 0 or self.step < 0 else self._late(op)).append(event)
        self._show_ends(storage, x._storage.buffer, self._runs(entry.look))
        return entry

    def _late(self, op: str) -> list[Event]:
        """Where the tensor on an old storage is told: a view is new, anything else was there before."""
        return self.events if op else self.before

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

    def _runs(self, look: dict[str, Any]) -> list[cells.Run]:
        return cells.runs_of(look["shape"], look["strides"], look["offset"], cells.MOST_RANGES)[0]

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

    # ---------- what operations did ----------

    def made(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """A normal operation made ``x`` on a new storage."""
        given = self._see_all(inputs)
        entry = self.meet(x, op)
        entry.pending = op, self._states_of(inputs)
        self.facts.append(facts.Made(op, entry, given))
        self.see(x)

    def viewed(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """A view made ``x`` on an old storage."""
        given = self._see_all(inputs)
        base = inputs[0]
        together = x._history is not None and x._history is base._history
        family = given[0].family if together and given else None
        if family is not None:
            family.history = id(x._history)
        entry = self.meet(x, op, family)
        self.facts.append(facts.Viewed(op, entry, given[0] if given else None, family is not None))
        self.see(x)

    def wrote(self, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any = None) -> None:
        """An in-place operation wrote through ``x``: every cell of it, or those that ``where`` says."""
        entry = self.meet(x)
        storage = entry.storage
        before, storage.version = storage.version, x._storage.version
        event, count, runs = self._write_event(x, storage, where)
        victims = [
            save
            for value in self.values.values()
            for save in value.saves
            if save.storage is storage and save.version == before and not save.released
        ]
        copies = [
            other.storage
            for other in self.facts
            if type(other) is facts.Allocated and not other.storage.seen_by_tensor and not other.storage.freed
        ]
        old = entry.family.states.get(before)
        reads = [old.id] if old is not None else []
        reads += [state for state in self._states_of(inputs, besides=x) if state not in reads]
        self.events.append(event)
        fact = facts.Wrote(op, entry, storage, before, count, runs, victims, copies)
        self.facts.append(fact)
        history = x._history
        for node in (None if history is None else history.node, x._node):
            if node is not None and id(node) not in self.values:
                drawn = node.op not in (READ, WRITE, RELAID) and type(node) is not Leaf
                value = self._value(node, entry, op if drawn else None, reads)
                value.partial = drawn and history is not None and node is not history.node
                if drawn:
                    fact.node = value
                    self._label_copies(value, old, entry, copies)
                    self._note_reads(node, old, entry)
        self.see(x)
        for y in inputs:
            if _is_shown(y):
                self.see(y)

    def _note_reads(self, node: Node, old: StateEntry | None, entry: TensorEntry) -> None:
        """A view that was out of date was brought up to date for this write: its node was never its tensor's own."""
        for parent in node.inputs:
            if parent is not None and id(parent) not in self.values and parent.op is READ and old is not None:
                self._value(parent, entry, None, [], old)

    def _label_copies(
        self, value: NodeEntry, old: StateEntry | None, entry: TensorEntry, copies: list[StorageEntry]
    ) -> None:
        of = old.label if old is not None else f"{entry.name or entry.op}@{entry.storage.version - 1}"
        kept = {save.storage for save in value.saves}
        for storage in copies:
            if storage in kept:
                storage.event["label"] = f"copy of {of}"
        for event in self.events:
            if event["do"] == "save" and event["node"] == value.drawn and event.get("copy") and old is not None:
                event["state"] = old.id

    def _write_event(self, x: Tensor, entry: StorageEntry, where: Any) -> tuple[Event, int, list[cells.Run]]:
        buffer = x._storage.buffer
        runs, count = _written(x, buffer, where)
        event: Event = {"do": "write", "storage": entry.id, "cells": {}, "count": count, "version": entry.version}
        if entry.is_small:
            event["cells"] = cells.read(buffer, [i for first, last in runs for i in range(first, last + 1)])
            return event, count, runs
        if not runs:
            return event, count, runs
        event["ranges"] = [list(run) for run in runs]
        entry.known |= cells.ends(runs)
        written = [i for i in entry.known if any(first <= i <= last for first, last in runs)]
        event["cells"] = cells.read(buffer, sorted(written))
        entry.writes.append((event, runs))
        return event, count, runs

    def relaid(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """An in-place operation changed shape and strides of ``x``."""
        entry = self.meet(x)
        old = dict(entry.look)
        node = peek(x)
        if node is not None and id(node) not in self.values:
            self._value(node, entry, None, [])
        self._refresh(x, entry)
        self.facts.append(facts.Relaid(op, entry, old))

    # ---------- history ----------

    def _see_all(self, inputs: tuple[Any, ...]) -> list[TensorEntry]:
        return [self.see(x) for x in inputs if _is_shown(x)]

    def see(self, x: Tensor) -> TensorEntry:
        """Note the tensor and the node of its value."""
        entry = self.meet(x)
        history = x._history
        if history is not None and entry.family.history != id(history):
            self._change_family(x, entry)
        node = peek(x)
        if node is None:
            return entry
        if id(node) in self.values:
            self._state(entry)
            return entry
        op, reads = entry.pending or (None, [])
        if op is not None and (node.op in (READ, WRITE, RELAID) or type(node) is Leaf):
            op = None
        value = self._value(node, entry, op, reads)
        entry.pending = None
        if op is not None:
            for fact in reversed(self.facts):
                if type(fact) is facts.Made and fact.tensor is entry:
                    fact.node = value
                    break
        return entry

    def _change_family(self, x: Tensor, entry: TensorEntry) -> None:
        if entry.family.history is None:
            entry.family.history = id(x._history)
            return
        entry.family.members.pop(id(x), None)
        if not entry.family.members:
            self._families.remove(entry.family)
        entry.family = self._family(x, entry.storage)
        entry.family.members[id(x)] = entry

    def _state(self, entry: TensorEntry) -> StateEntry:
        """The state of a tensor's family at the storage's version."""
        family, version = entry.family, entry.storage.version
        state = family.states.get(version)
        if state is None:
            event = {
                "do": "state",
                "id": self._new_id("m"),
                "label": "",
                "storage": entry.storage.id,
                "version": version,
                "names": [],
            }
            state = family.states[version] = StateEntry(event["id"], family, version, event)
            event["label"] = f"{family.label}@{version}" if family.label else f"{entry.op or 'tensor'}@{version}"
            self.states[state.id] = state
            self.events.append(event)
        return state

    def _states_of(self, inputs: tuple[Any, ...], besides: Tensor | None = None) -> list[str]:
        """The states that an operation read, of those inputs that want a gradient; each once."""
        found: list[str] = []
        for x in inputs:
            if not _is_shown(x) or x is besides or peek(x) is None:
                continue
            entry = self.meet(x)
            family, version = entry.family, entry.storage.version
            if besides is not None and x._storage is besides._storage:
                state = family.states.get(version - 1)  # what it read was there before the write
            else:
                state = family.states.get(version) or self._state(entry)
            if state is not None and state.id not in found:
                found.append(state.id)
        return found

    def _value(
        self, node: Node, entry: TensorEntry, op: str | None, reads: list[str], state: StateEntry | None = None
    ) -> NodeEntry:
        """A node seen for the first time: the value of ``entry`` now. Drawn when ``op`` made it."""
        state = state or self._state(entry)
        name = node.op.name
        value = NodeEntry(state, name, self.line, None, reads=reads, of=entry)
        key = id(node)
        value.ref = weakref.ref(node, lambda _, self=weakref.ref(self), key=key: _node_gone(self, key))
        self.values[key] = value
        if op is None:
            return value
        value.drawn = self._new_id("n")
        self.events.append(
            {"do": "node", "id": value.drawn, "op": op, "line": self.line, "ins": reads, "out": state.id}
        )
        if node.saved is FREED or not node.saved:
            return value
        for what, saved in zip(node.op.saved_names, node.saved, strict=False):
            if type(saved) is tuple and len(saved) == 3 and type(saved[1]) is Storage and saved[1] is not CONSTANT:
                self._save(value, what, *saved)
            elif what == "index":
                for index in node.saved[1]:
                    self._storage(index).event["label"] = f"index of {op}"
        return value

    def _save(self, value: NodeEntry, what: str, array: np.ndarray, storage: Storage, version: int) -> None:
        kept = self._storage(storage)
        shape, strides, offset = cells.layout(array, storage.buffer)
        at = [s for s in self.states.values() if s.family.storage is kept and s.version == version]
        looking = [entry for entry in self.tensors.values() if entry.storage is kept]
        save = SaveEntry(
            self._new_id("s"), what, kept, version, value, at[0] if at else None, looking[0] if looking else None
        )
        value.saves.append(save)
        event = {
            "do": "save",
            "id": save.id,
            "node": value.drawn,
            "what": what,
            "state": at[0].id if at else None,
            "storage": kept.id,
            "shape": shape,
            "strides": strides,
            "offset": offset,
            "version": version,
        }
        if not kept.seen_by_tensor:
            event["copy"] = True
        elif not at:
            save.event = event
            self._unlabelled.append(save)  # named at the end of the step, when its tensor may have a name
        self.events.append(event)
        self._show_ends(kept, storage.buffer, cells.runs_of(shape, strides, offset, cells.MOST_RANGES)[0])

    def node_gone(self, key: int) -> None:
        value = self.values.pop(key, None)
        if value is not None:
            value.dead = True
            self._dying.append(value)

    def release(self, value: NodeEntry) -> None:
        """Backward is done with what a node saved."""
        ids = [save.id for save in value.saves if not save.released]
        for save in value.saves:
            save.released = True
        if ids:
            self.events.append({"do": "release", "ids": ids})

    # ---------- the end of a step ----------

    def look(self) -> None:
        """Look at every tensor again: its node, its shape, whether it wants a gradient."""
        for entry in list(self.tensors.values()):
            self._look_again(entry)

    def _look_again(self, entry: TensorEntry) -> None:
        x = entry.ref()
        if x is not None:
            self.see(x)
            self._refresh(x, entry)

    def tidy(self) -> None:
        """Tell what the history let go and who stands at which state."""
        for save in self._unlabelled:
            save.event["what"] = save.label
        self._unlabelled.clear()
        self._drop()
        for family in list(self._families):
            self._tell_names(family)

    def _refresh(self, x: Tensor, entry: TensorEntry) -> None:
        look = self._look(x, entry.storage)
        changed = {key: value for key, value in look.items() if value != entry.look[key]}
        if not changed:
            return
        entry.look = look
        if entry.event in self.events:
            entry.event.update(changed)
        else:
            self.events.append({"do": "retensor", "id": entry.id, **changed})
        self._show_ends(entry.storage, x._storage.buffer, self._runs(look))

    def _tell_names(self, family: Family) -> None:
        members = [entry for entry in family.members.values() if not entry.look["stop_gradient"]]
        names = [name for entry in members for name in entry.names or [entry.held] if name]
        if not family.states:
            return
        newest = max(family.states)
        for version, state in family.states.items():
            standing = names if version == newest else []
            if state.names != standing and not state.dropped:
                state.names = standing
                if state.event in self.events:
                    state.event["names"] = list(standing)
                else:
                    self.events.append({"do": "names", "state": state.id, "names": list(standing)})
        told = names, [state.id for state in family.states.values() if not state.dropped]
        if len(members) > 1 and len(names) > 1 and told != family.told:
            family.told = told
            self.events.append({"do": "family", "id": family.id, "names": names, "states": told[1]})

    def name_family(self, entry: TensorEntry) -> None:
        """A tensor got its first name: states without a name of their own are called by it."""
        family = entry.family
        if not family.label:
            family.label = entry.names[0].split(" in ")[0]
            for version, state in family.states.items():
                if state.event in self.events:
                    state.event["label"] = f"{family.label}@{version}"

    def _drop(self) -> None:
        nodes = [value.drawn for value in self._dying if value.drawn]
        for value in self._dying:
            for save in value.saves:
                save.released = True
        held = {value.state.id for value in self.values.values()}
        held |= {state for value in self.values.values() for state in value.reads}
        for entry in self.tensors.values():
            if not entry.look["stop_gradient"]:
                state = entry.family.states.get(entry.storage.version)
                held |= {state.id} if state else set()
        states = [id_ for id_ in self.states if id_ not in held]
        for id_ in states:
            state = self.states.pop(id_)
            state.dropped = True
            state.family.states.pop(state.version, None)
        self._dying.clear()
        if nodes or states:
            self.events.append({"do": "drop", "nodes": nodes, "states": states})


def _at_once(tell: Callable[[], None]) -> None:
    tell()


def _gone() -> None:
    """In place of a weak reference that is not needed any more."""


def _tensor_gone(ledger: weakref.ref[Ledger], key: int) -> None:
    alive = ledger()
    if alive is not None:
        alive.gone(lambda: alive.tensor_gone(key))


def _node_gone(ledger: weakref.ref[Ledger], key: int) -> None:
    alive = ledger()
    if alive is not None:
        alive.node_gone(key)  # told at the end of the step: it needs no step of its own


def _is_shown(x: Any) -> bool:
    return type(x) is Tensor and x._storage is not CONSTANT


def _dtype(array: np.ndarray) -> str:
    return _BY_NUMPY[array.dtype].name if array.dtype in _BY_NUMPY else array.dtype.name


def _written(x: Tensor, buffer: np.ndarray, where: Any) -> tuple[list[cells.Run], int]:
    """The runs of cells that a write through ``x`` covered, rising, and how many cells they hold."""
    if where is None or isinstance(where, np.ndarray):
        array = x._array if where is None else where
        shape, strides, offset = cells.layout(array, buffer)
        runs, total = cells.runs_of(shape, strides, offset, cells.SMALL)
        if buffer.size > cells.SMALL and total > cells.MOST_RANGES:
            return [cells.reach(shape, strides, offset)], array.size
        return cells.merged(runs), array.size
    if x._array.size > 100_000:
        # Which cells an index array or a mask picks is not worked out for a tensor of this size.
        return [cells.reach(*cells.layout(x._array, buffer))], int(x._array[where].size)
    shape, strides, offset = cells.layout(x._array, buffer)
    index = np.full(x._array.shape, offset)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        index += (np.arange(n) * stride).reshape([-1 if d == axis else 1 for d in range(len(shape))])
    runs = cells.merged((i, i) for i in np.unique(index[where]).tolist())
    count = sum(last - first + 1 for first, last in runs)
    if buffer.size > cells.SMALL and len(runs) > cells.MOST_RANGES:
        runs = [(runs[0][0], runs[-1][1])]
    return runs, count
