"""Phrases of a report row about a tensor of PyTorch or Paddle, and about the saved tensors that a write affected."""

from __future__ import annotations

import math
import re

from memory_stage.explanation.report_rows import ReportRow, SavedTensor, SourceLine
from memory_stage.messages import Text, joined, message, said
from memory_stage.model.compound_names import is_local
from memory_stage.model.entries import SaveEntry, TensorEntry

#: The part of torch's error that names the tensor's shape, its current version and the saved version.
_VERSIONS = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\].* is at version (\d+); expected version (\d+)")


def versions_in(error: str) -> tuple[list[int], int, int]:
    """Return the shape and the current and saved version in an error of torch; [], -1 and -1 if it has none."""
    found = _VERSIONS.search(error)
    if found is None:
        return [], -1, -1
    return [int(each) for each in found[1].split(",") if each.strip()], int(found[2]), int(found[3])


def has_history(entry: TensorEntry) -> bool:
    """Return True if the tensor needs a gradient and was made by an operation."""
    return not entry.properties["stop_gradient"] and not entry.properties["leaf"]


def is_leaf(tensor: TensorEntry) -> bool:
    """Return True if the tensor is a leaf that needs a gradient."""
    return bool(tensor.properties["leaf"]) and not tensor.properties["stop_gradient"]


def other_names(tensor: TensorEntry) -> list[Text]:
    """Return a sentence that names the variables bound to this tensor; [] if there is only one."""
    names = list(dict.fromkeys(each for each in tensor.names if not is_local(each)))
    if len(names) < 2:
        return []
    return [message("{names} are names of one tensor.", names=joined(f"`{each}`" for each in names[:3]))]


def caller_of_write(row: ReportRow) -> str:
    """Return "an optimizer" or "a layer" if the line only called such an object and the object wrote; otherwise ""."""
    text = row.where.text
    if ".step(" in text:
        return "an optimizer"
    makes = re.search(r"\b[A-Z]\w*\(", text) is not None
    return "a layer" if makes and row.op.rstrip("_") not in text else ""


def name_of(save: SaveEntry) -> Text:
    """Return the name of a saved tensor, even if the program bound that name only after the save."""
    named = save.state.group.label if save.state is not None else ""
    return named or save.name


def attribute_of(saves: list[SaveEntry]) -> str:
    """Return the attribute, such as ``ctx.x``, in which a user-defined function keeps a saved tensor, or ""."""
    return next((name for save in saves if (name := str(save.what)).startswith("ctx.")), "")


def describe_saved(save: SaveEntry) -> SavedTensor:
    """Describe a saved tensor for a row."""
    shape = save.event["shape"]
    size = math.prod(shape) * save.storage.root.event["itemsize"]
    name = said(message("`{name}`", name=name_of(save)))
    return SavedTensor(save.node.called, SourceLine(None, save.node.line, ""), name, shape, size, save.stale == "lost")


def name_saved(saves: list[SaveEntry]) -> Text:
    """Return a phrase such as ```h`, which `mul` in line 4 saved at version 0``; it names at most two tensors."""
    phrases = dict.fromkeys(
        message(
            "`{name}`, which `{operation}` in line {line} saved at version {version}",
            name=name_of(save),
            operation=save.node.called,
            line=save.node.line,
            version=save.version,
        )
        for save in saves
    )
    first = list(phrases)[:2]
    more = [message("{count} more", count=len(phrases) - 2)] if len(phrases) > 2 else []
    return joined([*first, *more])


def describe_stale(victims: list[SaveEntry]) -> list[Text]:
    """Return sentences about saved tensors that a write made stale: it overwrote them, or only changed the version."""
    lost = [save for save in victims if save.stale == "lost"]
    moved = [save for save in victims if save.stale == "moved"]
    found: list[Text] = []
    if lost:
        found.append(
            message("It overwrites {saved}. A backward pass through it raises an error.", saved=name_saved(lost))
        )
    if moved:
        found.append(
            message(
                "It writes other elements of the memory that holds {saved}. The saved numbers are unchanged, but the "
                "version belongs to the whole memory, so a backward pass through it raises an error all the same.",
                saved=name_saved(moved),
            )
        )
    return found


def view_of(tensor: TensorEntry) -> str:
    """Return ``a view of b`` if a tensor ``b`` covers all of the memory and this one does not; otherwise ""."""
    others = [each for each in tensor.group.members.values() if each is not tensor and each.name]
    whole = next((each for each in others if math.prod(each.properties["shape"]) == tensor.storage.length), None)
    if whole is None or math.prod(tensor.properties["shape"]) == tensor.storage.length:
        return ""
    return said(message("a view of {name}", name=whole.short_name))
