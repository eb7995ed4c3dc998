"""Saving for backward, and what happens when a write takes what was saved.

A node saves tensors by reference: an array, its storage, and the version that the storage had. The storage knows who
saved from it, by weak references: a saver that dies first costs nothing. Just before a write, :func:`before_write`
finds the savers whose bytes it is about to take. Under the policy "copy_on_write" those bytes, and no others, are
preserved in a :class:`~minitensor.saving.patches.Patch`; under the others the savers learn that their tensor is
:class:`Lost`, and which line took it. :func:`recovered` is what backward asks: the saved array as it was, or the error
that says why there is none.

What is preserved is freed with the last node that needs it. So cells that other nodes need have a patch of their own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.core.errors import stale
from minitensor.core.regions import address
from minitensor.core.storage import Storage
from minitensor.events import watch
from minitensor.modes import modes
from minitensor.saving.cells import Cells, touch
from minitensor.saving.patches import Group, Patch, add, as_it_was, joined, preserved

if TYPE_CHECKING:
    from minitensor.core.history import Node, Saved

#: A node and the position of a saved tensor in its ``saved``.
Member = tuple["Node", int]

#: Stands in ``Node.saved`` once a backward without ``retain_graph`` has used it.
FREED: Any = "freed"


def remember(storage: Storage, node: Node, ref: Any = weakref.ref) -> None:
    """``node`` has saved from ``storage``: a later write must know."""
    savers = storage.savers
    if savers is None:
        storage.savers = [ref(node)]
        return
    savers.append(ref(node))
    if len(savers) & 63 == 63:
        tidy(savers)


def tidy(savers: list[Any]) -> None:
    """Drop the dead, so that the list of a storage that is read a million times stays small.

    Called at every 64th entry, it looks only at each doubling, and copies only what then shrinks: a constant cost for
    each entry, however long they live.
    """
    count = len(savers) + 1  # called with 63, 127, ... entries, so that the empty list of a constant never is
    if count & (count - 1) == 0:
        living = [link for link in savers if link() is not None]
        if len(living) <= count * 3 // 4:
            savers[:] = living


# ---------- what became of a saved tensor ----------


class Preserved:
    """In place of a version: bytes of the saved tensor were preserved.

    Attributes:
        version: the version at which it was saved.
        patches: what holds them. The oldest comes first, and is right where two have a cell in common.
        left: how many of its cells are not preserved, because no write has taken them.
        noted: how all of it was, under ``check_foreign_writes``; there may be no patches then.
    """

    __slots__ = ("version", "patches", "left", "noted")

    def __init__(self, version: int, patches: tuple[Patch, ...], left: int, noted: Any = None) -> None:
        self.version, self.patches, self.left, self.noted = version, patches, left, noted


class Lost:
    """In place of a version: bytes of the saved tensor were overwritten, by ``op``, which made version ``made``."""

    __slots__ = ("version", "made", "op", "code", "instruction")

    def __init__(self, version: int, made: int, op: str, code: CodeType, instruction: int) -> None:
        self.version, self.made, self.op, self.code, self.instruction = version, made, op, code, instruction


def version_saved(saved: Saved) -> int:
    """The version at which a tensor was saved."""
    version = saved[2]
    return version if type(version) is int else version.version


def is_right(saved: Saved) -> bool:
    """Whether backward can still have the saved tensor as it was."""
    _, storage, version = saved
    if type(version) is not int:
        if type(version) is Lost:
            return False
        if version.left == 0:
            return True  # nothing of it depends on the storage any more
        version = version.version
    if storage.version == version:
        return True
    # Writes under "copy_on_write" harm nobody: what they took was preserved. All since then must have been such.
    kept_from, kept_to = getattr(storage, "kept", (0, -1))
    return kept_to == storage.version and kept_from <= version


def recovered(node: Node, what: str, saved: Saved) -> np.ndarray:
    """The saved array as it was when ``node`` saved it, although its storage has been written since.

    Raises:
        RuntimeError: when it is lost, or may be; or, under ``check_foreign_writes``, was written from outside.
    """
    if not is_right(saved):
        raise stale(node, what, saved)
    array, _, version = saved
    if type(version) is int:
        return array
    if version.patches:
        array = as_it_was(array, version.patches)
    if version.noted is not None:
        version.noted.check(node, what, saved, array)
    return array


# ---------- around a write ----------


class Plan:
    """What a write is about to take, and from whom.

    Attributes:
        keeps: whether the policy is "copy_on_write".
        groups: under it, whose bytes the write takes, or took before and are preserved.
        patches: what will stand in for these bytes, each with the groups that need it.
        lost: pairs of a node and a position in its ``saved``, for which nothing is preserved.
        spoiled: those whose bytes the write leaves alone, and which it makes stale by version although some of
            these bytes are preserved: they are let go.
    """

    __slots__ = ("keeps", "groups", "patches", "lost", "spoiled")

    def __init__(self, keeps: bool, lost: list[Member], spoiled: Sequence[Member] = ()) -> None:
        self.keeps, self.lost, self.spoiled = keeps, lost, spoiled
        self.groups: list[Group] = []
        self.patches: list[tuple[Patch, list[Group]]] = []


def before_write(storage: Storage, array: np.ndarray, own: Saved | None = None, index: Any = None) -> Plan | None:
    """Find who still needs the bytes that a write through ``array`` (at ``index``, when advanced) is about to take.

    Nothing changes yet: the write may still fail. ``own`` is a copy of all of ``array`` that was made anyway.
    """
    savers, patched = _touched(storage, array)
    keeps = modes.policy == "copy_on_write"
    if not savers and (keeps or not patched):
        return Plan(True, []) if keeps else None
    written = Cells.of(array)
    if index is not None:
        written, own = Cells.picked(array, index), None
        savers = [(node, k) for node, k in savers if Cells.reached(node.saved[k][0]).meets(written)]
    if not keeps:
        return Plan(False, savers, [saver for saver in patched if saver not in savers])
    # Nothing is preserved for a saver that an earlier write under another policy has made stale.
    plan = Plan(True, [(node, k) for node, k in savers if not is_right(node.saved[k])])
    groups: dict[Any, Group] = {}
    for node, k in savers:
        saved = node.saved[k]
        if is_right(saved):
            array_saved, _, version = saved
            patches, left = (version.patches, version.left) if type(version) is Preserved else ((), None)
            key = address(array_saved), array_saved.shape, array_saved.strides, id(patches)
            if key not in groups:
                groups[key] = Group(array_saved, patches, left)
            groups[key].members.append((node, k))
    plan.groups = list(groups.values())
    plan.patches = preserved(plan.groups, storage, array if index is None else None, written, own)
    return plan


def _touched(storage: Storage, array: np.ndarray) -> tuple[list[Member], list[Member]]:
    """Who has saved bytes of ``array`` and may still want them; and of whose bytes some are preserved.

    Savers that want nothing of the storage any more are dropped from its list on the way.
    """
    found, patched = [], []
    living = {}
    lost = not storage.savers  # an empty list is what losses leave
    for link in storage.savers:  # type: ignore[union-attr]
        node = link()
        if node is None or node.saved is FREED or link in living:
            continue
        stays = False
        for k, entry in enumerate(node.saved):
            if type(entry) is tuple and len(entry) == 3 and entry[1] is storage:
                version = entry[2]
                if type(version) is Lost:
                    lost = True
                    continue
                if type(version) is Preserved and version.left == 0:
                    continue
                stays = True
                if type(version) is Preserved:
                    patched.append((node, k))
                if touch(entry[0], array):
                    found.append((node, k))
        if stays:
            living[link] = None
    if type(storage.savers) is list:
        # An error about what was lost may name later writes, too: they are noted while there is a list.
        storage.savers = list(living) if living or lost else None
    else:
        storage.savers[:] = living  # type: ignore[index]  # it notes what is saved
    return found, patched


def before_write_of_part(
    storage: Storage, array: np.ndarray, part: Callable[[], tuple[np.ndarray, Any]], own: Saved | None = None
) -> Plan | None:
    """The same for an operation that writes ``part()`` of ``array``: an array on the same memory, and an index."""
    try:
        shown, index = part()
    except (ValueError, IndexError, TypeError):
        shown, index = array, None  # the operation itself says what is wrong
    return before_write(storage, shown, own, index)


def index_written(array: np.ndarray, part: Callable[[], tuple[np.ndarray, Any]]) -> Any:
    """The advanced index of what an operation wrote of ``array``; None where it cannot be told as one."""
    shown, index = part()
    return index if shown is array else None


def after_write(plan: Plan, storage: Storage, op: str, code: CodeType, instruction: int) -> None:
    """The write has happened and made a version: tell the savers."""
    version = storage.version
    for node, k in plan.lost:
        array, _, _ = saved = node.saved[k]
        _replace(node, k, (array, storage, Lost(version_saved(saved), version, op, code, instruction)))
    for node, k in plan.spoiled:
        array, _, saved_at = node.saved[k]
        _replace(node, k, (array, storage, saved_at.version))
    if plan.keeps:
        kept_from, kept_to = getattr(storage, "kept", (0, -1))
        storage.kept = (kept_from if kept_to == version - 1 else version - 1), version
        for patch, needing in plan.patches:
            add(patch, needing)
        for group in plan.groups:
            if group.taken:
                _settle(group)
    if watch.listener is not None:
        idle = [member for group in plan.groups if not group.taken for member in group.members]
        for patch, needing in plan.patches:
            watch.listener("taken", storage, [member for group in needing for member in group.members], patch)
        if idle or plan.lost:
            watch.listener("taken", storage, idle + plan.lost, None)


def _settle(group: Group) -> None:
    """Tell the members of ``group`` what is preserved now; when that is all, they let go of the storage if they can."""
    left = group.left - group.taken
    if left == 0 and len(group.patches) > 1 and all(p.holders == len(group.members) for p in group.patches):
        group.patches = (joined(group.patches),)
    for node, k in group.members:
        array, storage, _ = saved = node.saved[k]
        shown = group.patches[0].shown(array) if left == 0 and len(group.patches) == 1 else None
        noted = getattr(saved[2], "noted", None)
        if shown is None or (noted is not None and noted.changed(shown).any()):
            _replace(node, k, (array, storage, Preserved(version_saved(saved), group.patches, left, noted)))
        else:
            kept = group.patches[0].storages[0]
            _replace(node, k, (shown, kept, kept.version))
            remember(kept, node)


def _replace(node: Node, k: int, saved: Saved) -> None:
    entries = list(node.saved)
    entries[k] = saved
    node.saved = tuple(entries)
