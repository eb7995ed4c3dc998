"""Diagnose a backward pass that needs a saved tensor which a line has overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import short_name
from memory_stage.explanation.entry_phrases import versions_in
from memory_stage.explanation.whole_run import array_faults, derivatives
from memory_stage.explanation.whole_run.faults import Evidence, Fault, named_lines
from memory_stage.explanation.whole_run.overwritten_fault import (
    MOST_WRITERS,
    NEEDED_UNCHANGED,
    NOT_COMPARED,
    operations_by_line,
    overwritten_fault,
)
from memory_stage.explanation.whole_run.overwritten_fixes import fixes
from memory_stage.explanation.whole_run.program_names import ProgramNames
from memory_stage.explanation.whole_run.program_text import assigned_name
from memory_stage.explanation.whole_run.write_fixes import OverwrittenValue
from memory_stage.messages import Text, capitalized, message, plural
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.backward_graph import SavedValue, extent_of, node_of, nodes_behind, saved_by
from memory_stage.watch.torch.watched_run import WatchedRun
from memory_stage.watch.write_log import LineWrites

MESSAGE = "modified by an inplace operation"

_ONLY_COMPARED = message(
    "The derivative does not use these numbers here, but torch compares the versions of all tensors that an operation "
    "saved."
)

#: A part of torch's message about a saved tensor that ``detach_`` has removed from the graph.
DETACHED = "has been detached in-place"


@dataclass(frozen=True)
class _Saved:
    """A saved tensor with the line that saved it, and the time and the sequence number of its node."""

    tensor: SavedValue
    line: ProgramLine
    time: int
    sequence: int


def diagnose_error(watch: WatchedRun, roots: Any, error: BaseException, frame: FrameType) -> Fault | None:
    """Return the fault behind torch's error about a tensor that was modified in place; None for any other error."""
    if MESSAGE not in str(error) and DETACHED not in str(error):
        return None
    shape, now, expected = versions_in(str(error))
    stale = all_stale = [each for each in _all_saved(watch, roots) if each.tensor.is_stale]
    if now >= 0:
        stale = [each for each in stale if _fits(each.tensor, shape, now, expected)] or stale
        if not stale:  # torch also compares the versions of tensors whose numbers the derivative does not use
            unread = [each for each in _all_saved(watch, roots, are_read=False) if each.tensor.is_stale]
            stale = [each for each in unread if _fits(each.tensor, shape, now, expected)]
        if not stale:
            return _kept_by_hook(watch, shape, now, frame, error)
    stale = stale or [each for each in _all_saved(watch, roots) if _detaching_writes(watch, each)]
    if not stale:
        return None
    saved = max(stale, key=lambda each: each.sequence)
    others = [each for each in all_stale if each is not saved and _is_same_storage(each, saved)]
    return _fault(watch, saved, frame, is_silent=False, others=others)


def diagnose_silence(watch: WatchedRun, roots: Any, frame: FrameType, known: set[Any]) -> list[Fault]:
    """Return a fault for each set of saved tensors that the same unversioned writes changed before this pass.

    Args:
        known: keys of the faults that were returned before; this call adds the keys of its faults.
    """
    found: list[Fault] = []
    overwritten: dict[tuple[int, ...], list[_Saved]] = {}
    for saved in _all_saved(watch, roots):
        writers = [] if saved.tensor.is_stale else _writers(watch, saved, is_silent=True)
        if writers:
            overwritten.setdefault(tuple(each.line for each in writers), []).append(saved)
        elif not saved.tensor.is_stale and watch.arrays.has_sums:
            fault = _written_by_numpy(watch, saved, frame, known)
            found += [] if fault is None else [fault]
    for lines, group in overwritten.items():
        if lines not in known:
            known.add(lines)
            also = len({torch._C._storage_address(each.tensor.data) for each in group}) - 1
            found.append(_fault(watch, group[0], frame, is_silent=True, also=also))
    return found


