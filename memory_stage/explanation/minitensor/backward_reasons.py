"""Say in the reader's language which tensors the backward of an in-place operation needs, and why."""

from __future__ import annotations

from memory_stage.messages import Text, joined, message, plural, said, sentences
from minitensor.memory.backward_needs import Needs

#: The sentences of ``minitensor.memory.backward_needs`` as messages, by their English templates.
REASONS = {
    str(text.text): text
    for text in (
        message("The rule names no tensor."),
        message("The input is overwritten."),
        message("The input is overwritten, and the gradient of {names} needs it."),
        message("The input is overwritten, and only what is true or false of each element is needed."),
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
    """Return the sentences about the reason."""
    if not needs.reasons:
        return ""
    return said(sentences(message(REASONS[each.text].text, **_values(each.values)) for each in needs.reasons))


def _values(values: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, Text | int]:
    return {name: joined(texts) for name, texts in values}
