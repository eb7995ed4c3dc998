"""The sentences of a row about an in-place write of minitensor, and about the tensors that its backward needs."""

from __future__ import annotations

from collections.abc import Sequence

from memory_stage.explanation.minitensor.alternatives import UNRECORDED
from memory_stage.explanation.report_rows import ReportRow, SavedTensor
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, joined, message, plural, said, sentences
from memory_stage.trace.amounts import bytes_message
from minitensor.memory.backward_needs import Needs

MOST_NAMED = 3  # the largest number of saved tensors that a sentence names

#: The operations that change the storage, the dtype or the number of elements of a tensor.
REBOUND = {
    "cast_": message("The tensor has another dtype and a new storage now; the old storage is unchanged."),
    "resize_": message("The tensor has another number of elements now; the saved elements are unchanged."),
    "set_": message("The tensor uses another storage now; the old storage is unchanged."),
}


def describe_write(row: ReportRow, unrecorded: str, owner: str, in_layer: bool) -> str:
    """Describe the effects of a write in one or more sentences.

    Args:
        unrecorded: a key of ``alternatives.UNRECORDED``, or "".
        owner: the name of the tensor whose history lacks the write.
        in_layer: True if the forward of a user-defined operation wrote.
    """
    parts: list[Text] = []
    if Verdict.UNNOTICED in row.verdicts:
        parts += [
            message(
                "It overwrote {saved} without increasing the version, so backward will use the new numbers without an "
                "error.",
                saved=_name_saved(row.stale),
            ),
            message("The gradient will be wrong."),
        ]
    elif row.stale:
        parts += _stale_texts(row.stale)
    if unrecorded:
        parts.append(message(UNRECORDED[unrecorded][0].text, whose=owner))
    if row.copied:
        parts.append(message("It copied its input first: {size}.", size=bytes_message(row.copied)))
    if row.marked:
        assert row.tensor is not None
        parts.append(
            message(
                "It saved {size} of marks; a copy would have taken {copy}.",
                size=bytes_message(row.marked),
                copy=bytes_message(row.tensor.nbytes),
            )
        )
    if row.indexed:
        parts.append(message("It saved its index: {size}.", size=bytes_message(row.indexed)))
    if row.preserved_for:
        parts.append(_preserved_text(row))
    if in_layer:
        parts.append(
            message("The forward of a user-defined operation wrote here, so its own backward has to account for this.")
        )
    if not parts and row.recorded:
        parts.append(message("Nothing was copied."))
    return said(sentences(parts or [message("No tensor here needs a gradient, so nothing was recorded.")]))


def _stale_texts(stale: Sequence[SavedTensor]) -> list[Text]:
    lost = [saved for saved in stale if saved.lost]
    stale_only = [saved for saved in stale if not saved.lost]
    parts: list[Text] = []
    if lost:
        parts.append(message("It overwrote {saved}.", saved=_name_saved(lost)))
    if stale_only:
        parts.append(
            message(
                "It raised the version of {saved}, but overwrote none of those bytes.", saved=_name_saved(stale_only)
            )
        )
    return parts


def _preserved_text(row: ReportRow) -> Text:
    named = _name_saved(row.preserved_for)
    if row.preserved:
        return message("It preserved {size} for {saved}.", size=bytes_message(row.preserved), saved=named)
    if row.copied:
        return message("The same copy also preserves {saved}.", saved=named)
    return message("An earlier write had already preserved {saved}.", saved=named)


def _name_saved(saved: Sequence[SavedTensor]) -> Text:
    named: list[Text] = [str(each) for each in saved[:MOST_NAMED]]
    if len(saved) > MOST_NAMED:
        named.append(message("{count} more", count=len(saved) - MOST_NAMED))
    return joined(named)


#: The sentences of ``minitensor.memory.backward_needs`` as messages, by their English templates.
REASONS = {
    str(text.text): text
    for text in (
        message("The rule names no tensor."),
        message("The input is overwritten."),
        message("The input is overwritten, and the gradient of {names} needs it."),
        message("The input is overwritten, and only a true-or-false value of each element is needed."),
        message("Only `{operand}: {rule}` would need its input, and {operand} requires no gradient."),
        message("The output is what was just written: it needs no copy."),
    )
}
_TENSORS = {"its input": message("its input"), "its output": message("its output")}


def needed(needs: Needs, has_index: bool = False) -> tuple[str, ...]:
    """Return the tensors that the backward needs; ``has_index`` adds the index of the write."""
    bits = plural("{count} bit per element", "{count} bits per element", needs.marks)
    texts: list[Text] = [bits if each == str(bits) else _TENSORS.get(each, each) for each in needs.what]
    if has_index:
        texts.append(message("its index"))
    return tuple(map(said, texts))


def reasons(needs: Needs) -> str:
    """Return the sentences in ``needs.reasons``, translated, or ""."""
    if not needs.reasons:
        return ""
    return said(sentences(message(REASONS[each.text].text, **_values(each.values)) for each in needs.reasons))


def _values(values: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, Text | int]:
    return {name: joined(texts) for name, texts in values}
