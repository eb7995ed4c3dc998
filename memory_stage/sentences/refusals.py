"""Sentences about errors: the operation that failed, and the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from memory_stage.messages import Text, message
from memory_stage.model.changes import Refused, Unversioned, Wrote
from memory_stage.model.compound_names import local_name
from memory_stage.model.entries import TensorEntry
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.frameworks import say_written_before_error
from memory_stage.sentences.several import brief
from memory_stage.sentences.words import cell_count_text, code, fitting, line_text, node_text
from memory_stage.sentences.writes import as_written, cells_text, distinct

_METHOD = re.compile(r"^([A-Za-z_][\w.\[\]']*)\.(\w+)\(")
_FREED = re.compile("an earlier backward.* freed|the graph a second time|backward twice for the same subgraph")
_ITEM = re.compile(r"^([A-Za-z_]\w*)\s*\[.*=")


def say_error(done: FinishedStep, before: Sequence[Any]) -> Text:
    """Return the sentence about the error that ended a step, and about the operations ``before`` it."""
    text, kind = str(done.error), type(done.error).__name__
    said = _describe_backward(done, text) or _describe_refusal(done, text)
    if said is not None:
        return said
    first = message("Line {line} raises {error}.", line=done.line, error=code(kind))
    if before:
        first = message(
            "Line {line}: {clause}; then it raises {error}.",
            line=done.line,
            clause=brief(done, before[-1]),
            error=code(kind),
        )
    return fitting(first, "" if done.events[:-1] else message("Memory does not change."))


def _describe_backward(done: FinishedStep, text: str) -> Text | None:
    """Describe an error of backward whose message is ``text``; None if it is another kind of error."""
    node, reason = done.node, _reason(done)
    if node is not None and reason == "stale":
        stale = next((save for save in node.saves if save.stale), None)
        if stale is not None:
            return fitting(
                message(
                    "{node} needs {tensor} at version {version} but finds version {found}, so `backward` raises.",
                    node=node_text(node),
                    tensor=code(stale.name),
                    version=stale.version,
                    found=stale.storage.version,
                ),
                message("None of its bytes were overwritten: only the version moved.")
                if stale.stale == "moved"
                else "",
            )
    if reason == "stale":
        return message("`backward` needs a saved tensor that has been overwritten, so it raises.")
    if _FREED.search(text):
        if node is None or "TensorWrappers" in text:  # Paddle raises before it reaches the node
            return message("An earlier backward freed tensors that this one needs, so it raises.")
        return message(
            "An earlier backward freed the tensors that {node} saved, so this one raises.", node=node_text(node)
        )
    if node is not None and "overwritten from outside the engine" in text:
        return message(
            "{node} saved numbers that have been overwritten from outside, so `backward` raises.", node=node_text(node)
        )
    return None


def _describe_refusal(done: FinishedStep, text: str) -> Text | None:
    """Describe a refused operation whose error has the message ``text``; None if no operation was refused."""
    reason = _reason(done)
    target = _target(done)
    op = re.search(r"`(\w+)`", text)
    asked = _find_tensor(done, target)
    subject = line_text(done.line)
    if op and op.group(1) != "setitem":
        subject = code(as_written(done, op.group(1), asked))
    if reason == "leaf_written":
        first = message(
            "{subject} is refused: it would write {tensor} while gradients are recorded.",
            subject=subject,
            tensor=_protected_leaf(done, target),
        )
    elif reason == "leaf_reshaped":
        first = message(
            "{subject} is refused: it would change the shape of {tensor} while gradients are recorded.",
            subject=subject,
            tensor=_protected_leaf(done, target),
        )
    elif reason == "needs_own_input":
        # The stage shows the text of the error, which has the reason, below this sentence.
        first = message('{subject} is refused under the policy "2.5".', subject=subject)
    elif reason in ("overlapping_target", "overlapping_group", "view_of_several"):
        tensor = _of_several(target) if reason == "view_of_several" else _overlapping(done, target)
        first = message("{subject} is refused: it would write {tensor}.", subject=subject, tensor=tensor)
    elif reason == "read_only_target":
        first = message(
            "{subject} is refused: it would write {tensor}, whose memory is read-only.",
            subject=subject,
            tensor=_name(target),
        )
    elif reason == "result_does_not_fit":
        first = message(
            "{subject} is refused: the dtype of {tensor} cannot hold its result, and a dtype never changes in place.",
            subject=subject,
            tensor=_name(target),
        )
    elif reason == "explain_in_place" and "is different from that of inplace tensor" in text:
        first = message(
            "{subject} is refused: its result is larger than its target, and a shape never grows in place.",
            subject=subject,
        )
    else:
        return None
    return fitting(first, _describe_effect(done))


def _describe_effect(done: FinishedStep) -> Text:
    """Describe the effect of a refused operation: none, or the numbers that it wrote before it raised the error."""
    written = done.all(Unversioned)
    if written and done.error is not None and written[-1].tensor is not None:
        return say_written_before_error(cells_text(written[-1].storage, written[-1].cover), written[-1])
    return "" if done.all(Wrote) else message("Nothing is written.")


def _reason(done: FinishedStep) -> str:
    """Return the reason of a refusal, which is the name of the function that made the error; "" without a refusal."""
    refused = done.all(Refused)
    return refused[-1].reason if refused else ""


def _target(done: FinishedStep) -> str:
    """Return the name of the tensor that the statement writes; "" without a name, or with several candidates."""
    text = done.statement.text
    method, item = _METHOD.match(text), _ITEM.match(text)
    in_place = re.findall(r"\.\w+_\(", text)
    if (method is not None and in_place == [f".{method[2]}("]) or (method is not None and method[2] == "set_value"):
        name = method[1]
    elif item is not None and not in_place:
        name = item[1]
    else:
        return ""
    return name if _find_tensor(done, name) else ""


def _name(target: str) -> Text:
    return code(target) if target else message("its target")


def _of_several(target: str) -> Text:
    """Describe a view that PyTorch refuses to write, because the same call made several views."""
    return message("{tensor}, one of several views that one call returned", tensor=_name(target))


def _overlapping(done: FinishedStep, target: str) -> Text:
    """Describe a tensor in which several elements share a cell."""
    entry = _find_tensor(done, target)
    if entry is None:
        return message("a tensor whose elements share cells")
    size, few = math.prod(entry.properties["shape"]), distinct(entry)
    if few == size:
        return message("{tensor}, on memory whose cells other elements share", tensor=code(target))
    return message(
        "{tensor}, whose {elements} elements share {cells}",
        tensor=code(target),
        elements=f"{size:,}",
        cells=cell_count_text(few),
    )


def _protected_leaf(done: FinishedStep, name: str) -> Text:
    """Return a phrase for the protected leaf that a refused operation would have written through ``name``."""
    entry = _find_tensor(done, name)
    if entry is None:
        return message("a leaf")
    if entry.properties["leaf"]:
        return message("the leaf {name}", name=code(name))
    leaf = next((each for each in entry.group.members.values() if each.properties["leaf"] and each.names), None)
    if leaf is None:
        return message("a leaf through its view {view}", view=code(name))
    return message("the leaf {name} through its view {view}", name=code(leaf.names[0]), view=code(name))


def _find_tensor(done: FinishedStep, name: str) -> TensorEntry | None:
    """Return the tensor that ``name`` refers to: at the top level or else in the function with the statement."""
    entries = done.ledger.tensors.entries.values()
    names = (name, local_name(name, done.statement.function))
    return next((entry for each in names for entry in entries if each in entry.names), None)
