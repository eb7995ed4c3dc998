"""One write, whoever makes it: the four steps that every write into a storage takes.

1. Who still needs the bytes that are about to be taken? :func:`before_write` finds them, where anybody saved at all.
2. The bytes are written.
3. The version rises; also when the write was interrupted (:func:`broken_off`).
4. The savers are told, and the line is noted that wrote (:func:`after_write`).

:func:`write` is these steps. The operations of the table have them in their own text, where a write that nobody saved
from costs one test (``print(minitensor.source("add_"))``); all that is rarer is here.

Under the policy "copy_on_write" the bytes that somebody needs, and no others, are preserved in a
:class:`~minitensor.saving.patches.Patch`; under the others ("2.6", the default, and "2.5") the savers learn that their
tensor is :class:`~minitensor.saving.saved.Lost`, and which line took it. What is preserved is freed with the last node
that needs it. So cells that other nodes need have a patch of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from minitensor.core.regions import address
from minitensor.core.storage import Storage, calling_frame, outside_engine, write_log
from minitensor.events import watch
from minitensor.modes import modes
from minitensor.saving.cells import Cells, touch
from minitensor.saving.patches import Group, Patch, add, joined, preserved
from minitensor.saving.saved import FREED, Lost, Member, Preserved, is_right, remember, version_saved

if TYPE_CHECKING:
    from minitensor.core.history import Node, Saved
    from minitensor.core.tensor import Tensor


def write(
    storage: Storage,
    array: np.ndarray,
    op: str,
    frame: FrameType | None,
    store: Callable[..., Any],
    *given: Any,
    index: Any = None,
) -> None:
    """Call ``store(*given)``, which overwrites ``array``, or what an advanced ``index`` picks of it, as one write.

    Args:
        storage: what ``array`` lies in.
        op: what to call the write in errors.
        frame: the frame that asked for it; None for the innermost one outside the engine.
    """
    plan = None if storage.savers is None else before_write(storage, array, None, index)
    try:
        store(*given)
    except BaseException as error:
        broken_off(storage, error)
        raise
    storage.version += 1
    if plan is not None:
        after_write(plan, storage, op, frame or calling_frame())


# ---------- when it fails ----------


def broken_off(storage: Storage, error: BaseException) -> None:
    """A write into ``storage`` has raised ``error``.

    What is wrong with operands shows before anything is written. An interruption comes at any time: nobody knows what
    has been written, so what was saved of it may be wrong.
    """
    if isinstance(error, KeyboardInterrupt):
        storage.version += 1


def unless_written(
    error: BaseException, explain: Callable[..., Exception], op: str, x: Tensor, arrays: tuple[np.ndarray, ...]
) -> None:
    """An operation of the table that writes ``x`` has raised ``error``: raise what there is to be said of it.

    numpy raises what it finds of inf and nan after it has written; they are values here, and this returns.
    """
    if isinstance(error, (FloatingPointError, RuntimeWarning)):
        return
    if isinstance(error, (ValueError, TypeError, OverflowError, IndexError)):
        raise explain(op, x, error, arrays) from None
    broken_off(x._storage, error)
    try:
        raise error
    finally:
        del error  # it leads to this frame, which would lead back to it


# ---------- before it ----------


class Plan:
    """What a write is about to take, and from whom.

    Attributes:
        keeps: whether the policy is "copy_on_write".
        groups: under it, whose bytes the write takes, or took before and are preserved.
        patches: what will stand in for these bytes, each with the groups that need it.
        lost: pairs of a node and a position in its ``saved``, for which nothing is preserved.
        spoiled: savers with patches whose bytes this write does not take: it makes them stale all the same, by
            version, so their patches are let go.
    """

    __slots__ = ("keeps", "groups", "patches", "lost", "spoiled")

    def __init__(self, keeps: bool, lost: list[Member], spoiled: Sequence[Member] = ()) -> None:
        self.keeps, self.lost, self.spoiled = keeps, lost, spoiled
        self.groups: list[Group] = []
        self.patches: list[tuple[Patch, list[Group]]] = []


#: A write of what nobody needs any more: there is only its line to be noted; and, under "copy_on_write", its run
#: (``Storage.kept``).
TAKING_NOTHING, KEEPING_NOTHING = Plan(False, []), Plan(True, [])


def before_write(storage: Storage, array: np.ndarray, own: Saved | None = None, index: Any = None) -> Plan:
    """Find who still needs the bytes that a write through ``array`` (at ``index``, when advanced) is about to take.

    Only asked where ``storage.savers`` is not None. Nothing changes yet: the write may still fail. ``own`` is a copy of
    all of ``array`` that was made anyway.
    """
    keeps = modes.policy == "copy_on_write"
    if not storage.savers:  # those that there were have lost what they saved, and the line is noted for them
        return KEEPING_NOTHING if keeps else TAKING_NOTHING
    savers, patched = _touched(storage, array)
    if not savers and (keeps or not patched):
        return KEEPING_NOTHING if keeps else TAKING_NOTHING
    written = Cells.of(array)
    if index is not None:
        written, own = Cells.picked(array, index), None
        savers = [(node, k) for node, k in savers if Cells.reached(node.saved[k][0]).meets(written)]
    if not keeps:
        return Plan(False, savers, [saver for saver in patched if saver not in savers])
    # From here on "copy_on_write". Nothing is preserved for a saver that an earlier write under another policy has made
    # stale.
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
    living: dict[Any, None] = {}
    lost = False
    for link in storage.savers:  # type: ignore[union-attr]  # it has savers, or nobody asks
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
        storage.savers[:] = living  # type: ignore[index]  # a list of ``sharing.foreign_writes``
    return found, patched


def before_write_of_part(
    storage: Storage, array: np.ndarray, part: Callable[[], tuple[np.ndarray, Any]], own: Saved | None = None
) -> Plan:
    """The same for an operation that writes ``part()`` of ``array``: an array on the same memory, and an index."""
    try:
        shown, index = part()
    except (ValueError, IndexError, TypeError):
        shown, index = array, None  # the operation itself says what is wrong
    return before_write(storage, shown, own, index)


def index_written(array: np.ndarray, part: Callable[[], tuple[np.ndarray, Any]]) -> Any:
    """The advanced index, a tuple, of what an operation wrote of ``array``; None where it cannot be told as one."""
    shown, index = part()
    if shown is not array:
        return None
    return index if isinstance(index, tuple) else (index,)


# ---------- after it ----------


def after_write(plan: Plan, storage: Storage, op: str, frame: FrameType) -> None:
    """The write that ``frame`` asked for has happened and made a version: note its line, and tell the savers."""
    frame = outside_engine(frame)
    version, code, instruction = storage.version, frame.f_code, frame.f_lasti
    write_log.append((ref(storage), version, op, code, instruction))
    if plan is TAKING_NOTHING:
        return
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
    listener = watch.listener
    if listener is not None:
        idle = [member for group in plan.groups if not group.taken for member in group.members]
        for patch, needing in plan.patches:
            listener("taken", storage, [member for group in needing for member in group.members], patch)
        if idle or plan.lost:
            listener("taken", storage, idle + plan.lost, None)


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
