"""The books of a recording, third part: what nodes saved for backward, and what writes make of it.

Whether a saved tensor is right still is asked of the engine, never worked out a second time.
"""

from __future__ import annotations

from memory_stage.engines.protocol import Copied, Engine, Fate, Key, Node, Patch, Saved, Storage
from memory_stage.model import changes
from memory_stage.model.aliases import Aliases
from memory_stage.model.entries import NodeEntry, SaveEntry, StateEntry, StorageEntry


class Savings(Aliases):
    """Memory, who looks at it, and what is saved of it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.values: dict[Key, NodeEntry] = {}  # by key of the node
        self.states: dict[str, StateEntry] = {}
        self._dying: list[NodeEntry] = []
        self._unlabelled: list[SaveEntry] = []
        self._preserved: changes.Preserved | None = None  # of the write that goes on
        self._at_risk: set[SaveEntry] = set()  # by that write

    # ---------- saving ----------

    def _save(self, value: NodeEntry, saved: Saved) -> None:
        position, what, storage, (shape, strides, offset), version, marks, inferred = saved
        kept = self._storage(storage)
        read = [state for state in (*value.reads.values(), value.state) if state.group.storage is kept]
        others = [group.states[version] for group in kept.groups if version in group.states]
        at = next((state for state in read + others if state.version == version), None)
        looking = next((entry for entry in kept.aliases.values() if not entry.is_array), None)
        save = SaveEntry(self._new_id("s"), what, kept, version, value, at, looking, position)
        value.saves.append(save)
        kept.saves.append(save)
        save.event = event = {
            "do": "save",
            "id": save.id,
            "node": value.drawn,
            "what": what,
            "state": at.id if at is not None else None,
            "storage": kept.id,
            "shape": shape,
            "strides": strides,
            "offset": offset,
            "version": version,
        }
        if inferred:
            event["inferred"] = True
        if not kept.seen_by_tensor:
            event["copy"] = True
        elif at is None:
            self._unlabelled.append(save)  # named at the end of the step, when its tensor may have a name
        self.events.append(event)
        self._show_ends(kept, storage, event)
        if not kept.seen_by_tensor and marks:
            event["marks"] = True
            kept.event["values"] = {i: f"{int(bits):08b}" for i, bits in kept.event["values"].items()}

    def _label_own(self, fact: changes.Wrote, old: StateEntry | None) -> None:
        """Say what the operation kept of the input that it was about to overwrite, and which numbers those were."""
        entry = fact.tensor
        of = old.label if old is not None else f"{entry.name or entry.op}@{fact.before}"
        for save in fact.node.saves if fact.node is not None else ():
            event = save.event
            if not event.get("copy"):
                continue
            if save.storage not in fact.own:
                fact.own.append(save.storage)
            save.storage.label(f"1-bit marks of {of}" if event.get("marks") else f"copy of {of}")
            if old is not None:
                event["state"] = old.id

    def node_gone(self, key: Key) -> None:
        """The node with this identity went, and what it saved with it."""
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

    # ---------- a write takes what was saved ----------

    def taken(self, storage: Storage, savers: list[tuple[Node, int]], patch: Patch | None) -> None:
        """The write that goes on takes bytes that ``savers`` saved, as pairs of a node and a position.

        ``patch`` preserves them. It is None where earlier ones do, and where nothing is preserved: then they are lost.
        More than one call may come for one write.
        """
        known = [(node, position, self._saved_by(node, position)) for node, position in savers]
        kept = [each for each in known if self.engine.fate(each[0], each[1]) is not Fate.LOST]
        if not kept:
            return
        if self._preserved is None:
            self._preserved = changes.Preserved()
        fact = self._preserved
        called = [save.node if save is not None else self.engine.name(node) for node, _, save in kept]
        (fact.savers if patch is not None else fact.idle).extend(called)
        if patch is not None:
            fact.nbytes += patch.nbytes
            copy, *notes = map(self._storage, patch.storages)
            fact.storages += [each for each in (copy, *notes) if each not in fact.storages]
            label = next((save.label for _, _, save in kept if save is not None), "")
            if label and "label" not in copy.event:
                copy.label(f"part of {label}")
            for each in notes:
                each.label(f"where storage {copy.id} belongs")
        for node, position, save in kept:
            if save is not None:
                self._at_risk.add(save)
                self._preserve(save, self.engine.copies(node, position, storage))

    def _preserve(self, save: SaveEntry, copied: list[Copied]) -> None:
        """Tell where the bytes of a saved tensor are now: all of them in a copy, or some in one copy or several."""
        copies = []
        for each in copied:
            copy = self._storage(each.storage)
            if each.ranges is None:
                if copy is save.storage:
                    return
                copy.label(f"copy of {save.label}")
                save.storage = copy
                copy.saves.append(save)
            elif copy in save.copies:
                copies.append(copy)
                continue
            elif "label" not in copy.event:  # several copies were joined
                copy.label(f"part of {save.label}")
            copies.append(copy)
            self._tell_copy(save, copy, each)
        save.copies = copies

    def _tell_copy(self, save: SaveEntry, copy: StorageEntry, copied: Copied) -> None:
        shape, strides, offset = copied.layout
        event = {
            "do": "preserve",
            "id": save.id,
            "storage": copy.id,
            "shape": shape,
            "strides": strides,
            "offset": offset,
        }
        if copied.ranges:
            event["ranges"] = [list(run) for run in copied.ranges]
        self.events.append(event)
        self._show_ends(copy, copied.storage, event)

    def _saved_by(self, node: Node, position: int) -> SaveEntry | None:
        value = self.values.get(self.engine.key(node))
        return next((save for save in value.saves if save.position == position), None) if value is not None else None

    def _overwritten_unnoticed(self, saves: list[SaveEntry]) -> None:
        """A write took bytes of these, and backward will use the new numbers: no version tells."""
        ids = [save.id for save in saves if not save.taken]
        for save in saves:
            save.taken = True
        if ids:
            self.events.append({"do": "stale", "ids": ids, "lost": True, "unnoticed": True})

    def _judge_saved(self, storage: StorageEntry, preserves: bool) -> tuple[list[SaveEntry], list[SaveEntry]]:
        """After a write to ``storage``: which saved tensors it made stale, and which it left alone."""
        stale: list[SaveEntry] = []
        spared: list[SaveEntry] = []
        storage.saves = [save for save in storage.saves if save.storage is storage and not save.released]
        for save in storage.saves:
            node = save.node.ref() if save.node.ref is not None else None
            fate = self.engine.fate(node, save.position) if node is not None else Fate.RELEASED
            if fate in (Fate.LOST, Fate.MOVED):
                now = "lost" if fate is Fate.LOST else "moved"
                if now != save.stale:
                    save.stale = now
                    stale.append(save)
            elif fate is Fate.TAKEN and not save.taken:
                self._overwritten_unnoticed([save])
            elif fate is Fate.RIGHT and preserves and save not in self._at_risk:
                spared.append(save)
        self._at_risk = set()
        for kind in ("lost", "moved"):
            ids = [save.id for save in stale if save.stale == kind]
            if ids:
                self.events.append({"do": "stale", "ids": ids, "lost": kind == "lost"})
        return stale, spared