def _written_by_numpy(watch: WatchedRun, saved: _Saved, frame: FrameType, known: set[Any]) -> Fault | None:
    """Return a fault if NumPy has written into a saved tensor through an array that shares its memory."""
    x = saved.tensor.data
    if x.layout is not torch.strided or x.device.type != "cpu":
        return None
    storage, extent = torch._C._storage_address(x), extent_of(x)
    shared = watch.arrays.find(storage)
    key = (saved.line, saved.tensor.attribute, "NumPy")
    if shared is None or key in known or not watch.arrays.is_changed(storage, extent, saved.sequence):
        return None
    known.add(key)
    frames = watch.program_frames(frame)
    operation = short_name(saved.tensor.node.name())
    return array_faults.array_fault(
        ProgramNames(frames).of(x),
        Evidence(saved.line, message("`{operation}` saves the tensor", operation=operation)),
        Evidence(watch.line_of(frame), NEEDED_UNCHANGED),
        array_faults.SharingCall(watch.lines[shared.line], shared.function),
        array_faults.array_names(frames, extent),
        derivatives.reason(operation, saved.tensor.attribute),
    )


def _kept_by_hook(
    watch: WatchedRun, shape: list[int], now: int, frame: FrameType, error: BaseException
) -> Fault | None:
    """Return the fault of a tensor that a hook or a checkpoint keeps, found by shape and version; or None."""
    named = list(ProgramNames(watch.program_frames(frame)).all_tensors())
    for name, x in [*named, *(("", x) for x in _unpacked_in(error))]:
        if x._version != now or list(x.shape) != shape:
            continue
        writers = watch.writes.since(torch._C._storage_address(x), -1)
        if not writers:
            continue
        lines = list(dict.fromkeys(watch.lines[each.line] for each in writers))[-MOST_WRITERS:]
        tensor: Text = f"`{name}`" if name else message("a tensor")
        evidence = [Evidence(line, message("overwrites {tensor}", tensor=tensor), is_culprit=True) for line in lines]
        evidence.append(Evidence(watch.line_of(frame), NEEDED_UNCHANGED))
        verdict = plural(
            "{lines} overwrites {tensor}, which a checkpoint or a hook keeps for the backward pass in line {asked}.",
            "{lines} overwrite {tensor}, which a checkpoint or a hook keeps for the backward pass in line {asked}.",
            len(lines),
            lines=named_lines(lines),
            tensor=tensor,
            asked=watch.line_of(frame).number,
        )
        reason = message("A checkpoint runs its block again during backward, so it needs the block's unchanged inputs.")
        overwrite = OverwrittenValue(
            name, False, lines[-1], lines, watch.line_of(frame), -1, writers[0].operation, is_saved_once=False
        )
        return Fault("overwritten", capitalized(verdict), evidence, reason, fixes(watch, overwrite, []))
    return None


def _unpacked_in(error: BaseException) -> Iterator[torch.Tensor]:
    """Yield the saved tensors that the functions in an error's traceback were about to unpack."""
    traceback = error.__traceback__
    while traceback is not None:
        for value in list(traceback.tb_frame.f_locals.values()):
            if isinstance(value, torch._C._autograd.SavedTensor):
                yield value.data
        traceback = traceback.tb_next


def _all_saved(watch: WatchedRun, roots: Any, are_read: bool = True) -> list[_Saved]:
    """Return the saved tensors behind the roots; by default only those whose numbers the derivatives use."""
    found = []
    for node in nodes_behind(roots):
        sequence = node._sequence_nr()
        line, time = watch.nodes.find(sequence)
        for each in saved_by(node):
            if not are_read or derivatives.is_read(short_name(node.name()), each.attribute, node):
                found.append(_Saved(each, watch.lines[line], time, sequence))
    return found


def _is_result_of(one: _Saved, other: _Saved) -> bool:
    """Return True if ``one`` is a result that its operation saved, and ``other`` is the same tensor."""
    x, y = one.tensor.data, other.tensor.data
    return one.tensor.attribute == "out" and x.data_ptr() == y.data_ptr() and x.shape == y.shape


def _is_same_storage(one: _Saved, other: _Saved) -> bool:
    return torch._C._storage_address(one.tensor.data) == torch._C._storage_address(other.tensor.data)


def _fits(saved: SavedValue, shape: Sequence[int], now: int, expected: int) -> bool:
    return (saved.data._version, saved.version) == (now, expected) and list(saved.data.shape) in (shape, shape[::-1])


