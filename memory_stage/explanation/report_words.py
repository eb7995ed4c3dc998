"""What rows of a report say of a tensor, of what was saved of it, and of what became of that."""

from __future__ import annotations

import math
import re

from memory_stage.explanation.rows import Row, SavedTensor, Spot
from memory_stage.model.entries import SaveEntry, TensorEntry

#: What torch's error says of the tensor: its shape, the version that it is at, and the version that was saved.
_VERSIONS = re.compile(r"Tensor \[([\d, ]*)\]\].* is at version (\d+); expected version (\d+)")


def versions_in(error: str) -> tuple[list[int], int, int]:
    """The shape of the tensor that an error of torch's is about, its version now and when it was saved; else -1."""
    found = _VERSIONS.search(error)
    if found is None:
        return [], -1, -1
    return [int(each) for each in found[1].split(",") if each.strip()], int(found[2]), int(found[3])


def has_history(entry: TensorEntry) -> bool:
    """Whether operations made the value of a tensor that wants a gradient."""
    return not entry.look["stop_gradient"] and not entry.look["leaf"]


def is_leaf(tensor: TensorEntry) -> bool:
    """Whether it is a leaf that wants a gradient."""
    return bool(tensor.look["leaf"]) and not tensor.look["stop_gradient"]


def other_names(tensor: TensorEntry) -> str:
    """What else the program calls the very tensor: writes through one name are those of the other."""
    first, *others = dict.fromkeys(each for each in tensor.names if " in " not in each) or [""]
    return f" `{first}` and {' and '.join(f'`{each}`' for each in others[:2])} are one tensor." if others else ""


def who_wrote(row: Row) -> str:
    """Who wrote for the line, where that is not the line itself: a step of an optimizer, or a layer in its making."""
    text = row.where.text
    if ".step(" in text:
        return "an optimizer"
    makes = re.search(r"\b[A-Z]\w*\(", text) is not None
    return "a layer" if makes and row.op.rstrip("_") not in text else ""


def called(save: SaveEntry) -> str:
    """What the program calls what was saved, also where it had no name yet when it was drawn; else what made it."""
    named = save.state.group.label if save.state is not None else ""
    return named or save.name


def kept_by_hand(saves: list[SaveEntry]) -> str:
    """The attribute, as ``ctx.x``, in which a function written by hand keeps one of these; else empty."""
    return next((save.what for save in saves if save.what.startswith("ctx.")), "")


def row_of_saved(save: SaveEntry) -> SavedTensor:
    """What a row tells of it."""
    shape = save.event["shape"]
    size = math.prod(shape) * save.storage.root.event["itemsize"]
    return SavedTensor(
        save.node.called, Spot(None, save.node.line, ""), f"`{called(save)}`", shape, size, save.stale == "lost"
    )


def the_saved(saves: list[SaveEntry]) -> str:
    """```h`, which `mul` in line 4 saved at version 0``; of several, the first two."""
    told = dict.fromkeys(
        f"`{called(save)}`, which `{save.node.called}` in line {save.node.line} saved at version {save.version}"
        for save in saves
    )
    more = f", and {len(told) - 2} more" if len(told) > 2 else ""
    return " and ".join(list(told)[:2]) + more


def what_became_stale(victims: list[SaveEntry]) -> str:
    """What a write took, and of what it only moved the version; empty where it did neither."""
    lost = [save for save in victims if save.stale == "lost"]
    moved = [save for save in victims if save.stale == "moved"]
    told = []
    if lost:
        told.append(f"It overwrites {the_saved(lost)}: a backward through it raises.")
    if moved:
        told.append(
            f"It writes other cells of the memory of {the_saved(moved)}. No byte of that is lost; but only the "
            f"version of the whole memory is compared, so a backward through it raises all the same."
        )
    return " ".join(told)


def view_of(tensor: TensorEntry) -> str:
    """``a view of b``; empty for what shows all of its memory."""
    others = [each for each in tensor.group.members.values() if each is not tensor and each.name]
    whole = next((each for each in others if math.prod(each.look["shape"]) == tensor.storage.length), None)
    if whole is None or math.prod(tensor.look["shape"]) == tensor.storage.length:
        return ""
    return f"a view of {whole.short_name}"
