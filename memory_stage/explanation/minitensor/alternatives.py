"""Advise a cheaper or safer way to write an in-place operation, from its effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_stage.trace.amounts import bytes_text
from minitensor.memory.backward_needs import Needs, normal_twin, row_of


@dataclass(frozen=True)
class Facts:
    """The facts about an operation that determine the advice. Sizes are in bytes.

    Attributes:
        op: the in-place operation.
        size, elements: size of the tensor that was written, or would have been.
        needs: the tensors that the operation's backward needs.
        copied, marked: bytes of copies and of masks that the operation saved for its own backward.
        preserved: bytes that were preserved for other operations.
        preservable: bytes of the stale tensors that "copy_on_write" would have preserved.
        lost: for each saved tensor that became stale, True if bytes of it were overwritten.
        by: the caller of the operation, as in :class:`~memory_stage.explanation.report_rows.Row`.
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
        is_bool = row is not None and row.not_differentiable  # one byte an element
        return self.elements if is_bool else self.size

    @property
    def size_of_marks(self) -> int:
        """Bytes of the masks that the operation's backward needs."""
        return self.needs.marks * -(-self.elements // 8)


def for_write(facts: Facts) -> str:
    """Return advice for a write that has happened."""
    if facts.lost and facts.by == "an optimizer":
        return (
            "Run every backward that needs these numbers before this line, or compute the forward again after it. "
            "Where a loss is not for these parameters, give it `detach()`ed results: its backward ends there then."
        )
    if facts.lost:
        return _for_stale(facts)
    if facts.copied:
        return _for_copy(facts)
    return _for_preserved(facts) if facts.preserved else ""


def in_all(facts: Facts, unrecorded: str, whose: str, refused: str) -> str:
    """Return all advice for a write: for its effect, for a history that lacks it, and for PyTorch's refusal."""
    parts = [for_write(facts), for_unrecorded(unrecorded, whose) if unrecorded else ""]
    parts.append(for_pytorch(facts) if refused.endswith("backward raises.") else "")
    return " ".join(part for part in parts if part)


def for_pytorch(facts: Facts) -> str:
    """Return advice for a write after which PyTorch's backward would raise, and minitensor's does not."""
    normal = _normal(facts)
    return f"For PyTorch, too: run backward before this line{f', or use {normal}' if normal else ''}."


def _normal(facts: Facts) -> str:
    """Name the normal operation and the size of its result; "" if there is none."""
    twin = normal_twin(facts.op)
    return f"`{twin}`, whose result takes {bytes_text(facts.size_of_result)}" if twin else ""


def _for_stale(facts: Facts) -> str:
    keeping = '`set_inplace_policy("copy_on_write")`'
    if not any(facts.lost):
        return f"Under {keeping} nothing would have to be preserved here, and that backward is right."
    kept = "let the copy serve them, too" if facts.copied else f"preserve {bytes_text(facts.preservable)} here"
    ways = [way for way in (_normal(facts), f"{keeping}, which would {kept}") if way]
    return f"Run backward before this line, or use {', or '.join(ways)}."


def _for_copy(facts: Facts) -> str:
    row = row_of(facts.op)
    parts = []
    target = row.target if row is not None else ""
    if row is not None and facts.needs.own and target not in facts.needs.own:
        others = " and ".join(facts.needs.own)
        parts.append(f"Nothing is copied if {others} wants no gradient: give `{others}.detach()`.")
    twin = normal_twin(facts.op)
    if twin:
        result = f"`{twin}` keeps its input without a copy; its result takes {bytes_text(facts.size_of_result)}"
        saves = facts.size_of_result - facts.copied
        if saves > 0:
            parts.append(f"{result}, {bytes_text(saves)} more than the copy.")
        else:
            parts.append(f"{result}: writing in place saves no memory here.")
    return " ".join(parts)


def _for_preserved(facts: Facts) -> str:
    twin = normal_twin(facts.op)
    first = "Run backward before this line and nothing has to be preserved."
    if not twin:
        return first
    saves = facts.size_of_result - facts.preserved
    compared = f"{bytes_text(saves)} more" if saves > 0 else "which is not more"
    return f"{first} `{twin}` would take {bytes_text(facts.size_of_result)} for its result, {compared}."


# ---------- writes that a history lacks ----------


def for_unrecorded(why: str, whose: str) -> str:
    """Return advice for a write that the history of ``whose`` lacks; ``why`` is a key of :data:`UNRECORDED`."""
    return UNRECORDED[why][1].format(whose=whose)


#: For each reason why a write was not recorded: a sentence about it, and the advice.
UNRECORDED = {
    "leaf": (
        "Written under `no_grad`: the leaf has new values and stays a leaf, as after an optimizer's step.",
        "Nothing, if this is an update after backward.",
    ),
    "set_value": (
        "`set_value` loaded new values into the leaf, which stays one.",
        "Nothing, if this loads weights before anything is computed from them.",
    ),
    "init": ("A layer fills its parameters.", ""),
    "data": (
        "Written through `.data`, which counts versions of its own: {whose} has new values, and neither its version "
        "nor its history tells.",
        "Use `detach()` in place of `.data`: then a backward that still needs the old numbers raises.",
    ),
    "no_grad": (
        "Written under `no_grad`: {whose} has new values, and gradients pass as if nothing had been written.",
        "Write in grad mode if gradients should know of it.",
    ),
    "detached": (
        "Written through a tensor with a history of its own: {whose} has new values, and gradients pass as if nothing "
        "had been written.",
        "Write through {whose} if gradients should know of it, or into `detach().clone()` if its values should stay.",
    ),
}


# ---------- refusals ----------


def for_refusal(reason: str, facts: Facts) -> str:
    """Return advice for a refused operation; ``reason`` is the function of ``core.errors`` that made the error."""
    normal = _normal(facts)
    if reason == "leaf_written":
        ways = ["Update the leaf under `no_grad()`", f"use {normal}" if normal else ""]
        ways.append("write through `detach()` if the gradient should ignore the write")
        return f"{'; or '.join(way for way in ways if way)}."
    if reason == "needs_own_input":
        kept = bytes_text(facts.size_of_marks if facts.needs.marks else facts.size)
        return f'The policy "2.6" would keep {kept} first' + (f"; or use {normal}." if normal else ".")
    if reason in ("overlapping_target", "overlapping_group", "read_only_target"):
        return f"Write into a `clone()`, which takes {bytes_text(facts.size)}."
    if reason == "leaf_reshaped":
        return f"`{facts.op[:-1]}` gives a view, which takes no memory."
    twin = normal_twin(facts.op)  # its result may have another shape or dtype, so its size is unknown
    return f"Use `{twin}`." if twin else ""
