"""The books of a recording, last part: what operations did to memory, and what the outside did.

The ledger turns what the engine tells into events of a trace (``trace.schema.json``) and into facts for the
sentences. It keeps identities and weak references, so that watching frees nothing later than usual.
"""

from __future__ import annotations

from typing import Any

from memory_stage.engines.protocol import Engine, Key, Node, Role, Storage, Tensor
from memory_stage.model import changes, outside
from memory_stage.model.covers import Cover
from memory_stage.model.entries import SaveEntry, StateEntry, StorageEntry, TensorEntry
from memory_stage.model.graph import Lineage
from memory_stage.model.memory import at_once
from memory_stage.trace import cells


class Ledger(Lineage):
    """All books of a recording: memory, and the history over it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.outside = outside.Watched(engine)

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
        if not self.engine.is_shown(x):
            return
        given = self._see_all(inputs)
        known = self.entry_of(x)
        shared = known is not None and any(not other.is_array for other in known.aliases.values())
        entry = self.meet(x, op)
        if self.engine.records(x):  # else what gives it a history is another call, as of a function written by hand
            entry.pending = op, self._states_of(inputs)
        self.facts.append(changes.Viewed(op, entry, None, False) if shared else changes.Made(op, entry, given))
        self.see(x)

    def viewed(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """A view made ``x`` on an old storage."""
        given = self._see_all(inputs)
        key = self.engine.group(x)
        together = key is not None and key == self.engine.group(inputs[0])
        group = given[0].group if together and given else None
        if group is not None and key is not None:
            self._found(group, key)
        entry = self.meet(x, op, group)
        entry.pending = None  # it is what this makes of it, if another operation made it just before
        self.facts.append(changes.Viewed(op, entry, given[0] if given else None, group is not None))
        self.see(x)

    def wrote(self, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any = None) -> None:
        """An in-place operation wrote through ``x``: every cell of it, or those that ``where`` says."""
        entry = self.tensors.get(id(x))
        if entry is None or self.entry_of(x) is not entry.storage:
            entry = self.meet(x)
        storage, kept = entry.storage, self.engine.storage(x)
        written = self.engine.written(x, where)
        self.outside.wrote(self.engine.below(kept) or kept, written)
        before, storage.version = storage.version, self.engine.version(x)
        cover = Cover.of_write(written)
        event = self._write_event(storage, kept, cover)
        if storage.over is not None:
            event["unversioned"] = True
        old = entry.group.states.get(before)
        reads = self._states_of(inputs, besides=x)
        if before != storage.version:  # else it was noticed before it was told
            self.events.append(event)
        preserved, self._preserved = self._preserved, None
        held = {save for save in storage.saves if not save.taken}
        victims, spared = self._judge_saved(storage, preserves=self.engine.preserves(x))
        wanted = not entry.look["stop_gradient"]
        fact = changes.Wrote(op, entry, storage, before, cover, victims, preserved, spared, wanted)
        fact.recording = self.engine.records(x)
        fact.taken = [save for save in storage.saves if save.taken and save in held]
        self.facts.append(fact if storage.over is None else self._unversioned(op, entry, storage.over, cover))
        for node, partial in self.engine.nodes_of_write(x):
            if self.value_of(node) is not None:
                continue
            drawn, parents = self._is_operation(node), self.engine.parents(node)
            if drawn and old is not None and parents and parents[0] is not None:
                reads = {self.engine.key(parents[0]): old, **reads}
            value = self._value(node, entry, op if drawn else None, reads)
            value.partial = drawn and partial
            if drawn:
                fact.node = value
                self._label_own(fact, old)
                self._note_reads(node, old, entry)
        self.see(x)
        fact.reads = [other for other in self._see_all(inputs) if other is not entry]

    def _note_reads(self, node: Node, old: StateEntry | None, entry: TensorEntry) -> None:
        """A view that was out of date was brought up to date for this write: its node was never its tensor's own."""
        for parent in self.engine.parents(node):
            known = parent is None or self.value_of(parent) is not None
            if not known and self.engine.role(parent) is Role.READ and old is not None:
                self._value(parent, entry, None, {}, old)

    def reshaped(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """An in-place operation changed what ``x`` is: its shape and strides, its dtype, or its storage."""
        entry = self.tensors.get(id(x)) or self.meet(x)
        old, storage, node = dict(entry.look), entry.storage, self.engine.node(x)
        if self.entry_of(x) is not storage:
            if op == "cast_" and node is not None and self._is_operation(node):
                state = entry.group.states.get(storage.version)
                read = self.engine.parents(node)[0]
                entry.pending = op, {} if state is None or read is None else {self.engine.key(read): state}
            self.see(x)
            self.facts[-1].op = op
            return
        if node is not None and self.value_of(node) is None:
            self._value(node, entry, None, {})
        self._refresh(x, entry)
        self.facts.append(changes.Reshaped(op, entry, old))

    def changed(self, x: Tensor, op: str, where: Any = None) -> None:
        """An operation wrote through ``x`` and raised no version, as a fused step of an optimizer does."""
        entry = self.see(x)
        storage = entry.storage.root
        kept = self.engine.storage(x)
        kept = self.engine.below(kept) or kept
        written = self.engine.written(x, where)
        self.outside.wrote(kept, written)
        cover = Cover.of_write(written)
        event = self._write_event(storage, kept, cover)
        event["unversioned"] = True
        self.events.append(event)
        self.facts.append(self._unversioned(op, entry, storage, cover))

    def wrote_unheard(self, x: Tensor, entry: TensorEntry) -> None:
        """The version moved and no write was told: which cells changed is found by looking."""
        storage, kept = entry.storage, self.engine.storage(x)
        before, storage.version = storage.version, self.engine.version(x)
        writes = [fact.op for fact in self.facts if type(fact) is changes.Wrote]
        op = self.engine.writer(kept, storage.version) or (writes or [changes.UNTOLD])[-1]
        cover = Cover([], 0) if op == "_bump_inplace_version" else Cover.all_of(storage.length)
        self.events.append(self._write_event(storage, kept, cover))
        self.outside.note(kept, storage.root.known)
        victims, _ = self._judge_saved(storage, preserves=False)
        wanted = not entry.look["stop_gradient"]
        self.facts.append(changes.Wrote(op, entry, storage, before, cover, victims, None, [], wanted))

    # ---------- what the outside did ----------

    def made_elsewhere(self, storage: Storage) -> None:
        """Another thread has made a storage."""
        entry = self.alloc(storage)
        self.facts.append(changes.Elsewhere(entry, None, entry.version, []))

    def wrote_elsewhere(self, key: Key, version: int) -> None:
        """Another thread has written the storage of this key, which was at ``version`` after that."""
        storage = self.storages.get(key)
        aliases = [] if storage is None else storage.aliases.values()
        x = next((x for entry in aliases if not entry.is_array and (x := entry.ref()) is not None), None)
        if storage is None or x is None or version <= storage.version:
            return
        before, storage.version = storage.version, version
        kept = self.engine.storage(x)
        self.events.append(self._write_event(storage, kept, Cover.all_of(storage.length)))
        self.outside.note(kept, storage.root.known)
        victims, _ = self._judge_saved(storage, preserves=False)
        last = self.facts[-1] if self.facts else None
        if type(last) is changes.Elsewhere and last.storage is storage:
            last.version = version
            last.victims += victims
        else:
            self.facts.append(changes.Elsewhere(storage, before, version, victims))

    def look_outside(self) -> None:
        """Tell of what numpy and others wrote into shared memory since the last step."""
        for storage in self.outside.storages():
            entry = self.storages.get(self.engine.key(storage))
            if entry is None:
                continue
            changed = self.outside.changed(storage, entry.known)
            if not changed.size:
                continue
            cover = Cover.picked(changed)
            event = self._write_event(entry, storage, cover)
            event["unversioned"] = True
            self.events.append(event)
            self.facts.append(self._unversioned("", None, entry, cover))

    def _unversioned(
        self, op: str, entry: TensorEntry | None, storage: StorageEntry, cover: Cover
    ) -> changes.Unversioned:
        """Cells were written and no version tells: backward will read what is there now."""
        right = [save for save in storage.saves if save.storage is storage and not save.stale and self._is_held(save)]
        used = [save for save in right if cells.meets(save.event, cover.runs)]
        checked = bool(used) and all(map(self._is_checked, used))
        if not checked:
            self._overwritten_unnoticed(used)
        return changes.Unversioned(op, entry, storage, cover, used, checked)

    def _is_held(self, save: SaveEntry) -> bool:
        """Whether a backward may still ask for a saved tensor; that it was let go may not have been told."""
        node = save.node.ref() if save.node.ref is not None else None
        return not save.released and node is not None and not self.engine.is_released(node)

    def _is_checked(self, save: SaveEntry) -> bool:
        """Whether backward will compare a saved tensor with a copy of it."""
        node = save.node.ref() if save.node.ref is not None else None
        return node is not None and self.engine.is_checked(node, save.position)

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
            if type(fact) is changes.Allocated and not (
                fact.storage.freed or fact.storage.aliases or fact.storage.saves
            ):
                op = next((made.node.called for made in reversed(self.facts) if getattr(made, "node", None)), "")
                if op and "label" not in fact.storage.event:
                    fact.storage.label(f"kept by {op}")

    def _look_again(self, entry: TensorEntry) -> None:
        x = entry.ref()
        if x is None:
            return
        node, now = self.engine.node(x), self.engine.stamp(x)
        if node is None:
            entry.pending = None  # the operation that made it left it none: if it gets one, another did
        if now == entry.seen and (node is None or self.value_of(node) is not None):
            return
        self.see(x)
        self._refresh(x, entry)
        entry.seen = now


def _nowhere(node: Node) -> int:
    """In place of the recorder's, which knows the lines."""
    return 1


def _forgotten() -> None:
    """In place of a weak reference that is not needed any more."""
