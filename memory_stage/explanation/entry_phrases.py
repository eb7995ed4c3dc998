"""Phrases of a row about a tensor of PyTorch or Paddle, and about the saved tensors that a write affected."""

from __future__ import annotations

import math
import re

from memory_stage.explanation.report_rows import ReportRow, SavedTensor, SourceLine
from memory_stage.messages import Text, joined, message, said
from memory_stage.model.entries import SaveEntry, TensorEntry

#: The part of torch's error that names the tensor's shape, its current version and the saved version.
_VERSIONS = re.compile(r"Tensor \[([\d, ]*)\]\].* is at version (\d+); expected version (\d+)")


def versions_in(error: str) -> tuple[list[int], int, int]:
    """Return the shape of the tensor in an error of torch, its version now, and its version when saved; -1 if none."""
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
    names = list(dict.fromkeys(each for each in tensor.names if " in " not in each))
    if len(names) < 2:
        return []
    return [message("{names} are names of one tensor.", names=joined(f"`{each}`" for each in names[:3]))]


def who_wrote(row: ReportRow) -> str:
    """Return "an optimizer" or "a layer" if the line called one and that wrote; otherwise ""."""
    text = row.where.text
    if ".step(" in text:
        return "an optimizer"
    makes = re.search(r"\b[A-Z]\w*\(", text) is not None
    return "a layer" if makes and row.op.rstrip("_") not in text else ""


def called(save: SaveEntry) -> str:
    """Return the name of a saved tensor, even if it got the name later; without a name, return the operation's."""
    named = save.state.group.label if save.state is not None else ""
    return named or save.name


def kept_by_hand(saves: list[SaveEntry]) -> str:
    """Return the attribute, such as ``ctx.x``, in which a user-defined function keeps one of these, or ""."""
    return next((save.what for save in saves if save.what.startswith("ctx.")), "")


def row_of_saved(save: SaveEntry) -> SavedTensor:
    """Return the entry of a row for a saved tensor."""
    shape = save.event["shape"]
    size = math.prod(shape) * save.storage.root.event["itemsize"]
    return SavedTensor(
        save.node.called, SourceLine(None, save.node.line, ""), f"`{called(save)}`", shape, size, save.stale == "lost"
    )


def the_saved(saves: list[SaveEntry]) -> Text:
    """Return ```h`, which `mul` in line 4 saved at version 0``; of several, name the first two."""
    phrases = dict.fromkeys(
        message(
            "`{name}`, which `{operation}` in line {line} saved at version {version}",
            name=called(save),
            operation=save.node.called,
            line=save.node.line,
            version=save.version,
        )
        for save in saves
    )
    first = list(phrases)[:2]
    more = [message("{count} more", count=len(phrases) - 2)] if len(phrases) > 2 else []
    return joined([*first, *more])


def what_became_stale(victims: list[SaveEntry]) -> list[Text]:
    """Return sentences about the saved tensors that a write overwrote, and those that only a new version made stale."""
    lost = [save for save in victims if save.stale == "lost"]
    moved = [save for save in victims if save.stale == "moved"]
    found: list[Text] = []
    if lost:
        found.append(
            message("It overwrites {saved}. A backward pass through it raises an error.", saved=the_saved(lost))
        )
    if moved:
        found.append(
            message(
                "It writes other elements of the memory that holds {saved}. The saved numbers are unchanged, but the "
                "version belongs to the whole memory, so a backward pass through it raises an error all the same.",
                saved=the_saved(moved),
            )
        )
    return found


def view_of(tensor: TensorEntry) -> str:
    """Return a phrase such as ``a view of b``, or "" if the tensor shows all of its memory."""
    others = [each for each in tensor.group.members.values() if each is not tensor and each.name]
    whole = next((each for each in others if math.prod(each.properties["shape"]) == tensor.storage.length), None)
    if whole is None or math.prod(tensor.properties["shape"]) == tensor.storage.length:
        return ""
    return said(message("a view of {name}", name=whole.short_name))
