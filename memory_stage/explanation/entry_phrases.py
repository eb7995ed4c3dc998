"""Phrases of a row about a tensor of PyTorch or Paddle, and about the saved tensors that a write affected."""

from __future__ import annotations

import math
import re

from memory_stage.explanation.report_rows import ReportRow, SavedTensor, SourceLine
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
    """True if the tensor wants a gradient and was made by an operation."""
    return not entry.look["stop_gradient"] and not entry.look["leaf"]


def is_leaf(tensor: TensorEntry) -> bool:
    """True if the tensor is a leaf that wants a gradient."""
    return bool(tensor.look["leaf"]) and not tensor.look["stop_gradient"]


def other_names(tensor: TensorEntry) -> str:
    """Return a sentence that names the other variables bound to this tensor, or "" if there are none."""
    first, *others = dict.fromkeys(each for each in tensor.names if " in " not in each) or [""]
    return f" `{first}` and {' and '.join(f'`{each}`' for each in others[:2])} are one tensor." if others else ""


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


def the_saved(saves: list[SaveEntry]) -> str:
    """Return ```h`, which `mul` in line 4 saved at version 0``; of several, name the first two."""
    phrases = dict.fromkeys(
        f"`{called(save)}`, which `{save.node.called}` in line {save.node.line} saved at version {save.version}"
        for save in saves
    )
    more = f", and {len(phrases) - 2} more" if len(phrases) > 2 else ""
    return " and ".join(list(phrases)[:2]) + more


def what_became_stale(victims: list[SaveEntry]) -> str:
    """Name the saved tensors that a write overwrote, and those that only a changed version made stale; "" if none."""
    lost = [save for save in victims if save.stale == "lost"]
    moved = [save for save in victims if save.stale == "moved"]
    sentences = []
    if lost:
        sentences.append(f"It overwrites {the_saved(lost)}: a backward through it raises.")
    if moved:
        sentences.append(
            f"It writes other cells of the memory of {the_saved(moved)}. No byte of that is lost; but only the "
            f"version of the whole memory is compared, so a backward through it raises all the same."
        )
    return " ".join(sentences)


def view_of(tensor: TensorEntry) -> str:
    """Return a phrase such as ``a view of b``, or "" if the tensor shows all of its memory."""
    others = [each for each in tensor.group.members.values() if each is not tensor and each.name]
    whole = next((each for each in others if math.prod(each.look["shape"]) == tensor.storage.length), None)
    if whole is None or math.prod(tensor.look["shape"]) == tensor.storage.length:
        return ""
    return f"a view of {whole.short_name}"
