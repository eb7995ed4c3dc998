"""The books of a recording, fourth part: the history of memory states, and the operations between them.

A view group has one row of memory states. An operation's node is drawn between the states that it read and the
state that it made. Nodes that only show a group's value another way (views, parts of a view's memory) are not drawn:
they stand for the state they show.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from memory_stage.engines.protocol import Key, Node, Role, Tensor
from memory_stage.model import changes
from memory_stage.model.entries import Event, Group, NodeEntry, StateEntry, TensorEntry
from memory_stage.model.saved_tensors import Savings


class Lineage(Savings):
    """Memory, who looks at it, what is saved of it, and where its numbers came from."""

    #: The line that called the operation of a node. The recorder's business while it listens.
    line_of_call: Callable[[Node], int]

    # ---------- the node of a tensor's value ----------

    def _see_all(self, inputs: tuple[Any, ...]) -> list[TensorEntry]:
        return [self.see(x) for x in inputs if self.engine.is_shown(x)]

    def see(self, x: Tensor) -> TensorEntry:
        """Note the tensor and the node of its value."""
        entry = self.meet(x)
        self._follow_group(x, entry)
        node = self.engine.node(x)
        if node is None:
            return entry
        known = self.values.get(self.engine.key(node))
        if known is not None:
            state = self._state(entry)
            if self.engine.role(node) is Role.LEAF:
                self._stands_at(known, state)
            return entry
        pending, entry.pending = entry.pending, None
        op, reads = pending or (None, {})
        if not self._is_operation(node):
            op = None
        elif op is None and not self._is_look_at_group(node, entry):
            op = self.engine.name(node)  # a layer written by hand made this value
            call = self._call_of(node, entry)
            if call is not None:
                self._result_of(call, node, entry)
                return entry
            reads = self._reads_of(node)
        value = self._value(node, entry, op, reads, line=None if pending else self.line_of_call(node))
        if op is not None:
            self._tell_maker(entry, value)
        return entry

    def _result_of(self, call: NodeEntry, node: Node, entry: TensorEntry) -> None:
        """``node`` is one of several results of a layer's call. The call itself is drawn as what made the first."""
        first = call.state is self._state(entry)
        value = self._value(node, entry, None if first else self.engine.name(node), call.reads, line=call.line)
        value.stands = True

    def _stands_at(self, value: NodeEntry, state: StateEntry) -> None:
        """The value of a leaf is this state now: it was written without a history, or taken to another storage."""
        if value.state is not state:
            value.state.holders -= 1
            self.touched |= {value.state.group: None, state.group: None}
            value.state = state
            state.holders += 1

    def _tell_maker(self, entry: TensorEntry, value: NodeEntry) -> None:
        """The node of the operation that made a tensor is known now."""
        for fact in reversed(self.facts):
            if type(fact) in (changes.Made, changes.Viewed) and fact.tensor is entry:
                fact.node = value
                break

    def _call_of(self, node: Node, entry: TensorEntry) -> NodeEntry | None:
        """The call of a layer with several outputs, when ``node`` is the value of one of them.

        It is no tensor's own value, and is drawn as what made the first of them.
        """
        parents = self.engine.parents(node)
        call = parents[0] if len(parents) == 1 else None
        if call is None or not self._is_operation(call):
            return None
        if not self.engine.name(node).startswith(f"{self.engine.name(call)}["):
            return None  # a view that was recorded before the first step
        known = self.value_of(call)
        if known is None:
            name, line = self.engine.name(call), self.line_of_call(call)
            known = self._value(call, entry, name, self._reads_of(call), line=line)
            known.inner = True
            self._tell_maker(entry, known)
        return known if known.inner else None

    def _follow_group(self, x: Tensor, entry: TensorEntry) -> None:
        """Note that a tensor has begun a group, left one or joined another."""
        key, group = self.engine.group(x), entry.group
        if group.key == key:
            return
        if group.key is None and key is not None:
            self._found(group, key)
        else:
            self._join(x, entry, self._group(x, entry.storage))

    def _is_look_at_group(self, node: Node, entry: TensorEntry) -> bool:
        """Whether a node that no operation told of only shows a value of the tensor's own group another way."""
        parents = [value for parent in self.engine.parents(node) if (value := self.value_of(parent)) is not None]
        return self.engine.moves_only(node) and any(parent.state.group is entry.group for parent in parents)

    def _reads_of(self, node: Node) -> dict[Key, StateEntry]:
        """The states that the inputs of a node stand for now."""
        found: dict[Key, StateEntry] = {}
        for parent in self.engine.parents(node):
            value = self.value_of(parent)
            if value is not None:
                holders = [entry for entry in value.state.group.members.values() if self.shows(entry.ref(), parent)]
                found[self.engine.key(parent)] = self._state(holders[0]) if holders else value.state
        return found

    def value_of(self, node: Node | None) -> NodeEntry | None:
        """The entry of a node, if there is one."""
        return None if node is None else self.values.get(self.engine.key(node))

    def shows(self, x: Tensor | None, node: Node) -> bool:
        """Whether a tensor is there and has the value of ``node``."""
        own = None if x is None else self.engine.node(x)
        return own is not None and self.engine.key(own) == self.engine.key(node)

    def _is_operation(self, node: Node) -> bool:
        """Whether a node is what an operation made: no leaf, and no other look at a group's value."""
        return self.engine.role(node) is Role.OPERATION

    def _state(self, entry: TensorEntry) -> StateEntry:
        """The state of a tensor's group at the storage's version."""
        group, version = entry.group, entry.storage.version
        state = group.states.get(version)
        if state is None:
            event: Event = {
                "do": "state",
                "id": self._new_id("m"),
                "label": "",
                "storage": entry.storage.id,
                "version": version,
                "names": [],
            }
            before = self._before(entry)
            if before is not None:
                event["after"] = before.id
            state = group.states[version] = StateEntry(event["id"], group, version, event, step=self.step)
            event["label"] = f"{group.label}@{version}" if group.label else f"{entry.op or 'tensor'}@{version}"
            self.states[state.id] = state
            self.labels[event["label"]] += 1
            self.touched[group] = None
            self.events.append(event)
        return state

    def _before(self, entry: TensorEntry) -> StateEntry | None:
        """The state whose history a tensor has, when its memory was written since and no history tells."""
        x = entry.ref()
        value = self.value_of(self.engine.node(x) if x is not None else None)
        if value is None or value.state.dropped or value.state.group is not entry.group:
            return None
        return value.state

    def _states_of(self, inputs: tuple[Any, ...], besides: Tensor | None = None) -> dict[Key, StateEntry]:
        """The states that an operation read, of those inputs that want a gradient, by the key of their nodes."""
        found: dict[Key, StateEntry] = {}
        for x in inputs:
            node = self.engine.node(x) if self.engine.is_shown(x) and x is not besides else None
            if node is None:
                continue
            entry = self.meet(x)
            group, version = entry.group, entry.storage.version
            if besides is not None and self.entry_of(x) is self.entry_of(besides):
                state = group.states.get(version - 1)  # what it read was there before the write
            else:
                state = self._state(entry)
            if state is not None:
                found[self.engine.key(node)] = state
        return found

    def _value(
        self,
        node: Node,
        entry: TensorEntry,
        op: str | None,
        reads: dict[Key, StateEntry],
        state: StateEntry | None = None,
        line: int | None = None,
    ) -> NodeEntry:
        """A node seen for the first time: the value of ``entry`` now. Drawn when ``op`` made it."""
        state = state or self._state(entry)
        name, line = self.engine.name(node), self.line if line is None else line
        x = entry.ref()
        value = NodeEntry(state, name, line, None, reads=reads, of=entry, earlier=self.step < 0)
        state.holders += 1
        for each in reads.values():
            each.holders += 1
        key = self.engine.key(node)
        me = weakref.ref(self)
        value.ref = self.engine.weak(node, lambda _: _node_gone(me, key))
        self.values[key] = value
        if op is None:
            return value
        value.drawn = self._new_id("n")
        ins = list(dict.fromkeys(each.id for each in reads.values()))
        if op != name:
            value.op = op  # `cast_` is recorded as the cast that it is
        if self.otherwise or entry.otherwise or (x is not None and self.engine.spells_otherwise(x)):
            value.word = op = self.engine.spelled(op)
        event: Event = {"do": "node", "id": value.drawn, "op": op, "line": line, "ins": ins, "out": state.id}
        self.events.append(event)
        saved = self.engine.saved(node)
        if saved is None:
            value.unknown = event["unknown"] = True
        for one in saved or ():
            self._save(value, one)
        for index in self.engine.indices(node):
            self._storage(index).label(f"index of {op}")
        return value

    # ---------- the end of a step ----------

    def tidy(self) -> None:
        """Tell what the history let go and who stands at which state."""
        for save in self._unlabelled:
            save.event["what"] = save.label
        self._unlabelled.clear()
        self._drop()
        for group in self.touched:
            self._tell_names(group)
            if not (group.members or group.states) and self._groups.get(group.key) is group:
                del self._groups[group.key]
        self.touched.clear()

    def _tell_names(self, group: Group) -> None:
        members = [entry for entry in group.members.values() if not entry.look["stop_gradient"]]
        names = [name for entry in members for name in entry.names or [entry.held] if name]
        if not group.states:
            return
        newest = max(group.states)
        for version, state in group.states.items():
            standing = names if version == newest else []
            if state.names != standing and not state.dropped:
                state.names = standing
                if state.step == self.step:
                    state.event["names"] = list(standing)
                else:
                    self.events.append({"do": "names", "state": state.id, "names": list(standing)})
        told = names, [state.id for state in group.states.values() if not state.dropped]
        if len(members) > 1 and len(names) > 1 and told != group.told:
            group.told = told
            self.events.append({"do": "group", "id": group.id, "names": names, "states": told[1]})

    def _drop(self) -> None:
        """Drop the nodes that are gone, and the states that nobody stands at, made or reads any more."""
        nodes = [value.drawn for value in self._dying if value.drawn]
        asked = dict.fromkeys(state for group in self.touched for state in group.states.values())
        for value in self._dying:
            for save in value.saves:
                save.released = True
            for state in (value.state, *value.reads.values()):
                state.holders -= 1
                asked[state] = None
        self._dying.clear()
        states = []
        for state in asked:
            if not (state.dropped or state.holders or self._is_stood_at(state)):
                state.dropped = True
                del self.states[state.id]
                self.labels[state.label] -= 1
                state.group.states.pop(state.version, None)
                self.touched[state.group] = None
                states.append(state.id)
        if nodes or states:
            self.events.append({"do": "drop", "nodes": nodes, "states": states})

    def _is_stood_at(self, state: StateEntry) -> bool:
        """Whether a tensor that wants a gradient shows these numbers."""
        group = state.group
        if state.version != group.storage.version:
            return False
        return any(not entry.look["stop_gradient"] for entry in group.members.values())


def _node_gone(books: weakref.ref[Lineage], key: Key) -> None:
    alive = books()
    if alive is not None:
        alive.node_gone(key)  # told at the end of the step: it needs no step of its own
