"""One write: the four steps that every write into a storage takes.

1. :func:`before_write` finds the savers of the bytes to be overwritten, if any node saved from this storage.
2. The bytes are written.
3. The version rises, even if the write was interrupted (:func:`write_failed`).
4. :func:`after_write` logs the line of the write and updates the savers.

:func:`write` performs these steps. The generated code of table operations also contains them
(``print(minitensor.source("add_"))``). If no node saved from the storage, steps 1 and 4 only cost a test.

Under the policy "copy_on_write", a write copies the bytes that saved tensors need into a
:class:`~minitensor.engine.saved.patches.Patch`, which is freed with the last node that needs it. Under "2.6" (the
default) and "2.5", it replaces the version of each overwritten saved tensor by a
:class:`~minitensor.engine.saved.saved.Lost`, which records the line of the write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from minitensor.engine.core.storage import Storage, calling_frame, outside_engine, write_log
from minitensor.engine.device.arrays import address_of
from minitensor.engine.events import SavedOverwritten, watch
from minitensor.engine.modes import modes
from minitensor.engine.saved.cells import Cells, touch
from minitensor.engine.saved.patches import Patch, SaveGroup, add, joined, preserved
from minitensor.engine.saved.saved import FREED, Lost, Member, Preserved, is_intact, remember, version_saved

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node, Saved
    from minitensor.engine.core.tensor import Tensor


def write(
    storage: Storage,
    array: np.ndarray,
    op: str,
    frame: FrameType | None,
    store: Callable[..., Any],
    *given: Any,
    index: Any = None,
) -> None:
    """Call ``store(*given)``, which overwrites ``array`` (or ``array[index]`` with an advanced index), as one write.

    Args:
        storage: the storage of ``array``.
        op: the name of the write in errors.
        frame: the frame that requested the write; None for the innermost one outside the engine.
    """
    plan = None if storage.savers is None else before_write(storage, array, None, index)
    try:
        store(*given)
    except BaseException as error:
        write_failed(storage, error)
        raise
    storage.version += 1
    if plan is not None:
        after_write(plan, storage, op, frame or calling_frame())


# ---------- a write that raises ----------


def write_failed(storage: Storage, error: BaseException) -> None:
    """Increment the version of ``storage`` if ``error`` may have interrupted a write.

    Invalid operands raise errors before anything is written. An interrupt may occur after some elements are written, so
    values that were saved from the storage may be wrong.
    """
    if isinstance(error, KeyboardInterrupt):
        storage.version += 1


def raise_unless_written(
    error: BaseException, explain: Callable[..., Exception], op: str, x: Tensor, arrays: tuple[np.ndarray, ...]
) -> None:
    """Raise ``error``, or an error that explains it, unless ``x`` was written completely.

    numpy raises errors about inf and nan after it has written. These are valid values, so this function raises nothing.
    """
    if isinstance(error, (FloatingPointError, RuntimeWarning)):
        return
    if isinstance(error, (ValueError, TypeError, OverflowError, IndexError)):
        raise explain(op, x, error, arrays) from None
    write_failed(x._storage, error)
    try:
        raise error
    finally:
        del error  # the error and this frame refer to each other


# ---------- before a write ----------


class Plan:
    """The effect of a write on saved bytes, computed before it happens.

    Attributes:
        preserves: true if the policy is "copy_on_write".
        groups: under this policy, the groups of saved tensors that share bytes with the write.
        patches: the patches that will preserve these bytes, each with the groups that need it.
        lost: the saved tensors whose bytes will be lost, each as a node and a position in ``node.saved``.
        spoiled: under another policy, the saved tensors that have patches and share no byte with the write. The new
            version makes them stale, so their patches are freed.
    """

    __slots__ = ("preserves", "groups", "patches", "lost", "spoiled")

    def __init__(self, preserves: bool, lost: list[Member], spoiled: Sequence[Member] = ()) -> None:
        self.preserves, self.lost, self.spoiled = preserves, lost, spoiled
        self.groups: list[SaveGroup] = []
        self.patches: list[tuple[Patch, list[SaveGroup]]] = []


#: Plans of writes that overwrite no needed bytes. After the write, its line is logged; with the second plan,
#: :func:`after_write` also sets the storage's ``preserving``.
NOTHING_LOST, NOTHING_TO_PRESERVE = Plan(False, []), Plan(True, [])


def before_write(storage: Storage, array: np.ndarray, own: Saved | None = None, index: Any = None) -> Plan:
    """Return the plan of a write to ``array``, or to ``array[index]`` if an advanced ``index`` is given.

    Call it only if ``storage.savers`` is not None. Saved tensors do not change yet, because the write may still fail.
    ``own`` is a saved copy of ``array`` that the operation itself needs.
    """
    preserves = modes.policy == "copy_on_write"
    if not storage.savers:  # all saved values are lost already, but their errors may name this write
        return NOTHING_TO_PRESERVE if preserves else NOTHING_LOST
    savers, patched = _savers_of(storage, array)
    if not savers and (preserves or not patched):
        return NOTHING_TO_PRESERVE if preserves else NOTHING_LOST
    written = Cells.of(array)
    if index is not None:
        written, own = Cells.picked(array, index), None
        savers = [(node, k) for node, k in savers if Cells.unordered(node.saved[k][0]).overlaps(written)]
    if not preserves:
        return Plan(False, savers, [saver for saver in patched if saver not in savers])
    # The policy is "copy_on_write". Savers that an earlier write under another policy made stale get no patch.
    plan = Plan(True, [(node, k) for node, k in savers if not is_intact(node.saved[k])])
    groups: dict[Any, SaveGroup] = {}
    for node, k in savers:
        saved = node.saved[k]
        if is_intact(saved):
            array_saved, _, version = saved
            patches, left = (version.patches, version.left) if type(version) is Preserved else ((), None)
            key = address_of(array_saved), array_saved.shape, array_saved.strides, array_saved.dtype, id(patches)
            if key not in groups:
                groups[key] = SaveGroup(array_saved, patches, left)
            groups[key].members.append((node, k))
    plan.groups = list(groups.values())
    plan.patches = preserved(plan.groups, storage, array, index is None, written, own)
    return plan


def _savers_of(storage: Storage, array: np.ndarray) -> tuple[list[Member], list[Member]]:
    """Return the saved tensors that may need bytes of ``array``, and all saved tensors that have patches.

    Nodes that no longer depend on the storage are removed from its savers.
    """
    found, patched = [], []
    living: dict[Any, None] = {}
    lost = False
    for link in storage.savers:  # type: ignore[union-attr]  # called only if there are savers
        node = link()
        if node is None or node.saved is FREED or link in living:
            continue
        is_needed = False
        for k, entry in enumerate(node.saved):
            if type(entry) is tuple and len(entry) == 3 and entry[1] is storage:
                version = entry[2]
                if type(version) is Lost:
                    lost = True
                    continue
                if type(version) is Preserved and version.left == 0:
                    continue
                is_needed = True
                if type(version) is Preserved:
                    patched.append((node, k))
                if touch(entry[0], array):
                    found.append((node, k))
        if is_needed:
            living[link] = None
    if type(storage.savers) is list:
        # With a list, even an empty one, later writes are logged; the error about a lost value may name one of them.
        storage.savers = list(living) if living or lost else None
    else:
        storage.savers[:] = living  # type: ignore[index]  # keep this object: a `CopyingSavers` of shared memory
    return found, patched


def before_write_of_part(
    storage: Storage, array: np.ndarray, part: Callable[[], tuple[Any, ...]], own: Saved | None = None
) -> Plan:
    """Return the plan of a write to ``array[index]``, where ``part()`` returns the index."""
    try:
        index = part()
    except (ValueError, IndexError, TypeError):
        index = None  # the operation will raise the error
    return before_write(storage, array, own, index)


# ---------- after a write ----------


def after_write(plan: Plan, storage: Storage, op: str, frame: FrameType) -> None:
    """Log a write that ``frame`` requested, and update the saved tensors. The version has been raised before."""
    frame = outside_engine(frame)
    version, code, instruction = storage.version, frame.f_code, frame.f_lasti
    write_log.append((ref(storage), version, op, code, instruction))
    if plan is NOTHING_LOST:
        return
    for node, k in plan.lost:
        array, _, _ = saved = node.saved[k]
        _replace(node, k, (array, storage, Lost(version_saved(saved), version, op, code, instruction)))
    for node, k in plan.spoiled:
        array, _, saved_at = node.saved[k]
        _replace(node, k, (array, storage, saved_at.version))
    if plan.preserves:
        first, last = getattr(storage, "preserving", (0, -1))
        storage.preserving = (first if last == version - 1 else version - 1), version
        for patch, needing in plan.patches:
            add(patch, needing)
        for group in plan.groups:
            if group.taken:
                _update_members(group)
    listener = watch.listener
    if listener is not None:
        idle = [member for group in plan.groups if not group.taken for member in group.members]
        for patch, needing in plan.patches:
            listener(SavedOverwritten(storage, [member for group in needing for member in group.members], patch))
        if idle or plan.lost:
            listener(SavedOverwritten(storage, idle + plan.lost, None))


def _update_members(group: SaveGroup) -> None:
    """Store the patches in the members of ``group``. If one patch has all cells, the members become views of it."""
    left = group.left - group.taken
    if left == 0 and len(group.patches) > 1 and all(p.holders == len(group.members) for p in group.patches):
        group.patches = (joined(group.patches),)
    for node, k in group.members:
        array, storage, _ = saved = node.saved[k]
        view = group.patches[0].view_for(array) if left == 0 and len(group.patches) == 1 else None
        noted = getattr(saved[2], "noted", None)
        if view is None or (noted is not None and noted.changed(view).any()):
            _replace(node, k, (array, storage, Preserved(version_saved(saved), group.patches, left, noted)))
        else:
            copy = group.patches[0].storages[0]
            _replace(node, k, (view, copy, copy.version))
            remember(copy, node)


def _replace(node: Node, k: int, saved: Saved) -> None:
    entries = list(node.saved)
    entries[k] = saved
    node.saved = tuple(entries)
