"""The books of a recording, last part: what operations did to memory, and what the outside did.

The ledger turns what the engine tells into events of a trace (``trace.schema.json``) and into facts for the
sentences. It keeps identities and weak references, so that watching frees nothing later than usual.
"""

from __future__ import annotations

from typing import Any

from minitensor.core.history import READ, WRITE, Node, peek
from minitensor.core.storage import write_that_made
from minitensor.core.tensor import Tensor
from minitensor.modes import modes
from minitensor.saving.saved import FREED
from minitensor.stage.recording import cells, facts, outside
from minitensor.stage.recording.covers import Cover
from minitensor.stage.recording.entries import SaveEntry, StateEntry, StorageEntry, TensorEntry
from minitensor.stage.recording.lineage import Lineage, is_operation, is_shown
from minitensor.stage.recording.memory import at_once


class Ledger(Lineage):
    """All books of a recording: memory, and the history over it."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = outside.Watched()

    def begin(self) -> None:
        """What was told until now was there before the first step."""
        self.look()
        self.tidy()
        self.before, self.events, self.facts = self.events, [], []
        self.step = 0
        self.outside.open()
        for storage in self.outside.storages():
            self.outside.note(storage)

    def stop(self) -> None:
        """Look after tensors and nodes no longer."""
        self.gone, self.line_of_call = at_once, _nowhere  # they lead to the program's names
        self.outside.close()
        for entry in self.tensors.values():
            entry.ref = _forgotten
        for value in self.values.values():
            value.ref = _forgotten

    # ---------- what operations did ----------

    def made(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """A normal operation made ``x``, on a new storage unless it borrows what is borrowed already."""
        if not is_shown(x):
            return
        given = self._see_all(inputs)
        known = self.storages.get(id(x._storage))
        shared = known is not None and any(not other.is_array for other in known.lookers.values())
        entry = self.meet(x, op)
        entry.pending = op, self._states_of(inputs)
        self.facts.append(facts.Viewed(op, entry, None, False) if shared else facts.Made(op, entry, given))
        self.see(x)

    def viewed(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """A view made ``x`` on an old storage."""
        given = self._see_all(inputs)
        base = inputs[0]
        together = x._history is not None and x._history is base._history
        group = given[0].group if together and given else None
        if group is not None:
            self._found(group, x._history)
        entry = self.meet(x, op, group)
        self.facts.append(facts.Viewed(op, entry, given[0] if given else None, group is not None))
        self.see(x)

    def wrote(self, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any = None) -> None:
        """An in-place operation wrote through ``x``: every cell of it, or those that ``where`` says."""
        entry = self.tensors.get(id(x))
        if entry is None or self.storages.get(id(x._storage)) is not entry.storage:
            entry = self.meet(x)
        storage = entry.storage
        self.outside.wrote(x, where)
        before, storage.version = storage.version, x._storage.version
        cover = Cover.of_write(x, x._storage.buffer, where)
        event = self._write_event(storage, x._storage.buffer, cover)
        if storage.over is not None:
            event["unversioned"] = True
        old = entry.group.states.get(before)
        reads = self._states_of(inputs, besides=x)
        if before != storage.version:  # else it was noticed before it was told
            self.events.append(event)
        preserved, self._preserved = self._preserved, None
        victims, spared = self._judge_saved(storage, preserves=modes.policy == "copy_on_write")
        wanted = not entry.look["stop_gradient"]
        fact = facts.Wrote(op, entry, storage, before, cover, victims, preserved, spared, wanted)
        fact.recording = modes.grad
        self.facts.append(fact if storage.over is None else self._unversioned(op, entry, storage.over, cover))
        for node in self._nodes_of_write(x):
            drawn = is_operation(node)
            if drawn and old is not None and node.inputs and node.inputs[0] is not None:
                reads = {id(node.inputs[0]): old, **reads}
            value = self._value(node, entry, op if drawn else None, reads)
            value.partial = drawn and x._history is not None and node is not x._history.node
            if drawn:
                fact.node = value
                self._label_own(fact, old)
                self._note_reads(node, old, entry)
        self.see(x)
        fact.reads = [other for other in self._see_all(inputs) if other is not entry]

    def _nodes_of_write(self, x: Tensor) -> list[Node]:
        """The nodes of a value just written, as far as they are not known: the group's, and the operation's own."""
        history = x._history
        nodes = [] if history is None or history.node is None else [history.node]
        if nodes and nodes[0].op is WRITE:
            nodes.append(nodes[0].inputs[1])
        found = dict.fromkeys([*nodes, x._node])
        return [node for node in found if node is not None and id(node) not in self.values]

    def _note_reads(self, node: Node, old: StateEntry | None, entry: TensorEntry) -> None:
        """A view that was out of date was brought up to date for this write: its node was never its tensor's own."""
        for parent in node.inputs:
            if parent is not None and id(parent) not in self.values and parent.op is READ and old is not None:
                self._value(parent, entry, None, {}, old)

    def reshaped(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """An in-place operation changed what ``x`` is: its shape and strides, its dtype, or its storage."""
        entry = self.tensors.get(id(x)) or self.meet(x)
        old, storage, node = dict(entry.look), entry.storage, peek(x)
        if self.storages.get(id(x._storage)) is not storage:
            if op == "cast_" and node is not None and is_operation(node):
                state = entry.group.states.get(storage.version)
                entry.pending = op, {} if state is None else {id(node.inputs[0]): state}
            self.see(x)
            self.facts[-1].op = op
            return
        if node is not None and id(node) not in self.values:
            self._value(node, entry, None, {})
        self._refresh(x, entry)
        self.facts.append(facts.Reshaped(op, entry, old))

    def wrote_unheard(self, x: Tensor, entry: TensorEntry) -> None:
        """The version moved and no write was told: which cells changed is found by looking."""
        storage, buffer = entry.storage, x._storage.buffer
        before, storage.version = storage.version, x._storage.version
        logged = write_that_made(x._storage, storage.version)
        writes = [fact.op for fact in self.facts if type(fact) is facts.Wrote]
        op = logged[0] if logged is not None else (writes or ["an update"])[-1]
        cover = Cover([], 0) if op == "_bump_inplace_version" else Cover.all_of(buffer)
        self.events.append(self._write_event(storage, buffer, cover))
        self.outside.note(x._storage, storage.root.known)
        victims, _ = self._judge_saved(storage, preserves=False)
        wanted = not entry.look["stop_gradient"]
        self.facts.append(facts.Wrote(op, entry, storage, before, cover, victims, None, [], wanted))

    # ---------- what the outside did ----------

    def look_outside(self) -> None:
        """Tell of what numpy and others wrote into shared memory since the last step."""
        for storage in self.outside.storages():
            entry = self.storages.get(id(storage))
            if entry is None:
                continue
            changed = self.outside.changed(storage, entry.known)
            if not changed.size:
                continue
            cover = Cover.picked(changed)
            event = self._write_event(entry, storage.buffer, cover)
            event["unversioned"] = True
            self.events.append(event)
            self.facts.append(self._unversioned("", None, entry, cover))

    def _unversioned(
        self, op: str, entry: TensorEntry | None, storage: StorageEntry, cover: Cover
    ) -> facts.Unversioned:
        """Cells were written and no version tells: backward will read what is there now."""
        right = [save for save in storage.saves if save.storage is storage and not save.released and not save.stale]
        used = [save for save in right if cells.meets(save.event, cover.runs)]
        return facts.Unversioned(op, entry, storage, cover, used, bool(used) and all(map(_is_noted, used)))

    def look(self) -> None:
        """Look at every tensor again: its node, its shape, whether it wants a gradient."""
        for entry in list(self.tensors.values()):
            self._look_again(entry)
        if self.step >= 0:
            self.look_outside()
        self._label_kept()

    def _label_kept(self) -> None:
        """Say what storages are for that an operation of this step made for its backward and no tensor looks at."""
        for fact in self.facts:
            if type(fact) is facts.Allocated and not (fact.storage.freed or fact.storage.lookers or fact.storage.saves):
                op = next((made.node.op for made in reversed(self.facts) if getattr(made, "node", None)), "")
                if op and "label" not in fact.storage.event:
                    fact.storage.label(f"kept by {op}")

    def _look_again(self, entry: TensorEntry) -> None:
        x = entry.ref()
        if x is None:
            return
        node, history = peek(x), x._history
        group_version = None if history is None else history.version
        now = id(x._array), id(x._storage), x._storage.version, id(node), id(history), group_version
        if now == entry.seen and (node is None or id(node) in self.values):
            return
        self.see(x)
        self._refresh(x, entry)
        entry.seen = now


def _is_noted(save: SaveEntry) -> bool:
    """Whether ``check_foreign_writes`` has a copy of a saved tensor."""
    node = save.node.ref() if save.node.ref is not None else None
    if node is None or node.saved is FREED:
        return False
    return getattr(node.saved[save.position][2], "noted", None) is not None


def _nowhere(node: Node) -> int:
    """In place of the recorder's, which knows the lines."""
    return 1


def _forgotten() -> None:
    """In place of a weak reference that is not needed any more."""
