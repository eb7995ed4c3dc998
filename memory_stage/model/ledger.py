"""Turn the engine's events into events of a trace, and into changes from which sentences are written.

The ledger contains only ids and weak references, so that a recording keeps no object alive.
"""

from __future__ import annotations

from typing import Any

from memory_stage.engines import events
from memory_stage.engines.protocol import Engine, Key, Node, PreservedBytes, Storage, Tensor
from memory_stage.messages import message
from memory_stage.model import changes
from memory_stage.model.covers import Cover
from memory_stage.model.entries import TensorEntry
from memory_stage.model.graph import Graph, first_line
from memory_stage.model.journal import Journal, call
from memory_stage.model.saved_tensors import SavedTensors
from memory_stage.model.storages import Storages
from memory_stage.model.tensors import Tensors
from memory_stage.model.unannounced_writes import UnannouncedWrites


class Ledger:
    """The recorded state of the program's memory and history.

    Attributes:
        journal: events and changes of the running step.
        storages: storages, their cells and meters.
        saved: tensors saved for backward.
        unannounced: finds the writes of other libraries and threads.
        tensors: tensors, numpy arrays and view groups.
        graph: nodes and memory states.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.journal = Journal()
        self.storages = Storages(engine, self.journal)
        self.saved = SavedTensors(engine, self.journal, self.storages)
        self.unannounced = UnannouncedWrites(engine, self.journal, self.storages, self.saved)
        self.tensors = Tensors(engine, self.journal, self.storages, self.unannounced)
        self.graph = Graph(engine, self.journal, self.storages, self.tensors, self.saved)

    def begin(self) -> None:
        """Start the first step. Everything that is registered so far existed before it."""
        self.update()
        self.graph.close_step()
        self.journal.begin()
        self.unannounced.shared.open()

    def stop(self) -> None:
        """Drop all references that lead to objects of the program."""
        self.journal.on_freed, self.graph.line_of_call = call, first_line
        self.unannounced.shared.close()
        for entry in self.tensors.entries.values():
            entry.ref = _none
        for node in self.graph.nodes.values():
            node.ref = _none

    def update(self) -> None:
        """Update the entries of all tensors: node, shape, need for a gradient. Find writes to shared memory."""
        for entry in list(self.tensors.entries.values()):
            self._update(entry)
        if self.journal.step >= 0:
            self.unannounced.find_in_shared_memory()
        self._label_kept()

    def _update(self, entry: TensorEntry) -> None:
        x = entry.ref()
        if x is None:
            return
        node, stamp = self.engine.node(x), self.engine.stamp(x)
        if node is None:
            entry.pending = None  # a node that the tensor gets later belongs to another operation
        if stamp == entry.seen and (node is None or self.graph.entry_of(node) is not None):
            return
        self.graph.observe(x)
        self.tensors.refresh(x, entry)
        entry.seen = stamp

    def _label_kept(self) -> None:
        """Label the storages that no tensor uses: an operation of this step made them for its backward."""
        facts = self.journal.facts
        for fact in facts:
            if type(fact) is changes.Allocated and not (
                fact.storage.freed or fact.storage.aliases or fact.storage.saves
            ):
                op = next((made.node.called for made in reversed(facts) if getattr(made, "node", None)), "")
                if op and "label" not in fact.storage.event:
                    fact.storage.label(message("kept by {operation}", operation=op))

    def record(self, event: events.Event) -> None:
        """Record an event about storages and tensors. Ignore events of backward."""
        match event:
            case events.Alloc(storage):
                self.storages.alloc(storage)
            case events.Free(storage):
                self.free(storage)
            case events.Discovery(x):
                self.graph.observe(x)
            case events.Make(x, op, inputs):
                self.add_result(x, op, inputs)
            case events.MakeView(x, op, inputs):
                self.add_view(x, op, inputs)
            case events.Write(x, op, inputs, where):
                self.add_write(x, op, inputs, where)
            case events.UnversionedWrite(x, op, where):
                self.add_unversioned_write(x, op, where)
            case events.Overwrite(storage, savers, patch):
                self.add_overwrite(storage, savers, patch)
            case events.Relayout(x, op):
                self.add_relayout(x, op)

    # ---------- storages ----------

    def free(self, storage: Storage) -> None:
        """Record that a storage is about to be freed."""
        if self.storages.is_registered(storage):
            self.free_key(self.engine.key(storage))
        else:
            self.storages.free_other(self.engine.freed(storage), self.engine.freed_on_gpu(storage))

    def free_key(self, key: Key) -> None:
        """Record that the storage with this key is about to be freed."""
        entry = self.storages.entries.get(key)
        if entry is not None:
            self.tensors.free_arrays(entry)
        self.storages.free(key)

    def alloc_on_other_thread(self, storage: Storage) -> None:
        """Register a storage that another thread has made."""
        entry = self.storages.alloc(storage)
        self.journal.facts.append(changes.Elsewhere(entry, None, entry.version, []))

    # ---------- operations ----------

    def add_result(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """Record that a normal operation made ``x``, on a new storage or on borrowed memory."""
        if not self.engine.is_shown(x):
            return
        read = self.graph.observe_all(inputs)
        known = self.tensors.storage_of(x)
        shared = known is not None and any(not other.is_array for other in known.aliases.values())
        entry = self.tensors.register(x, op)
        if self.engine.records(x):  # otherwise a later event gives the tensor a history, as for a custom function
            entry.pending = op, self.graph.states_of(inputs)
        fact = changes.Viewed(op, entry, None, False) if shared else changes.Made(op, entry, read)
        self.journal.facts.append(fact)
        self.graph.observe(x)

    def add_view(self, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """Record that a view operation made ``x`` on an existing storage."""
        given = self.graph.observe_all(inputs)
        key = self.engine.group(x)
        together = key is not None and key == self.engine.group(inputs[0])
        group = given[0].group if together and given else None
        if group is not None and key is not None:
            self.tensors.set_key(group, key)
        entry = self.tensors.register(x, op, group)
        entry.pending = None  # the view operation made the node, even if another operation made the tensor just before
        self.journal.facts.append(changes.Viewed(op, entry, given[0] if given else None, group is not None))
        self.graph.observe(x)

    def add_write(self, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any = None) -> None:
        """Record that an in-place operation wrote all cells of ``x``, or those that ``where`` selects."""
        engine, graph, tensors, journal = self.engine, self.graph, self.tensors, self.journal
        entry = tensors.entries.get(id(x))
        if entry is None or tensors.storage_of(x) is not entry.storage:
            entry = tensors.register(x, is_written=True)
        storage, kept = entry.storage, engine.storage(x)
        written = engine.written(x, where)
        self.unannounced.shared.wrote(engine.below(kept) or kept, written)
        before, storage.version = storage.version, engine.version(x)
        cover = Cover.of_write(written)
        event = self.storages.write_event(storage, kept, cover)
        if storage.over is not None:
            event["unversioned"] = True
        old = entry.group.states.get(before)
        reads = graph.states_of(inputs, besides=x)
        if before != storage.version:  # otherwise ``find_by_version`` has recorded this write before its event arrived
            journal.events.append(event)
        preserved = self.saved.pop_preserved()
        held = {save for save in storage.saves if not save.taken}
        victims, spared = self.saved.judge(storage, preserves=engine.preserves(x))
        wanted = not entry.properties["stop_gradient"]
        fact = changes.Wrote(op, entry, storage, before, cover, victims, preserved, spared, wanted)
        fact.recording = engine.records(x)
        fact.taken = [save for save in storage.saves if save.taken and save in held]
        over = storage.over
        journal.facts.append(fact if over is None else self.unannounced.unversioned(op, entry, over, cover))
        for node, partial in engine.nodes_of_write(x):
            if graph.entry_of(node) is not None:
                continue
            drawn, parents = graph.is_operation(node), engine.parents(node)
            if drawn and old is not None and parents and parents[0] is not None:
                reads = {engine.key(parents[0]): old, **reads}
            added = graph.add_node(node, entry, op if drawn else None, reads)
            added.partial = drawn and partial
            if drawn:
                fact.node = added
                self.saved.label_own(fact, old)
                graph.add_reads(node, old, entry)
        graph.observe(x)
        fact.reads = [other for other in graph.observe_all(inputs) if other is not entry]

    def add_overwrite(self, storage: Storage, savers: list[tuple[Node, int]], patch: PreservedBytes | None) -> None:
        """Record that the running write overwrites bytes that the nodes in ``savers`` have saved."""
        known = [(node, position, self.graph.save_at(node, position)) for node, position in savers]
        self.saved.add_overwrite(storage, known, patch)

    def add_relayout(self, x: Tensor, op: str) -> None:
        """Record an in-place operation that changed the shape, strides, dtype or storage of ``x``."""
        graph = self.graph
        entry = self.tensors.entries.get(id(x)) or self.tensors.register(x)
        old, storage, node = dict(entry.properties), entry.storage, self.engine.node(x)
        if self.tensors.storage_of(x) is not storage:
            if op == "cast_" and node is not None and graph.is_operation(node):
                state = entry.group.states.get(storage.version)
                read = self.engine.parents(node)[0]
                entry.pending = op, {} if state is None or read is None else {self.engine.key(read): state}
            graph.observe(x)
            self.journal.facts[-1].op = op
            return
        if node is not None and graph.entry_of(node) is None:
            graph.add_node(node, entry, None, {})
        self.tensors.refresh(x, entry)
        self.journal.facts.append(changes.Reshaped(op, entry, old))

    def add_unversioned_write(self, x: Tensor, op: str, where: Any = None) -> None:
        """Record that an operation, such as an optimizer's fused step, wrote ``x`` but did not change the version."""
        entry = self.graph.observe(x)
        kept = self.engine.storage(x)
        kept = self.engine.below(kept) or kept
        written = self.engine.written(x, where)
        self.unannounced.shared.wrote(kept, written)
        self.unannounced.add_unversioned(op, entry, entry.storage.root, kept, Cover.of_write(written))


def _none() -> None:
    """Return None; this replaces a weak reference that is no longer needed."""
