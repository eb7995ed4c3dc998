"""Sentences about errors: the operation, and why it is refused. Rules: see ``sentences``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from memory_stage.model.changes import Refused, Unversioned, Wrote
from memory_stage.model.entries import TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_written_all_the_same
from memory_stage.sentences.several import brief
from memory_stage.sentences.words import code, fitting, node_text
from memory_stage.sentences.writes import as_written, cells_text, distinct
from memory_stage.trace.amounts import count_of

_METHOD = re.compile(r"^([A-Za-z_][\w.\[\]']*)\.(\w+)\(")
_ITEM = re.compile(r"^([A-Za-z_]\w*)\s*\[.*=")


def say_error(done: FinishedStep, before: Sequence[Any]) -> str:
    """Return the sentence on the error that ended a step, and on the operations ``before`` it."""
    error = done.error
    text, kind = str(error), type(error).__name__
    line = f"Line {done.line}"
    op = re.search(r"`(\w+)`", text)
    target = _target(done)
    asked = _find_tensor(done, target) or _find_tensor(done, f"{target} in {done.statement.function}")
    subject = code(as_written(done, op.group(1), asked)) if op and op.group(1) != "setitem" else line
    unchanged = _describe_effect(done)
    node, reason = done.node, _reason(done)
    if node is not None and reason == "stale":
        stale = next((save for save in node.saves if save.stale), None)
        if stale is not None:
            return fitting(
                f"{node_text(node)} asks for {code(stale.name)} at version {stale.version} and finds version "
                f"{stale.storage.version}, so {code('backward')} raises.",
                "None of its bytes were overwritten: only the version moved." if stale.stale == "moved" else "",
            )
    if reason == "stale":
        return f"{code('backward')} asks for a saved tensor that was overwritten since it was saved, so it raises."
    if node is not None and "an earlier backward" in text and "freed" in text:
        return f"{node_text(node)} has let go of what it saved, for an earlier backward used it. So this one raises."
    if node is not None and "overwritten from outside the engine" in text:
        return f"{node_text(node)} saved numbers that were written from outside since, so {code('backward')} raises."
    if reason in ("leaf_written", "leaf_reshaped"):
        verb = "write" if reason == "leaf_written" else "change the shape of"
        what = _protected_leaf(done, target)
        return fitting(f"{subject} asks to {verb} {what} while gradients are recorded, and is refused.", unchanged)
    if reason == "needs_own_input":
        return fitting(
            f'{subject} is refused under the policy "2.5": its backward needs the input that it would overwrite.',
            unchanged,
        )
    if reason in ("overlapping_target", "overlapping_group", "view_of_several"):
        what = _of_several(target) if reason == "view_of_several" else _overlapping(done, target)
        return fitting(f"{subject} asks to write {what}, and is refused.", unchanged)
    if reason == "read_only_target":
        return fitting(
            f"{subject} asks to write {_name(target)}, whose memory is read-only, and is refused.", unchanged
        )
    if reason == "result_does_not_fit":
        return fitting(
            f"{subject} has a result that the dtype of {_name(target)} cannot hold, and a dtype never changes in "
            f"place: it is refused.",
            unchanged,
        )
    if reason == "explain_in_place" and "is different from that of inplace tensor" in text:
        return fitting(
            f"{subject} would need a larger result than its target, and a shape never grows in place: it is refused.",
            unchanged,
        )
    first = f"{line}: {brief(done, before[-1])}; then it raises" if before else f"{line} raises"
    return fitting(f"{first} {code(kind)}.", "" if done.events[:-1] else "Memory stays as it is.")


def _describe_effect(done: FinishedStep) -> str:
    """Describe the effect of a refused operation: none, or numbers that it wrote before it raised the error."""
    written = done.all(Unversioned)
    if written and done.error is not None and written[-1].tensor is not None:
        return say_written_all_the_same(cells_text(written[-1].storage, written[-1].cover), written[-1])
    return "" if done.all(Wrote) else "Nothing is written."


def _reason(done: FinishedStep) -> str:
    """Return the reason of a refusal: the name of the function that made the error."""
    refused = done.all(Refused)
    return refused[-1].reason if refused else ""


def _target(done: FinishedStep) -> str:
    """Return the name of the tensor that the statement writes; empty if it has none, or if it may be one of several."""
    text = done.statement.text
    method, item = _METHOD.match(text), _ITEM.match(text)
    in_place = re.findall(r"\.\w+_\(", text)
    if (method is not None and in_place == [f".{method[2]}("]) or (method is not None and method[2] == "set_value"):
        name = method[1]
    elif item is not None and not in_place:
        name = item[1]
    else:
        return ""
    return name if _find_tensor(done, name) or _find_tensor(done, f"{name} in {done.statement.function}") else ""


def _name(target: str) -> str:
    return code(target) if target else "its target"


def _of_several(target: str) -> str:
    """Describe a view that PyTorch never writes."""
    return f"{_name(target)}, one of several views that one call gave"


def _overlapping(done: FinishedStep, target: str) -> str:
    """Describe a tensor whose elements share cells."""
    entry = _find_tensor(done, target) or _find_tensor(done, f"{target} in {done.statement.function}")
    if entry is None:
        return "a tensor whose elements share cells"
    size, few = math.prod(entry.look["shape"]), distinct(entry)
    if few == size:
        return f"{code(target)}, on memory whose cells other elements share"
    return f"{code(target)}, whose {size:,} elements lie in {count_of(few, 'cell')}"


def _protected_leaf(done: FinishedStep, name: str) -> str:
    """Return the leaf that a refused operation would have written through ``name``."""
    entry = _find_tensor(done, name) or _find_tensor(done, f"{name} in {done.statement.function}")
    if entry is None:
        return "a leaf"
    if entry.look["leaf"]:
        return f"the leaf {code(name)}"
    leaf = next((each for each in entry.group.members.values() if each.look["leaf"] and each.names), None)
    return f"{f'the leaf {code(leaf.names[0])}' if leaf else 'a leaf'} through its view {code(name)}"


def _find_tensor(done: FinishedStep, name: str) -> TensorEntry | None:
    return next((entry for entry in done.ledger.tensors.entries.values() if name in entry.names), None)
