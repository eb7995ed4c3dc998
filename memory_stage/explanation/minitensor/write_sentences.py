"""The sentences of a row about an in-place write of minitensor."""

from __future__ import annotations

from collections.abc import Sequence

from memory_stage.explanation.minitensor.alternatives import UNRECORDED
from memory_stage.explanation.report_rows import ReportRow, SavedTensor
from memory_stage.explanation.verdict import Verdict
from memory_stage.trace.amounts import bytes_text

MOST_NAMED = 3  # savers that a sentence names

#: The operations that change the storage or the dtype of a tensor, and not only its shape.
REBOUND = {
    "cast_": "It has another dtype now, on a new storage; the old storage is as it was.",
    "resize_": "It has another number of elements now; what was saved of the old ones is as it was.",
    "set_": "It looks at another storage now; the old storage is as it was.",
}


def what_happened(row: ReportRow, unrecorded: str, whose: str, in_layer: bool) -> str:
    """Describe the effects of a write in one or more sentences.

    Args:
        unrecorded: a key of ``alternatives.UNRECORDED``, or "".
        whose: the name of the tensor that lacks the write in its history.
        in_layer: True if the forward of a user-defined operation wrote.
    """
    parts = []
    if Verdict.UNNOTICED in row.verdicts:
        parts.append(f"Overwrote {_name_saved(row.stale)}, and no version tells: that backward uses the new numbers.")
        parts.append("Its gradient is wrong.")
    elif row.stale:
        parts += _stale(row.stale)
    if unrecorded:
        parts.append(UNRECORDED[unrecorded][0].format(whose=whose))
    if row.copied:
        parts.append(f"Copied its input first: {bytes_text(row.copied)}.")
    if row.marked:
        assert row.tensor is not None
        copy = bytes_text(row.tensor.nbytes)
        parts.append(f"Kept {bytes_text(row.marked)} of marks; a copy would have taken {copy}.")
    if row.indexed:
        parts.append(f"Kept its index: {bytes_text(row.indexed)}.")
    if row.preserved_for:
        parts.append(_preserved_text(row))
    if in_layer:
        parts.append("Written by the forward of a user-defined operation, whose own backward answers for it.")
    if not parts:
        parts.append("Nothing was copied." if row.recorded else "Nobody wants a gradient: nothing was recorded.")
    return " ".join(parts)


def _stale(stale: Sequence[SavedTensor]) -> list[str]:
    lost = [saved for saved in stale if saved.lost]
    moved = [saved for saved in stale if not saved.lost]
    parts = []
    if lost:
        parts.append(f"Overwrote {_name_saved(lost)}.")
    if moved:
        parts.append(f"Raised the version under {_name_saved(moved)}; none of those bytes were overwritten.")
    return parts


def _preserved_text(row: ReportRow) -> str:
    whom = _name_saved(row.preserved_for)
    if row.preserved:
        return f"Preserved {bytes_text(row.preserved)} for {whom}."
    if row.copied:
        return f"The same copy preserves {whom}."
    return f"An earlier write had preserved {whom}."


def _name_saved(saved: Sequence[SavedTensor]) -> str:
    named = [str(each) for each in saved[:MOST_NAMED]]
    if len(saved) > MOST_NAMED:
        named.append(f"{len(saved) - MOST_NAMED} more")
    return ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
