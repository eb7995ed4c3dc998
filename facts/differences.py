"""The intended differences between minitensor and Paddle or PyTorch, each with the reason.

This is the only list of these differences. It is data, which the package does not read. The tests compare every
recorded case of ``facts/goldens`` and fail if a difference is not in the list, or if one in the list no longer exists.
The book prints the list.
"""

from __future__ import annotations

from dataclasses import dataclass

PADDLE_2 = "paddle-2.6.2"
PADDLE_3 = "paddle-3.3.1"
TORCH = "torch-2.13.0"
PADDLES = (PADDLE_2, PADDLE_3)
FRAMEWORKS = (*PADDLES, TORCH)

#: Every operation for which the fact was recorded.
EVERY = ("*",)


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        frameworks: the frameworks that differ, with the recorded version.
        operations: the in-place names, or :data:`EVERY`.
        seen: the facts that differ, each as a situation and an observation, as in ``nonleaf.version_after``.
        reason: the behaviour of the framework, that of minitensor, and why.
        but: operations that :data:`EVERY` does not include, because they do not differ.
    """

    frameworks: tuple[str, ...]
    operations: tuple[str, ...]
    seen: tuple[str, ...]
    reason: str
    but: tuple[str, ...] = ()

    def covers(self, framework: str, operation: str, seen: str) -> bool:
        """True if the entry is about this difference."""
        named = operation in self.operations or (self.operations == EVERY and operation not in self.but)
        return framework in self.frameworks and seen in self.seen and named


METADATA = ("flatten_", "reshape_", "squeeze_", "t_", "transpose_", "unsqueeze_")
COMPARISONS = ("equal_", "not_equal_", "greater_than_", "greater_equal_", "less_than_", "less_equal_")
LOGIC = ("logical_and_", "logical_or_", "logical_xor_", "logical_not_")
TRUTHS = (*COMPARISONS, *LOGIC)

VERSION = ("no_grad_tensor.version_after", "leaf_under_no_grad.version_after", "nonleaf.version_after")
STALE = "saved_by_earlier_mul.ok"
STALE_VERSIONS = "saved_by_earlier_mul.versions"
GRADIENT = ("nonleaf.grad_of_sum_wrt_x", "then_add_one_in_place.grad_of_sum_wrt_x")

# Reasons that several entries share.
CHECKED_FIRST = (
    "Paddle refuses the leaf after it has overwritten its numbers. In minitensor the check comes before the write."
)
NO_WRITE = (
    "An operation that changes only shape and strides writes no numbers. So the version is unchanged, and saved "
    "tensors are still valid. The framework counts the operation as a write."
)
ONE_WRITE = (
    "Paddle composes the operation of several writes and counts each. In minitensor one call raises the version by 1."
)
ONLY_SET_VALUE = "The framework overwrites a leaf that requires a gradient. In minitensor only `set_value` may do this."
CONSTANT = (
    "The result does not change when `x` changes a little, so the gradient is 0. The framework passes the gradient on "
    "as if the operation had not run."
)
OUTPUT_SAVED = (
    "The gradient follows from the result, so the result is saved: no bytes are copied, and the next write in "
    "place makes backward raise. The framework copies the input."
)
OUTPUT_NOT_SAVED = (
    "The framework saves the result, although the gradient of `x` does not need it, and the next write in place makes "
    "backward raise. In minitensor the result is not saved."
)

DIFFERENCES: tuple[Difference, ...] = (
    # ---------- a leaf that requires a gradient ----------
    Difference(
        (PADDLE_2,),
        EVERY,
        ("leaf_requiring_grad.data_changed",),
        CHECKED_FIRST,
        but=("cast_", "ldexp_", "masked_fill_", "square_"),
    ),
    Difference(
        (PADDLE_3,),
        EVERY,
        ("leaf_requiring_grad.data_changed",),
        CHECKED_FIRST,
        but=("cast_", "index_fill_", "ldexp_", "sinc_"),
    ),
    Difference(
        PADDLES,
        ("cast_",),
        ("leaf_requiring_grad.dtype_after",),
        "Paddle refuses the leaf after it has changed its dtype. In minitensor the check comes first.",
    ),
    Difference(
        (TORCH,),
        EVERY,
        ("leaf_requiring_grad.type",),
        "A refused leaf raises ValueError, as in Paddle. PyTorch raises RuntimeError.",
    ),
    Difference(
        PADDLES,
        (*TRUTHS, "floor_divide_", "multigammaln_", "exponential_"),
        ("leaf_requiring_grad.allowed",),
        ONLY_SET_VALUE,
    ),
    Difference((PADDLE_2,), ("remainder_", "mod_", "floor_mod_"), ("leaf_requiring_grad.allowed",), ONLY_SET_VALUE),
    Difference((TORCH,), LOGIC, ("leaf_requiring_grad.allowed",), ONLY_SET_VALUE),
    # ---------- versions ----------
    Difference(PADDLES, METADATA, (*VERSION, STALE), NO_WRITE),
    Difference((TORCH,), ("squeeze_", "t_", "transpose_", "unsqueeze_"), (*VERSION, STALE), NO_WRITE),
    Difference(
        PADDLES, ("hypot_", "ldexp_", "nan_to_num_", "cauchy_", "geometric_"), (*VERSION, STALE_VERSIONS), ONE_WRITE
    ),
    Difference(PADDLES, ("hypot_",), ("then_add_one_in_place.versions",), ONE_WRITE),
    Difference(PADDLES, ("gcd_", "lcm_"), ("no_grad_tensor.version_after",), ONE_WRITE),
    Difference((PADDLE_2,), ("masked_fill_",), (*VERSION, STALE_VERSIONS), ONE_WRITE),
    Difference(
        (PADDLE_3,),
        ("gammainc_", "index_fill_", "sinc_", "bernoulli_", "log_normal_"),
        (*VERSION, STALE_VERSIONS),
        ONE_WRITE,
    ),
    Difference(
        PADDLES,
        ("exponential_",),
        (*VERSION, STALE),
        "Paddle does not count this write, so backward uses the overwritten numbers. In minitensor every write counts.",
    ),
    Difference(
        PADDLES,
        ("cast_",),
        (STALE,),
        "`cast_` puts the numbers into a new storage. A saved tensor keeps the old storage and is still valid. Paddle "
        "compares the versions of the tensor, and backward raises.",
    ),
    Difference(
        (PADDLE_3,),
        ("sinc_",),
        ("no_grad_tensor.result_is_x", "nonleaf.result_is_x"),
        "Paddle 3.3.1 returns another tensor on the storage of `x`. In minitensor an in-place operation returns `x`.",
    ),
    # ---------- gradients ----------
    Difference(
        PADDLES,
        TRUTHS,
        ("no_grad_tensor.dtype_after", "nonleaf.dtype_after"),
        "Paddle makes `x` a bool tensor. In minitensor `x` keeps its dtype, and contains 1 and 0.",
    ),
    Difference((PADDLE_2,), (*TRUTHS, "floor_divide_"), GRADIENT, CONSTANT),
    Difference((PADDLE_3,), TRUTHS, ("nonleaf.grad_of_sum_wrt_x",), CONSTANT),
    Difference((PADDLE_3,), ("floor_divide_",), GRADIENT, CONSTANT),
    Difference((TORCH,), LOGIC, GRADIENT, CONSTANT),
    Difference(
        (PADDLE_3,),
        TRUTHS,
        ("then_add_one_in_place.error",),
        "Paddle 3.3.1 has made `x` a bool tensor, and adds no number to such a tensor in place. In minitensor `x` "
        "keeps its dtype.",
    ),
    Difference(
        PADDLES,
        TRUTHS,
        ("out_of_place_grad.backward_error",),
        "The result of the normal operation requires no gradient. Its backward does nothing in Paddle, and raises an "
        "error in minitensor and PyTorch.",
    ),
    Difference(
        PADDLES,
        ("floor_divide_",),
        ("out_of_place_grad.tracks_grad",),
        "The result of Paddle's normal operation has no history. In minitensor the operation has the same gradient as "
        "the in-place one, 0.",
    ),
    Difference(
        (PADDLE_2,),
        ("remainder_", "mod_", "floor_mod_"),
        ("out_of_place_grad.tracks_grad",),
        "In Paddle 2.6.2 the result of the normal operation has no history. In minitensor the operation has a "
        "gradient, as in Paddle 3.3.1 and PyTorch.",
    ),
    Difference(
        (TORCH,),
        ("floor_divide_",),
        ("nonleaf.backward_error", "out_of_place_grad.backward_error", "then_add_one_in_place.ok"),
        "PyTorch has no gradient for this operation. In minitensor the gradient is 0.",
    ),
    Difference(
        (TORCH,),
        ("acosh_", "atanh_"),
        ("nonleaf.backward_error", "then_add_one_in_place.ok"),
        "PyTorch has no gradient for the in-place operation. In minitensor it has the same gradient as the normal one.",
    ),
    Difference(
        (TORCH,),
        ("asinh_",),
        ("nonleaf.backward_error", "then_add_one_in_place.type"),
        "PyTorch has no gradient for the in-place operation. In minitensor it has the same gradient as the normal one.",
    ),
    Difference(
        (PADDLE_3,),
        ("gammainc_", "gammaincc_"),
        ("out_of_place_grad.tracks_grad",),
        "No framework computes the gradient of `x`. In Paddle the result of the normal operation has no history; in "
        "minitensor backward raises an error.",
    ),
    Difference(
        (PADDLE_3,),
        ("gammainc_", "gammaincc_"),
        ("nonleaf.backward_error.type", "then_add_one_in_place.type"),
        "No framework computes the gradient of `x`. Paddle's backward raises a ValueError about a MetaTensor, "
        "minitensor's a RuntimeError that says that only `y` has a gradient.",
    ),
    Difference(
        (PADDLE_2,),
        ("square_",),
        (
            *("no_grad_tensor.error", "nonleaf.error", "then_add_one_in_place.error", "saved_by_earlier_mul.error"),
            *("leaf_requiring_grad.type", "leaf_under_no_grad.allowed"),
        ),
        "In Paddle 2.6.2 the name exists, but a call raises AttributeError. In minitensor the operation works, as in "
        "Paddle 3.3.1.",
    ),
    # ---------- saved tensors ----------
    Difference(PADDLES, ("asinh_", "leaky_relu_", "tan_"), ("then_add_one_in_place.ok",), OUTPUT_SAVED),
    Difference((TORCH,), ("erfinv_",), ("then_add_one_in_place.ok",), OUTPUT_SAVED),
    Difference(
        PADDLES,
        ("cumprod_", "divide_", "geometric_", "lerp_", "put_along_axis_"),
        ("then_add_one_in_place.ok",),
        OUTPUT_NOT_SAVED,
    ),
    Difference((PADDLE_3,), ("log_normal_", "sinc_"), ("then_add_one_in_place.ok",), OUTPUT_NOT_SAVED),
    Difference((TORCH,), ("copysign_", "cumprod_", "ldexp_"), ("then_add_one_in_place.ok",), OUTPUT_NOT_SAVED),
    # ---------- numbers ----------
    Difference(
        (PADDLE_3, TORCH),
        ("round_",),
        ("no_grad_tensor.value", "out_of_place.value"),
        "Halves are rounded away from zero, as in Paddle 2.6.2. Paddle 3.3.1 and PyTorch round them to even.",
    ),
)

#: Names of the facts, for readers who do not know the recordings.
SITUATIONS = {
    "no_grad_tensor": "on a tensor that requires no gradient",
    "out_of_place": "the normal operation",
    "leaf_requiring_grad": "on a leaf that requires a gradient",
    "leaf_under_no_grad": "on a leaf, under no_grad",
    "nonleaf": "on a tensor that is not a leaf",
    "out_of_place_grad": "backward of the normal operation",
    "then_add_one_in_place": "then x.add_(1), then backward",
    "saved_by_earlier_mul": "x saved by an earlier product, then its backward",
}
WHAT = {
    "allowed": "refused or not",
    "backward_error": "backward refused or not",
    "backward_error.type": "type of the error of backward",
    "data_changed": "numbers changed by a refused call",
    "dtype_after": "dtype of x afterwards",
    "error": "refused or not",
    "grad_of_sum_wrt_x": "gradient",
    "ok": "backward refused or not",
    "result_is_x": "whether x is returned",
    "tracks_grad": "whether the result has a history",
    "type": "type of the error",
    "value": "numbers",
    "version_after": "version afterwards",
    "versions": "versions in the error",
}


def reason(framework: str, operation: str, seen: str) -> str | None:
    """Return the reason why ``operation`` differs from ``framework`` in ``seen``; None if no difference is intended."""
    return next((each.reason for each in DIFFERENCES if each.covers(framework, operation, seen)), None)


def in_words(seen: str) -> str:
    """Return a phrase for a fact: "version afterwards, on a tensor that is not a leaf" for
    ``nonleaf.version_after``.
    """
    situation, _, what = seen.partition(".")
    return f"{WHAT[what]}, {SITUATIONS[situation]}"


@dataclass(frozen=True)
class Group:
    """The differences with one reason, with frameworks and facts in words."""

    frameworks: tuple[str, ...]
    operations: tuple[str, ...]
    but: tuple[str, ...]
    seen: tuple[str, ...]
    reason: str

    @property
    def operations_text(self) -> str:
        """Return the operations as Markdown."""
        if self.operations == EVERY:
            return "every one" + (" but " + _join(self.but) if self.but else "")
        return _join(self.operations)


def groups() -> list[Group]:
    """Return all differences in the order of the list, grouped by reason."""
    found: dict[tuple[str, tuple[str, ...]], list[Difference]] = {}
    for each in DIFFERENCES:
        found.setdefault((each.reason, each.but), []).append(each)
    return [
        Group(
            frameworks=tuple(title(name) for name in FRAMEWORKS if any(name in each.frameworks for each in group)),
            operations=tuple(sorted({name for each in group for name in each.operations})),
            but=but,
            seen=tuple(dict.fromkeys(in_words(what) for each in group for what in each.seen)),
            reason=reason,
        )
        for (reason, but), group in found.items()
    ]


def _join(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def title(framework: str) -> str:
    """Return "PyTorch 2.13.0" for ``torch-2.13.0``."""
    library, _, version = framework.partition("-")
    return f"{'Paddle' if library == 'paddle' else 'PyTorch'} {version}"