def _writers(watch: WatchedRun, saved: _Saved, is_silent: bool) -> list[LineWrites]:
    try:
        storage = torch._C._storage_address(saved.tensor.data)
    except RuntimeError:
        return []
    since = [each for each in watch.writes.since(storage, saved.time) if each.operation != "detach_"]
    if not is_silent and not saved.tensor.is_stale:
        return _detaching_writes(watch, saved)
    if not is_silent:
        return [each for each in since if not each.is_counted or each.version > saved.tensor.version]
    begin, end = extent_of(saved.tensor.data)
    unnoticed = [each for each in since if not each.is_counted]
    if not saved.tensor.is_compared:  # the function's own ``backward`` may use an attribute as its scratch memory
        unnoticed = [each for each in since if watch.lines[each.line].function != "backward"]
    return [each for each in unnoticed if each.begin < end and begin < each.end]


def _detaching_writes(watch: WatchedRun, saved: _Saved) -> list[LineWrites]:
    """Return the calls of ``detach_`` on a tensor since it was saved."""
    try:
        since = watch.writes.since(torch._C._storage_address(saved.tensor.data), saved.time)
    except RuntimeError:
        return []
    return [each for each in since if each.operation == "detach_"]


def _fault(
    watch: WatchedRun, saved: _Saved, frame: FrameType, is_silent: bool, others: Sequence[_Saved] = (), also: int = 0
) -> Fault:
    """Return the fault of a saved tensor.

    Args:
        is_silent: True if the pass raises no error.
        others: tensors on the same memory that other operations saved.
        also: how many other saved tensors the same lines have overwritten.
    """
    writers = _writers(watch, saved, is_silent)
    frames = watch.program_frames(frame)
    names = ProgramNames(frames)
    operation = short_name(saved.tensor.node.name())
    attribute = saved.tensor.attribute
    name = names.of(saved.tensor.data, [watch.lines[each.line].text for each in writers])
    made = next((each for each in (saved, *others) if _is_result_of(each, saved)), None)
    if made is not None:
        assigned = assigned_name(made.line)
        assigned = "" if _names_another_result(watch, names, assigned, made) else assigned
        name = _name_at_writing(assigned, name, [watch.lines[each.line] for each in writers])
    asking = watch.line_of(frame)
    operations = operations_by_line(watch.lines, writers)
    savers = {(each.line, short_name(each.tensor.node.name())): None for each in sorted([saved, *others], key=_age)}
    overwrite = OverwrittenValue(
        name,
        attribute == "out",
        saved.line,
        list(operations),
        asking,
        saved.time,
        writers[0].operation if writers else "",
        len({line for line, _ in savers}) == 1,
        names.is_trained(saved.tensor.data) or attribute.startswith("running_"),  # a buffer of a batch norm
        attribute="" if saved.tensor.is_compared else attribute,
    )
    return overwritten_fault(
        overwrite,
        operation,
        savers,
        operations,
        _reason(saved),
        fixes(watch, overwrite, frames),
        is_silent,
        min(each.sequence for each in (saved, *others)),
        also,
    )


def _reason(saved: _Saved) -> Text:
    operation, attribute = short_name(saved.tensor.node.name()), saved.tensor.attribute
    if not saved.tensor.is_compared:
        return NOT_COMPARED
    if not derivatives.is_read(operation, attribute, saved.tensor.node):
        return _ONLY_COMPARED
    return derivatives.reason(operation, attribute)


def _names_another_result(watch: WatchedRun, names: ProgramNames, assigned: str, made: _Saved) -> bool:
    """Return True if the line that made ``made`` gave the name ``assigned`` to another result."""
    for name, x in names.all_tensors():
        node = node_of(x) if name == assigned else None
        if node is not None and torch._C._storage_address(x) != torch._C._storage_address(made.tensor.data):
            return watch.line_of_node(node) == made.line
    return False


def _name_at_writing(assigned: str, name: str, writers: Sequence[ProgramLine]) -> str:
    """Return the name that the writing lines use for a result.

    Args:
        assigned: the name that is assigned in the line that made the result, or "".
        name: the name in the frames that called backward, or "".
        writers: the lines that wrote into the result.
    """
    uses = [re.search(rf"(?<![\w.]){re.escape(assigned)}\b", each.text) for each in writers] if assigned else []
    return assigned if assigned and (not name or any(uses)) else name


def _age(saved: _Saved) -> int:
    return saved.sequence
