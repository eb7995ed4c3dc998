"""The books of a recording: what operations did to memory, and the history of memory states that they left.

The ledger turns what the engine tells into events of a trace (``trace.schema.json``) and into facts for the
sentences. It keeps identities and weak references, so that watching frees nothing later than usual.

A family of views has one row of memory states. An operation's node is drawn between the states that it read and the
state that it made. Nodes that only show a family's value another way (views, parts of a view's memory) are not drawn:
they stand for the state they show.
"""

from __future__ import annotations

import weakref
from typing import Any

from minitensor.history import READ, RELAID, WRITE, Leaf, Node, peek
from minitensor.modes import modes
from minitensor.notebook.recording import facts
from minitensor.notebook.recording.entries import Family, NodeEntry, StateEntry, TensorEntry
from minitensor.notebook.recording.memory import at_once
from minitensor.notebook.recording.savings import Savings
from minitensor.operands import CONSTANT
from minitensor.saving import FREED
from minitensor.storage import Storage
from minitensor.tensor import Tensor


class Ledger(Savings):
    """All books of a recording: memory, and the history over it."""

    def __init__(self) -> None:
        super().__init__()

    def begin(self) -> None:
        """What was told until now was there before the first step."""
        self.look()
        self.tidy()
        self.before, self.events, self.facts = self.events, [], []
        self.step = 0

    def stop(self) -> None:
        """Look after tensors and nodes no longer."""
        self.gone = at_once
        for entry in self.tensors.values():
            entry.ref = _forgotten
        for value in self.values.values():
            value.ref = _forgotten

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
        event, count, runs, exact = self._write_event(x, storage, where)
        old = entry.family.states.get(before)
        reads = self._states_of(inputs, besides=x)
        self.events.append(event)
        preserved, self._preserved = self._preserved, None
        victims, spared = self._judge_saved(storage, preserves=modes.policy == "copy_on_write")
        wanted = not entry.look["stop_gradient"]
        fact = facts.Wrote(op, entry, storage, before, count, runs, exact, victims, preserved, spared, wanted)
        self.facts.append(fact)
        history = x._history
        for node in (None if history is None else history.node, x._node):
            if node is not None and id(node) not in self.values:
                drawn = _is_operation(node)
                if drawn and old is not None and node.inputs and node.inputs[0] is not None:
                    reads = {id(node.inputs[0]): old, **reads}
                value = self._value(node, entry, op if drawn else None, reads)
                value.partial = drawn and history is not None and node is not history.node
                if drawn:
                    fact.node = value
                    self._label_own(fact, old)
                    self._note_reads(node, old, entry)
        self.see(x)
        self._see_all(inputs)

    def _note_reads(self, node: Node, old: StateEntry | None, entry: TensorEntry) -> None:
        """A view that was out of date was brought up to date for this write: its node was never its tensor's own."""
        for parent in node.inputs:
            if parent is not None and id(parent) not in self.values and parent.op is READ and old is not None:
                self._value(parent, entry, None, {}, old)

    def relaid(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """An in-place operation changed shape and strides of ``x``."""
        entry = self.meet(x)
        old = dict(entry.look)
        node = peek(x)
        if node is not None and id(node) not in self.values:
            self._value(node, entry, None, {})
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
        op, reads = entry.pending or (None, {})
        if not _is_operation(node):
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

    def _states_of(self, inputs: tuple[Any, ...], besides: Tensor | None = None) -> dict[int, StateEntry]:
        """The states that an operation read, of those inputs that want a gradient, by the id of their nodes."""
        found: dict[int, StateEntry] = {}
        for x in inputs:
            node = peek(x) if _is_shown(x) and x is not besides else None
            if node is None:
                continue
            entry = self.meet(x)
            family, version = entry.family, entry.storage.version
            if besides is not None and x._storage is besides._storage:
                state = family.states.get(version - 1)  # what it read was there before the write
            else:
                state = self._state(entry)
            if state is not None:
                found[id(node)] = state
        return found

    def _value(
        self,
        node: Node,
        entry: TensorEntry,
        op: str | None,
        reads: dict[int, StateEntry],
        state: StateEntry | None = None,
    ) -> NodeEntry:
        """A node seen for the first time: the value of ``entry`` now. Drawn when ``op`` made it."""
        state = state or self._state(entry)
        name = node.op.name
        value = NodeEntry(state, name, self.line, None, reads=reads, of=entry)
        key = id(node)
        me = weakref.ref(self)
        value.ref = weakref.ref(node, lambda _: _node_gone(me, key))
        self.values[key] = value
        if op is None:
            return value
        value.drawn = self._new_id("n")
        ins = list(dict.fromkeys(each.id for each in reads.values()))
        self.events.append({"do": "node", "id": value.drawn, "op": op, "line": self.line, "ins": ins, "out": state.id})
        if node.saved is FREED or not node.saved:
            return value
        for position, (what, saved) in enumerate(zip(node.op.saved_names, node.saved, strict=False)):
            if type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage) and saved[1] is not CONSTANT:
                self._save(value, position, what, saved)
            elif what == "index":
                for index in node.saved[1]:
                    self._storage(index).event["label"] = f"index of {op}"
        return value

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
        held |= {state.id for value in self.values.values() for state in value.reads.values()}
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


def _forgotten() -> None:
    """In place of a weak reference that is not needed any more."""


def _node_gone(ledger: weakref.ref[Ledger], key: int) -> None:
    alive = ledger()
    if alive is not None:
        alive.node_gone(key)  # told at the end of the step: it needs no step of its own


def _is_operation(node: Node) -> bool:
    """Whether a node is what an operation made: no leaf, and no other look at a family's value."""
    return node.op not in (READ, WRITE, RELAID) and type(node) is not Leaf


def _is_shown(x: Any) -> bool:
    return isinstance(x, Tensor) and x._storage is not CONSTANT
