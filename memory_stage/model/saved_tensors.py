"""The tensors that nodes save for backward, and the effects of writes on them.

Only the engine can decide if a saved tensor is still valid, so this module asks the engine.
"""

from __future__ import annotations

from memory_stage.engines.protocol import Copied, Engine, Node, PreservedBytes, Saved, SavedTensorState, Storage
from memory_stage.messages import message
from memory_stage.model import changes
from memory_stage.model.entries import NodeEntry, SaveEntry, StateEntry, StorageEntry
from memory_stage.model.journal import Journal
from memory_stage.model.storages import Storages


class SavedTensors:
    """The saved tensors of a recording. Each is listed at its node and at its storage."""

    def __init__(self, engine: Engine, journal: Journal, storages: Storages) -> None:
        self._engine = engine
        self._journal = journal
        self._storages = storages
        self._unlabelled: list[SaveEntry] = []
        self._preserved: changes.BytesPreserved | None = None  # bytes that the running write has copied
        self._at_risk: set[SaveEntry] = set()  # saved tensors that the running write has overwritten

    # ---------- saving and releasing ----------

    def save(self, node: NodeEntry, saved: Saved) -> None:
        """Record one saved tensor of a node."""
        position, what, storage, (shape, strides, offset), version, marks, inferred = saved
        entry = self._storages.entry_of(storage)
        read = [state for state in (*node.reads.values(), node.state) if state.group.storage is entry]
        others = [group.states[version] for group in entry.groups if version in group.states]
        at = next((state for state in read + others if state.version == version), None)
        tensor = next((each for each in entry.aliases.values() if not each.is_array), None)
        save = SaveEntry(self._journal.new_id("s"), what, entry, version, node, at, tensor, position)
        node.saves.append(save)
        entry.saves.append(save)
        save.event = event = {
            "do": "save",
            "id": save.id,
            "node": node.drawn,
            "what": what,
            "state": at.id if at is not None else None,
            "storage": entry.id,
            "shape": shape,
            "strides": strides,
            "offset": offset,
            "version": version,
        }
        if inferred:
            event["inferred"] = True
        if not entry.seen_by_tensor:
            event["copy"] = True
        elif at is None:
            self._unlabelled.append(save)
        self._journal.events.append(event)
        self._storages.show_ends(entry, storage, event)
        if not entry.seen_by_tensor and marks:
            event["marks"] = True
            entry.event["values"] = {i: f"{int(bits):08b}" for i, bits in entry.event["values"].items()}

    def label_unlabelled(self) -> None:
        """Label the saved tensors without a memory state, at the end of a step, because tensors have names then."""
        for save in self._unlabelled:
            save.event["what"] = save.label
        self._unlabelled.clear()

    def label_own(self, fact: changes.Wrote, old: StateEntry | None) -> None:
        """Label the copies of an input that an in-place operation saved before it overwrote the input."""
        entry = fact.tensor
        of = old.label if old is not None else f"{entry.short_name or entry.op}@{fact.before}"
        for save in fact.node.saves if fact.node is not None else ():
            event = save.event
            if not event.get("copy"):
                continue
            if save.storage not in fact.own:
                fact.own.append(save.storage)
            save.storage.label(
                message("1-bit marks of {state}", state=of)
                if event.get("marks")
                else message("copy of {state}", state=of)
            )
            if old is not None:
                event["state"] = old.id

    def release(self, node: NodeEntry) -> None:
        """Release the saved tensors of a node after its backward."""
        ids = [save.id for save in node.saves if not save.released]
        for save in node.saves:
            save.released = True
        if ids:
            self._journal.events.append({"do": "release", "ids": ids})

    # ---------- writes ----------

    def add_overwrite(
        self, storage: Storage, savers: list[tuple[Node, int, SaveEntry | None]], patch: PreservedBytes | None
    ) -> None:
        """Record that the running write overwrites saved bytes of ``storage``.

        Args:
            savers: for each overwritten saved tensor, its node, its position there, and its entry or None.
            patch: the copy of the bytes; None if an earlier write copied them, or if they are lost.
        """
        kept = [each for each in savers if self._engine.saved_state(each[0], each[1]) is not SavedTensorState.LOST]
        if not kept:
            return
        if self._preserved is None:
            self._preserved = changes.BytesPreserved()
        fact = self._preserved
        names = [save.node if save is not None else self._engine.name(node) for node, _, save in kept]
        (fact.savers if patch is not None else fact.idle).extend(names)
        if patch is not None:
            fact.nbytes += patch.nbytes
            copy, *notes = map(self._storages.entry_of, patch.storages)
            fact.storages += [each for each in (copy, *notes) if each not in fact.storages]
            label = next((save.label for _, _, save in kept if save is not None), "")
            if label and "label" not in copy.event:
                copy.label(message("part of {state}", state=label))
            for each in notes:
                each.label(message("where storage {storage} belongs", storage=copy.id))
        for node, position, save in kept:
            if save is not None:
                self._at_risk.add(save)
                self._preserve(save, self._engine.copies(node, position, storage))

    def _preserve(self, save: SaveEntry, copied: list[Copied]) -> None:
        """Record where the bytes of a saved tensor are now: in one copy, or distributed over several."""
        copies = []
        for each in copied:
            copy = self._storages.entry_of(each.storage)
            if each.ranges is None:
                if copy is save.storage:
                    return
                copy.label(message("copy of {state}", state=save.label))
                save.storage = copy
                copy.saves.append(save)
            elif copy in save.copies:
                copies.append(copy)
                continue
            elif "label" not in copy.event:  # the copy is new, because the engine joined several earlier copies in it
                copy.label(message("part of {state}", state=save.label))
            copies.append(copy)
            self._add_copy(save, copy, each)
        save.copies = copies

    def _add_copy(self, save: SaveEntry, copy: StorageEntry, copied: Copied) -> None:
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
        self._journal.events.append(event)
        self._storages.show_ends(copy, copied.storage, event)

    def pop_preserved(self) -> changes.BytesPreserved | None:
        """Return the bytes that the running write copied, and start with an empty record for the next write."""
        preserved, self._preserved = self._preserved, None
        return preserved

    def overwrite_unnoticed(self, saves: list[SaveEntry]) -> None:
        """Record that a write overwrote saved bytes without a new version, so backward() will use the new values."""
        ids = [save.id for save in saves if not save.taken]
        for save in saves:
            save.taken = True
        if ids:
            self._journal.events.append({"do": "stale", "ids": ids, "lost": True, "unnoticed": True})

    def judge(self, storage: StorageEntry, preserves: bool) -> tuple[list[SaveEntry], list[SaveEntry]]:
        """Record and return the saved tensors that a write to ``storage`` made stale. Also return those that it spared.

        Args:
            preserves: True under the policy that copies saved bytes before a write: the second list then has the valid
                saved tensors whose cells the write did not cover. Otherwise it is empty.
        """
        stale: list[SaveEntry] = []
        spared: list[SaveEntry] = []
        storage.saves = [save for save in storage.saves if save.storage is storage and not save.released]
        for save in storage.saves:
            node = save.node.ref() if save.node.ref is not None else None
            state = self._engine.saved_state(node, save.position) if node is not None else SavedTensorState.RELEASED
            if state in (SavedTensorState.LOST, SavedTensorState.MOVED):
                kind = "lost" if state is SavedTensorState.LOST else "moved"
                if kind != save.stale:
                    save.stale = kind
                    stale.append(save)
            elif state is SavedTensorState.TAKEN and not save.taken:
                self.overwrite_unnoticed([save])
            elif state is SavedTensorState.RIGHT and preserves and save not in self._at_risk:
                spared.append(save)
        self._at_risk = set()
        for kind in ("lost", "moved"):
            ids = [save.id for save in stale if save.stale == kind]
            if ids:
                self._journal.events.append({"do": "stale", "ids": ids, "lost": kind == "lost"})
        return stale, spared
