"""The history: memory states, the operations between them, and the nodes of the engine.

A view group has one sequence of memory states. The node of an operation is drawn between the states that the operation
read and the state that it made. A node whose value is only another view of a group's memory is not drawn and belongs to
the group's state. A custom function is a ``PyLayer`` or a ``torch.autograd.Function``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from memory_stage.engines.protocol import Engine, Key, Node, Role, Tensor
from memory_stage.messages import message
from memory_stage.model import changes
from memory_stage.model.entries import Event, NodeEntry, SaveEntry, StateEntry, TensorEntry, ViewGroup
from memory_stage.model.journal import Journal
from memory_stage.model.saved_tensors import SavedTensors
from memory_stage.model.storages import Storages
from memory_stage.model.tensors import Tensors


class Graph:
    """The nodes and states of a recording.

    Attributes:
        nodes: the entries of nodes, by the engine's key.
        states: the memory states that have not been dropped, by id.
        other_names: True if the running operation has another name in the program's vocabulary.
        line_of_call: a function that returns the line of the trace that called a node's operation. The recorder sets
            it.
    """

    def __init__(
        self, engine: Engine, journal: Journal, storages: Storages, tensors: Tensors, saved: SavedTensors
    ) -> None:
        self.nodes: dict[Key, NodeEntry] = {}
        self.states: dict[str, StateEntry] = {}
        self.other_names = False
        self.line_of_call: Callable[[Node], int] = first_line
        self._engine = engine
        self._journal = journal
        self._storages = storages
        self._tensors = tensors
        self._saved = saved
        self._freed: list[NodeEntry] = []  # nodes that were freed since the last step

    # ---------- the node of a tensor's value ----------

    def observe_all(self, inputs: tuple[Any, ...]) -> list[TensorEntry]:
        """Register those inputs of an operation that are tensors, and the nodes of their values."""
        return [self.observe(x) for x in inputs if self._engine.is_shown(x)]

    def observe(self, x: Tensor) -> TensorEntry:
        """Register a tensor and the node of its value. Return the tensor's entry."""
        entry = self._tensors.register(x)
        self._follow_group(x, entry)
        node = self._engine.node(x)
        if node is None:
            return entry
        known = self.nodes.get(self._engine.key(node))
        if known is not None:
            state = self.state_of(entry)
            if self._engine.role(node) is Role.LEAF:
                self._set_state(known, state)
            return entry
        pending, entry.pending = entry.pending, None
        op, reads = pending or (None, {})
        if not self.is_operation(node):
            op = None
        elif op is None and not self._only_shows_group(node, entry):
            op = self._engine.name(node)  # this value is a result of a custom function
            call = self._call_of(node, entry)
            if call is not None:
                self._add_result(call, node, entry)
                return entry
            reads = self._states_read_by(node)
        added = self.add_node(node, entry, op, reads, line=None if pending else self.line_of_call(node))
        if op is not None:
            self._set_node_of_fact(entry, added)
        return entry

    def _add_result(self, call: NodeEntry, node: Node, entry: TensorEntry) -> None:
        """Add the node of one result of a custom function. The call's node is drawn instead of the first result's."""
        first = call.state is self.state_of(entry)
        added = self.add_node(node, entry, None if first else self._engine.name(node), call.reads, line=call.line)
        added.is_result_of_call = True

    def _set_state(self, node: NodeEntry, state: StateEntry) -> None:
        """Set the state of a leaf after an unrecorded write or a move to another storage."""
        if node.state is not state:
            node.state.holders -= 1
            self._tensors.touched |= {node.state.group: None, state.group: None}
            node.state = state
            state.holders += 1

    def _set_node_of_fact(self, entry: TensorEntry, node: NodeEntry) -> None:
        """Add the node to the recorded change in which the tensor of ``entry`` was made."""
        for fact in reversed(self._journal.facts):
            if type(fact) in (changes.Made, changes.Viewed) and fact.tensor is entry:
                fact.node = node
                break

    def _call_of(self, node: Node, entry: TensorEntry) -> NodeEntry | None:
        """Return the entry of a custom function's call if it has several outputs and ``node`` belongs to one of them.

        No tensor has the value of the call's node. The call is drawn as the operation that made the first output.
        """
        parents = self._engine.parents(node)
        call = parents[0] if len(parents) == 1 else None
        if call is None or not self.is_operation(call):
            return None
        if not self._engine.name(node).startswith(f"{self._engine.name(call)}["):
            return None  # a view that was created before the first step
        known = self.entry_of(call)
        if known is None:
            name, line = self._engine.name(call), self.line_of_call(call)
            known = self.add_node(call, entry, name, self._states_read_by(call), line=line)
            known.inner = True
            self._set_node_of_fact(entry, known)
        return known if known.inner else None

    def _follow_group(self, x: Tensor, entry: TensorEntry) -> None:
        """Record that a tensor has started a group, or has left or joined one."""
        key, group = self._engine.group(x), entry.group
        if group.key == key:
            return
        if group.key is None and key is not None:
            self._tensors.set_key(group, key)
        else:
            self._tensors.join(x, entry, self._tensors.group_of(x, entry.storage))

    def _only_shows_group(self, node: Node, entry: TensorEntry) -> bool:
        """True if ``node``, which had no event, only makes a view of a tensor in the group of ``entry``."""
        parents = [known for parent in self._engine.parents(node) if (known := self.entry_of(parent)) is not None]
        return self._engine.moves_only(node) and any(parent.state.group is entry.group for parent in parents)

    def _states_read_by(self, node: Node) -> dict[Key, StateEntry]:
        """Return the present states of a node's inputs, by the keys of the parent nodes."""
        found: dict[Key, StateEntry] = {}
        for parent in self._engine.parents(node):
            known = self.entry_of(parent)
            if known is not None:
                holders = [entry for entry in known.state.group.members.values() if self.has_value(entry.ref(), parent)]
                found[self._engine.key(parent)] = self.state_of(holders[0]) if holders else known.state
        return found

    def entry_of(self, node: Node | None) -> NodeEntry | None:
        """Return the entry of a node; None if it has none."""
        return None if node is None else self.nodes.get(self._engine.key(node))

    def save_at(self, node: Node, position: int) -> SaveEntry | None:
        """Return the entry of a node's saved tensor at a position; None if it has none."""
        known = self.entry_of(node)
        return next((save for save in known.saves if save.position == position), None) if known is not None else None

    def has_value(self, x: Tensor | None, node: Node) -> bool:
        """True if a tensor is alive and has the value of ``node``."""
        own = None if x is None else self._engine.node(x)
        return own is not None and self._engine.key(own) == self._engine.key(node)

    def is_operation(self, node: Node) -> bool:
        """True if an operation made the node: it is no leaf and its value is not only a view of a group's value."""
        return self._engine.role(node) is Role.OPERATION

    # ---------- states ----------

    def state_of(self, entry: TensorEntry) -> StateEntry:
        """Return the state of a tensor's group at the present version of the storage. Add it if it is new."""
        group, version = entry.group, entry.storage.version
        state = group.states.get(version)
        if state is None:
            event: Event = {
                "do": "state",
                "id": self._journal.new_id("m"),
                "label": "",
                "storage": entry.storage.id,
                "version": version,
                "names": [],
            }
            before = self._state_before(entry)
            if before is not None:
                event["after"] = before.id
            state = group.states[version] = StateEntry(event["id"], group, version, event, step=self._journal.step)
            name = group.label or entry.op
            event["label"] = f"{name}@{version}" if name else message("tensor@{version}", version=version)
            self.states[state.id] = state
            self._tensors.labels[event["label"]] += 1
            self._tensors.touched[group] = None
            self._journal.events.append(event)
        return state

    def _state_before(self, entry: TensorEntry) -> StateEntry | None:
        """Return the state that an unrecorded write to a tensor replaced: that of its node; None without one."""
        x = entry.ref()
        node = self.entry_of(self._engine.node(x) if x is not None else None)
        if node is None or node.state.dropped or node.state.group is not entry.group:
            return None
        return node.state

    def states_of(self, inputs: tuple[Any, ...], besides: Tensor | None = None) -> dict[Key, StateEntry]:
        """Return the states that an operation read, by the keys of the nodes of those inputs that require a gradient.

        Args:
            besides: a tensor to leave out, because the operation wrote it.
        """
        found: dict[Key, StateEntry] = {}
        for x in inputs:
            node = self._engine.node(x) if self._engine.is_shown(x) and x is not besides else None
            if node is None:
                continue
            entry = self._tensors.register(x)
            group, version = entry.group, entry.storage.version
            if besides is not None and self._tensors.storage_of(x) is self._tensors.storage_of(besides):
                state = group.states.get(version - 1)  # the operation read it before the write
            else:
                state = self.state_of(entry)
            if state is not None:
                found[self._engine.key(node)] = state
        return found

    # ---------- adding nodes ----------

    def add_node(
        self,
        node: Node,
        entry: TensorEntry,
        op: str | None,
        reads: dict[Key, StateEntry],
        state: StateEntry | None = None,
        line: int | None = None,
    ) -> NodeEntry:
        """Add a node whose value is now that of ``entry``. The node is drawn if an operation, ``op``, made it."""
        journal = self._journal
        state = state or self.state_of(entry)
        name, line = self._engine.name(node), journal.line if line is None else line
        x = entry.ref()
        added = NodeEntry(state, name, line, None, reads=reads, of=entry, earlier=journal.step < 0)
        state.holders += 1
        for each in reads.values():
            each.holders += 1
        key = self._engine.key(node)
        me = weakref.ref(self)
        added.ref = self._engine.weak(node, lambda _: _on_node_freed(me, key))
        self.nodes[key] = added
        if op is None:
            return added
        added.drawn = journal.new_id("n")
        ins = list(dict.fromkeys(each.id for each in reads.values()))
        if op != name:
            added.op = op  # the node of ``cast_``, for example, has the name of an ordinary cast
        if self.other_names or entry.otherwise or (x is not None and self._engine.has_other_names(x)):
            added.word = op = self._engine.other_name(op)
        event: Event = {"do": "node", "id": added.drawn, "op": op, "line": line, "ins": ins, "out": state.id}
        journal.events.append(event)
        saved = self._engine.saved(node)
        if saved is None:
            added.unknown = event["unknown"] = True
        for one in saved or ():
            self._saved.save(added, one)
        for index in self._engine.indices(node):
            self._storages.entry_of(index).label(message("index of {operation}", operation=op))
        return added

    def add_reads(self, node: Node, old: StateEntry | None, entry: TensorEntry) -> None:
        """Add those parents of ``node`` that the engine made for a write: they read views of ``old``."""
        for parent in self._engine.parents(node):
            known = parent is None or self.entry_of(parent) is not None
            if not known and self._engine.role(parent) is Role.READ and old is not None:
                self.add_node(parent, entry, None, {}, old)

    def free(self, key: Key) -> None:
        """Record that the node with this key is freed. At the end of the step it is dropped with its saved tensors."""
        node = self.nodes.pop(key, None)
        if node is not None:
            node.dead = True
            self._freed.append(node)

    # ---------- the end of a step ----------

    def close_step(self) -> None:
        """Drop freed nodes and states, and record the names of the others."""
        self._saved.label_unlabelled()
        self._drop()
        touched = self._tensors.touched
        for group in touched:
            self._add_names(group)
            self._tensors.forget_empty(group)
        touched.clear()

    def _add_names(self, group: ViewGroup) -> None:
        members = [entry for entry in group.members.values() if not entry.properties["stop_gradient"]]
        names = [name for entry in members for name in entry.names or [entry.running_line] if name]
        if not group.states:
            return
        newest = max(group.states)
        for version, state in group.states.items():
            current = names if version == newest else []
            if state.names != current and not state.dropped:
                state.names = current
                if state.step == self._journal.step:
                    state.event["names"] = list(current)
                else:
                    self._journal.events.append({"do": "names", "state": state.id, "names": list(current)})
        shown = names, [state.id for state in group.states.values() if not state.dropped]
        if len(members) > 1 and len(names) > 1 and shown != group.shown:
            group.shown = shown
            self._journal.events.append({"do": "group", "id": group.id, "names": names, "states": shown[1]})

    def _drop(self) -> None:
        """Drop the freed nodes. Also drop the states that no tensor shows and that no node made or read."""
        touched = self._tensors.touched
        nodes = [node.drawn for node in self._freed if node.drawn]
        candidates = dict.fromkeys(state for group in touched for state in group.states.values())
        for node in self._freed:
            for save in node.saves:
                save.released = True
            for state in (node.state, *node.reads.values()):
                state.holders -= 1
                candidates[state] = None
        self._freed.clear()
        states = []
        for state in candidates:
            if not (state.dropped or state.holders or _is_shown(state)):
                state.dropped = True
                del self.states[state.id]
                self._tensors.labels[state.label] -= 1
                state.group.states.pop(state.version, None)
                touched[state.group] = None
                states.append(state.id)
        if nodes or states:
            self._journal.events.append({"do": "drop", "nodes": nodes, "states": states})


def _is_shown(state: StateEntry) -> bool:
    """True if a living tensor that requires a gradient has the values of this state."""
    group = state.group
    if state.version != group.storage.version:
        return False
    return any(not entry.properties["stop_gradient"] for entry in group.members.values())


def _on_node_freed(graph: weakref.ref[Graph], key: Key) -> None:
    alive = graph()
    if alive is not None:
        alive.free(key)


def first_line(node: Node) -> int:
    """Return 1. The recorder replaces this function (:attr:`Graph.line_of_call`) while it runs."""
    return 1
