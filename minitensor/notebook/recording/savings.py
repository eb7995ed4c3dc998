"""The books of a recording, second part: what nodes saved for backward, and what writes make of it.

Whether a saved tensor is right still is asked of the engine, never worked out a second time.
"""

from __future__ import annotations

from typing import Any

from minitensor.history import Node
from minitensor.modes import modes
from minitensor.notebook.recording import cells, facts
from minitensor.notebook.recording.entries import NodeEntry, SaveEntry, StateEntry, StorageEntry
from minitensor.notebook.recording.memory import Memory
from minitensor.saving import FREED, Lost, Patch, Saved, is_right, version_saved
from minitensor.storage import Storage
from minitensor.table import ROWS


class Savings(Memory):
    """Memory, and what is saved of it."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[int, NodeEntry] = {}  # by id of the node
        self.states: dict[str, StateEntry] = {}
        self._dying: list[NodeEntry] = []
        self._unlabelled: list[SaveEntry] = []
        self._preserved: facts.Preserved | None = None  # of the write that goes on
        self._at_risk: set[SaveEntry] = set()  # by that write

    # ---------- saving ----------

    def _save(self, value: NodeEntry, position: int, what: str, saved: Saved) -> None:
        array, storage, _ = saved
        version = version_saved(saved)
        kept = self._storage(storage)
        shape, strides, offset = cells.layout(array, storage.buffer)
        at = next((s for s in self.states.values() if s.family.storage is kept and s.version == version), None)
        looking = next((entry for entry in self.tensors.values() if entry.storage is kept), None)
        save = SaveEntry(self._new_id("s"), what, kept, version, value, at, looking, position)
        value.saves.append(save)
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
        if not kept.seen_by_tensor:
            event["copy"] = True
        elif at is None:
            self._unlabelled.append(save)  # named at the end of the step, when its tensor may have a name
        self.events.append(event)
        self._show_ends(kept, storage.buffer, event)
        row = ROWS.get(value.op.removesuffix("_"))
        if not kept.seen_by_tensor and row is not None and what in row.marks:
            event["marks"] = True
            kept.event["values"] = {i: f"{int(bits):08b}" for i, bits in kept.event["values"].items()}

    def _label_own(self, fact: facts.Wrote, old: StateEntry | None) -> None:
        """Say what the operation kept of the input that it was about to overwrite, and which numbers those were."""
        entry = fact.tensor
        of = old.label if old is not None else f"{entry.name or entry.op}@{fact.before}"
        for save in fact.node.saves:
            event = save.event
            if not event.get("copy"):
                continue
            if save.storage not in fact.own:
                fact.own.append(save.storage)
            save.storage.label(f"marks of {of}, 1 bit each" if event.get("marks") else f"copy of {of}")
            if old is not None:
                event["state"] = old.id

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

    # ---------- a write takes what was saved ----------

    def taken(self, storage: Storage, savers: list[tuple[Node, int]], patch: Patch | None) -> None:
        """A write takes bytes that ``savers`` saved, as pairs of a node and a position. ``patch`` preserves them.

        It is None where an earlier one does, and where the policy preserves nothing: then they are lost.
        """
        if modes.policy != "copy_on_write":
            return
        known = [(node, self._saved_by(node, position)) for node, position in savers]
        self._at_risk = {save for _, save in known if save is not None}
        called = [save.node if save is not None else node.op.name for node, save in known]
        storages = [] if patch is None else [self._storage(each) for each in patch.storages]
        self._preserved = facts.Preserved(list(dict.fromkeys(called)), storages)
        if patch is None:
            return
        ranges = cells.patched(patch, storage.buffer)
        for (node, position), (_, save) in zip(savers, known, strict=True):
            if save is not None:
                self._preserve(save, node.saved[position], patch, storages, ranges)

    def _preserve(
        self, save: SaveEntry, saved: Any, patch: Patch, storages: list[StorageEntry], ranges: list[cells.Run]
    ) -> None:
        """Tell where the bytes of a saved tensor are now: all of them in the copy, or those at ``ranges``."""
        copy, *positions = storages
        array, buffer = patch.values, patch.storages[0].buffer
        whole = saved[1] is patch.storages[0]
        save.copies.append(copy)
        if whole:
            array, save.storage = saved[0], copy
        if not copy.event.get("label"):
            copy.label(f"copy of {save.label}" if whole else f"copy of part of {save.label}")
        for each in positions:
            each.label(f"positions for storage {copy.id}")
        shape, strides, offset = cells.layout(array, buffer)
        event = {
            "do": "preserve",
            "id": save.id,
            "storage": copy.id,
            "shape": shape,
            "strides": strides,
            "offset": offset,
        }
        if not whole:
            event["ranges"] = [list(run) for run in ranges]
        self.events.append(event)
        self._show_ends(copy, buffer, event)

    def _saved_by(self, node: Node, position: int) -> SaveEntry | None:
        value = self.values.get(id(node))
        return next((save for save in value.saves if save.position == position), None) if value is not None else None

    def _judge_saved(self, storage: StorageEntry, preserves: bool) -> tuple[list[SaveEntry], list[SaveEntry]]:
        """After a write to ``storage``: which saved tensors it made stale, and which it left alone."""
        stale: list[SaveEntry] = []
        spared: list[SaveEntry] = []
        for value in self.values.values():
            node = value.ref() if value.ref is not None else None
            if node is None or node.saved is FREED:
                continue
            for save in value.saves:
                if save.released or save.storage is not storage:
                    continue
                saved = node.saved[save.position]
                if is_right(saved):
                    if preserves and save not in self._at_risk:
                        spared.append(save)
                    continue
                now = "lost" if type(saved[2]) is Lost else "moved"
                if now != save.stale:
                    save.stale = now
                    stale.append(save)
        self._at_risk = set()
        for kind in ("lost", "moved"):
            ids = [save.id for save in stale if save.stale == kind]
            if ids:
                self.events.append({"do": "stale", "ids": ids, "lost": kind == "lost"})
        return stale, spared
