"""Advise a cheaper or safer way to write an in-place operation, from its effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_stage.messages import Message, Text, joined, message, plural, said, sentences
from memory_stage.trace.amounts import bytes_message
from minitensor.memory.backward_needs import Needs, normal_twin, row_of


@dataclass(frozen=True)
class Facts:
    """The facts about an operation that determine the advice. Sizes are in bytes.

    Attributes:
        op: the in-place operation.
        size, elements: bytes and number of elements of the tensor that was written, or would have been.
        needs: the tensors that the operation's backward needs.
        copied, marked: bytes of copies and of marks (one bit an element) that the operation saved for its own backward.
        preserved: bytes that were preserved for other operations.
        preservable: bytes of the stale tensors that "copy_on_write" would have preserved.
        lost: for each saved tensor that became stale, True if bytes of it were overwritten.
        by: the caller of the operation, as in :class:`~memory_stage.explanation.report_rows.ReportRow`.
    """

    op: str
    size: int
    elements: int
    needs: Needs
    copied: int = 0
    marked: int = 0
    preserved: int = 0
    preservable: int = 0
    lost: Sequence[bool] = ()
    by: str = ""

    @property
    def size_of_result(self) -> int:
        """Bytes of the result of the normal operation."""
        row = row_of(self.op)
        is_bool = row is not None and row.not_differentiable  # a bool takes one byte
        return self.elements if is_bool else self.size

    @property
    def size_of_marks(self) -> int:
        """Bytes of the marks that the operation's backward needs."""
        return self.needs.marks * -(-self.elements // 8)


def for_write(facts: Facts) -> Text:
    """Return advice for a write that has happened, or ""."""
    if facts.lost and facts.by == "an optimizer":
        return message(
            "Run every backward that needs these numbers before this line, or compute the forward again after it. "
            "Compute a loss that should not train these parameters from `detach()`ed results, so that its backward "
            "ends there."
        )
    if facts.lost:
        return _for_stale(facts)
    if facts.copied:
        return _for_copy(facts)
    return _for_preserved(facts) if facts.preserved else ""


def all_advice(facts: Facts, unrecorded: str, owner: str, for_pytorch_too: bool) -> str:
    """Return the advice for a write: for its effect, for a history that lacks it, and for PyTorch's refusal.

    Args:
        unrecorded: a key of :data:`UNRECORDED`, or "".
        owner: the name of the tensor whose history lacks the write.
        for_pytorch_too: True if PyTorch's backward would raise an error after this write.
    """
    parts = [for_write(facts), for_unrecorded(unrecorded, owner) if unrecorded else ""]
    parts.append(for_pytorch(facts) if for_pytorch_too else "")
    advised = [part for part in parts if part != ""]
    return said(sentences(advised)) if advised else ""


def for_pytorch(facts: Facts) -> Text:
    """Return advice for a write after which PyTorch's backward would raise an error and minitensor's does not."""
    normal = _normal(facts)
    if normal:
        return message("For PyTorch, too: run backward before this line, or use {normal}.", normal=normal)
    return message("For PyTorch, too: run backward before this line.")


def _normal(facts: Facts) -> Text:
    """Name the normal operation and the size of its result; "" if there is none."""
    twin = normal_twin(facts.op)
    size = bytes_message(facts.size_of_result)
    return message("`{operation}`, whose result takes {size}", operation=twin, size=size) if twin else ""


def _for_stale(facts: Facts) -> Text:
    keeping = '`set_inplace_policy("copy_on_write")`'
    if not any(facts.lost):
        return message(
            "Under {policy} nothing would have to be preserved here, and that backward would be right.", policy=keeping
        )
    kept = message("{policy}, which would preserve {size} here", policy=keeping, size=bytes_message(facts.preservable))
    if facts.copied:
        kept = message("{policy}, which would let the copy serve them, too", policy=keeping)
    normal = _normal(facts)
    if normal:
        return message("Run backward before this line, or use {normal}, or {policy}.", normal=normal, policy=kept)
    return message("Run backward before this line, or use {policy}.", policy=kept)


def _for_copy(facts: Facts) -> Text:
    row = row_of(facts.op)
    parts: list[Text] = []
    target = row.target if row is not None else ""
    if row is not None and facts.needs.own and target not in facts.needs.own:
        detached = joined([f"`{name}.detach()`" for name in facts.needs.own])
        parts.append(
            plural(
                "Nothing is copied if {names} needs no gradient: pass {detached}.",
                "Nothing is copied if {names} need no gradient: pass {detached}.",
                len(facts.needs.own),
                names=joined(facts.needs.own),
                detached=detached,
            )
        )
    twin = normal_twin(facts.op)
    if twin:
        size, saves = bytes_message(facts.size_of_result), facts.size_of_result - facts.copied
        if saves > 0:
            parts.append(
                message(
                    "`{operation}` needs no copy of its input; its result takes {size}, {more} more than the copy.",
                    operation=twin,
                    size=size,
                    more=bytes_message(saves),
                )
            )
        else:
            parts.append(
                message(
                    "`{operation}` needs no copy of its input, and its result takes {size}. Writing in place saves no "
                    "memory here.",
                    operation=twin,
                    size=size,
                )
            )
    return sentences(parts) if parts else ""


def _for_preserved(facts: Facts) -> Text:
    twin = normal_twin(facts.op)
    first = message("Run backward before this line and nothing has to be preserved.")
    if not twin:
        return first
    size, saves = bytes_message(facts.size_of_result), facts.size_of_result - facts.preserved
    second = message("`{operation}` would take {size} for its result, which is not more.", operation=twin, size=size)
    if saves > 0:
        second = message(
            "`{operation}` would take {size} for its result, {more} more.",
            operation=twin,
            size=size,
            more=bytes_message(saves),
        )
    return sentences([first, second])


# ---------- writes that a history lacks ----------


def for_unrecorded(why: str, owner: str) -> Text:
    """Return advice, or "", for a write that the history of ``owner`` lacks. ``why`` is a key of :data:`UNRECORDED`."""
    advice = UNRECORDED[why][1]
    return message(advice.text, whose=owner) if isinstance(advice, Message) else ""


#: For each reason why a write was not recorded: a sentence about it, and the advice.
UNRECORDED: dict[str, tuple[Message, Text]] = {
    "leaf": (
        message("Written under `no_grad`: the leaf has new values and stays a leaf, as after an optimizer's step."),
        message("Nothing, if this is an update after backward."),
    ),
    "set_value": (
        message("`set_value` loaded new values into the leaf, which stays one."),
        message("Nothing, if this loads weights before anything is computed from them."),
    ),
    "init": (message("A layer fills its parameters."), ""),
    "data": (
        message(
            "Written through `.data`, which has a separate version counter: {whose} has new values, but neither its "
            "version nor its history shows the write."
        ),
        message("Use `detach()` in place of `.data`: then a backward that still needs the old numbers raises."),
    ),
    "no_grad": (
        message("Written under `no_grad`: {whose} has new values, and gradients pass as if nothing had been written."),
        message("Write in grad mode if gradients should take the write into account."),
    ),
    "detached": (
        message(
            "Written through a tensor with a separate history: {whose} has new values, and gradients pass as if "
            "nothing had been written."
        ),
        message(
            "Write through {whose} if gradients should take the write into account, or into `detach().clone()` if its "
            "values should stay."
        ),
    ),
}


# ---------- refusals ----------


def for_refusal(reason: str, facts: Facts) -> str:
    """Return advice for a refused operation; ``reason`` names the function of ``core.errors`` that made the error."""
    return said(_for_refusal(reason, facts))


def _for_refusal(reason: str, facts: Facts) -> Text:
    normal = _normal(facts)
    if reason == "leaf_written" and normal:
        return message(
            "Update the leaf under `no_grad()`; or use {normal}; or write through `detach()` if the gradient should "
            "ignore the write.",
            normal=normal,
        )
    if reason == "leaf_written":
        return message(
            "Update the leaf under `no_grad()`; or write through `detach()` if the gradient should ignore the write."
        )
    if reason == "needs_own_input":
        kept = bytes_message(facts.size_of_marks if facts.needs.marks else facts.size)
        if normal:
            return message('The policy "2.6" would keep {size} first; or use {normal}.', size=kept, normal=normal)
        return message('The policy "2.6" would keep {size} first.', size=kept)
    if reason in ("overlapping_target", "overlapping_group", "read_only_target"):
        return message("Write into a `clone()`, which takes {size}.", size=bytes_message(facts.size))
    if reason == "leaf_reshaped":
        return message("`{operation}` gives a view, which takes no memory.", operation=facts.op[:-1])
    twin = normal_twin(facts.op)  # its result may have another shape or dtype, so its size is unknown
    return message("Use `{operation}`.", operation=twin) if twin else ""
