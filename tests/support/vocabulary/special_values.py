"""Compare values and gradients at nan, inf, -0.0 and ties, and of empty tensors, with facts/special-values.json.gz.

An answer of minitensor is right if it equals that of one version of the framework. The sign of a zero is compared in
results, but not in gradients. Intended differences are listed by kind, each with its reason.

python -m tests.support.vocabulary.special_values           prints what differs
python -m tests.support.vocabulary.special_values torch     in one vocabulary
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minitensor
from minitensor import torch
from tests.support.vocabulary.programs.running import facts_module

asked = facts_module("special_values")
RECORDS: dict[str, dict[str, Any]] = asked.recorded()
MODULES: dict[str, Any] = {"torch": torch, "paddle": minitensor}
VERSIONS = {library: [each for each in RECORDS if each.startswith(library)] for library in MODULES}
#: The relative tolerance, because float32 functions of two libraries differ in their last digits.
ALIKE = 5e-5
#: The absolute tolerance for sums of rounded numbers, unless both numbers are 0.
NEAR = 1e-6


def questions(library: str) -> list[str]:
    """Return the questions to a library, such as "points: L.abs(x)"."""
    found: list[str] = asked.questions(library)
    return found


def answers(library: str, question: str) -> tuple[list[Any], Any]:
    """Return the recorded answers of all versions, and minitensor's answer."""
    return [RECORDS[version][question] for version in VERSIONS[library]], asked.ask(library, MODULES[library], question)


def alike(then: Any, here: Any, gradients: int = 0) -> bool:
    """True if two answers agree. The last ``gradients`` entries of each are gradients. Any two errors agree."""
    if isinstance(then, str) or isinstance(here, str):
        return isinstance(then, str) and isinstance(here, str)
    results = len(then) - gradients
    return len(then) == len(here) and all(
        _alike(*pair, i < results) for i, pair in enumerate(zip(then, here, strict=True))
    )


def gradients_of(question: str) -> int:
    """Return the number of gradients in the answer to a question: one for each float input."""
    return sum(dtype == asked.FLOAT for dtype, _ in asked.INPUTS[question.partition(": ")[0]])


def _alike(then: str | None, here: str | None, signs: bool) -> bool:
    """True if two tensors have the same dtype, shape and numbers; with ``signs``, 0 and -0 are different numbers."""
    if then is None or here is None:
        return then is here
    old, new = then.split(" "), here.split(" ")
    return (
        len(old) == len(new)
        and old[:2] == new[:2]
        and all(_same(*each, signs) for each in zip(old[2:], new[2:], strict=True))
    )


def _same(old: str, new: str, signs: bool) -> bool:
    if old == new:
        return True
    try:
        a, b = float(old), float(new)
    except ValueError:
        return False
    if a == b == 0:
        return not signs
    return math.isclose(a, b, rel_tol=ALIKE, abs_tol=NEAR)


# ---------- intended differences ----------


def any_difference(then: Any, here: Any) -> bool:
    """Return True. A kind with this test lists the exact questions in its pattern."""
    return True


def refused_there(then: Any, here: Any) -> bool:
    """True if the framework raises an error, or its process dies, or its backward fails."""
    return isinstance(then, str) or any(each is not None and " " not in each for each in then)


def refused_here(then: Any, here: Any) -> bool:
    """True if minitensor raises an error and the framework does not."""
    return isinstance(here, str) and not isinstance(then, str)


def missing_here(then: Any, here: Any) -> bool:
    """True if minitensor lacks the name."""
    return here == "AttributeError"


def sign_of_zero(then: Any, here: Any) -> bool:
    """True if only the signs of zeros differ."""
    return (
        not isinstance(then, str)
        and not isinstance(here, str)
        and alike(*(_without_signs(each) for each in (then, here)))
    )


def _without_signs(answer: list[Any]) -> list[Any]:
    return [each and re.sub(r" -0(?= |$)", " 0", each) for each in answer]


def gradients_only(then: Any, here: Any) -> bool:
    """True if the values agree, so that only gradients differ."""
    return not isinstance(then, str) and not isinstance(here, str) and _alike(then[0], here[0], True)


@dataclass(frozen=True)
class Kind:
    """A group of questions that minitensor answers differently on purpose.

    Attributes:
        why: the reason.
        pattern: a regular expression for the questions, each preceded by its library.
        like: a function of the framework's answer and minitensor's that returns True if they differ in this way.
    """

    why: str
    pattern: str
    like: Callable[[Any, Any], bool] = any_difference


KINDS = (
    Kind("the framework refuses integers and bools; minitensor converts them to float32 or keeps their dtype", r".*",
         refused_there),
    Kind(
        "functions that minitensor lacks",
        r".*\b(logcumsumexp|nanmedian|erfc|rad2deg|sgn|logaddexp|huber_loss|interpolate)\(",
        missing_here,
    ),
    Kind("functions that minitensor has only under PyTorch's names",
         r"paddle: .*\bL\.(logspace|vstack|hstack)\(", missing_here),
    Kind(
        "IEEE 754 leaves the sign of the larger of 0.0 and -0.0 open, and numpy's depends on the processor",
        r"torch: .*(relu|maximum|minimum|fmax|fmin|clamp|amax|amin|kthvalue|cumsum|layer_norm|smooth_l1_loss)",
        sign_of_zero,
    ),
    Kind("PyTorch adds -alpha times the operand, whose zeros have the other sign", r"torch: pairs: L.sub\(.*alpha",
         sign_of_zero),
    Kind("cdist subtracts the rows, so that infinite ones have an infinite distance; the frameworks multiply matrices",
         r"(torch|paddle): pairs: L.cdist"),
    Kind("the mean of no numbers is a constant: its gradient is 0, and nan in PyTorch", r"torch: .*L.nanmean\(x\)",
         gradients_only),
    Kind("Paddle adds a bias of 0 to many results, which turns -0.0 into 0.0", r"paddle: ", sign_of_zero),
    Kind("PyTorch's gelu is nan at inf, where the limit is inf", r"torch: points: F.gelu\(x\)"),
    Kind(
        "the slopes of digamma at its poles and at inf: PyTorch's are large numbers, or nan",
        r"torch: .*(digamma|polygamma)\(",
    ),
    Kind("slopes of compositions at inf and nan: they give nan where a special rule would give inf or 0",
         r"(torch|paddle): (points: (F.selu|F.hardswish|F.softsign)|rows: L.(var|norm)|points: x \*\* 0.5"
         r"|\[\], nan: L.(max|min|var)\()"),
    Kind("the slopes of hypot at (0, 0) are 0 instead of nan", r"(torch|paddle): pairs: L.hypot"),
    Kind("cumprod and prod have exact gradients if other elements are 0, nan or inf; the frameworks divide by these",
         r"(torch|paddle): (rows|\[\], nan): L.(cumprod|prod)\("),
    Kind("the median of an empty tensor is nan, without a history", r"torch: (\[|integer \[0\]).*: L.median\(x\)$"),
    Kind("kthvalue returns the position of the first of equal elements", r"torch: rows: L.kthvalue"),
    Kind("these functions convert integers to float32; PyTorch keeps the dtype",
         r"torch: int.*: F.(relu6|hardtanh|threshold|soft.*|log_softmax)\("),
    Kind("functions of integers have float32 results; Paddle's atan2 has float64", r"paddle: integer.*: L.atan2"),
    Kind("bools have no arithmetic", r"(torch|paddle): bools: (L.(sign|square|clamp\w*|neg|scale)\(|-x)",
         refused_here),
    # ---------- Paddle: wrong results, or results from uninitialized memory ----------
    Kind("an empty tensor has no largest or middle element, and no spread; Paddle returns arbitrary numbers",
         r"paddle: (\[|integer \[0\]).*: L.(amax|amin|argmax|argmin|topk|std|var|median|norm|mean)\("),
    Kind("positions, counts and rounded quotients have the gradient None or 0: where minitensor has one of these, "
         "Paddle has the other",
         r"paddle: .*(// 2.0|L.(argsort|unique|count_nonzero|floor_divide|norm)\()", ),
    Kind("minitensor also computes the gradient of a label", r"paddle: .*F.(kl_div|binary_cross_entropy\w*)\(",
         lambda then, here: alike(then, here[:-1] + [None])),
    Kind("a loss refuses operands that would be broadcast", r"paddle: .* and .*: F.(mse_loss|l1_loss)\(", refused_here),
    Kind("soft labels get no gradient, and losses refuse integers", r"paddle: .*F.(cross_entropy|mse_loss)\(.*",
         refused_here),
    Kind("an index out of range is refused; Paddle reads memory outside the empty tensor",
         r"paddle: .*\[0.*: L.gather", refused_here),
    Kind("add_n adds tensors of one shape; Paddle returns a sum in the shape of the last",
         r"paddle: .* and .*: L.add_n", refused_here),
    Kind("the distances of empty tensors have an empty gradient", r"paddle: .*0.*: L.cdist",
         lambda then, here: not isinstance(then, str) and _alike(then[0], here[0], True)),
    Kind("minitensor refuses nan and fractions as integers", r"paddle: int.*: L.(masked_fill|pow|logsumexp|diag)\(",
         refused_here),
    Kind("Paddle's answers at nan and inf: relu(nan) is 0, sinc(nan) 1, erfinv(2) inf, isclose(inf, 1) true, "
         "slopes of |x| and sqrt(x) nan; the smallest logarithm of softmax is -64",
         r"paddle: (points: (L.(abs|acosh|asinh|digamma|erfinv|sinc|sqrt|polygamma|renorm)|F.(relu|silu"
         r"|thresholded_relu|log_sigmoid|leaky_relu)\(|x \*\* (-1|3)|L.clip|L.multigamma)"
         r"|pairs: L.(copysign|remainder|mod|floor_mod|isclose)\(|"
         r"integers: L.erfinv|int32: L.erfinv|rows: (L.(argmax|argmin|logsumexp|norm)\(|F.log_softmax)|"
         r"images: F.max_pool2d|shares: F.(l1_loss|smooth_l1_loss)|\[\], nan: F.(l1_loss|smooth_l1_loss)|"
         r"logits and classes: F.cross_entropy\(x, y, reduction|no logits: F.nll_loss)"),
    Kind("the gradient of a loss at the logit 0 is sigmoid(0) - y; Paddle's has the other sign, and its values are nan "
         "or inf for infinite labels", r"paddle: shares: F.(binary_cross_entropy_with_logits|kl_div)"),
    Kind("the gradient of the median goes to the middle elements; Paddle's to all that equal them",
         r"paddle: (rows|\[\], nan): L.median"),
    Kind("the gradient of diag_embed is the diagonal; in Paddle the result has no history", r"paddle: .*: L.diag_embed",
         gradients_only),
    Kind("overlapping windows add their gradients; Paddle drops one", r"paddle: matrices: x.unfold", gradients_only),
    Kind("the second of equal numbers gets the gradient, as in Paddle 2.6.2, and nan is the larger, as in 3.3.1",
         r"paddle: (points|pairs): L.(maximum|minimum)"),
    Kind("the slope of logit at -0.0 is inf, as at 0.0", r"paddle: points: L.logit\(x\)", gradients_only),
    Kind("the slope of the entropy of Bernoulli's distribution is the logarithm of its odds; Paddle forgets half of it",
         r"paddle: positive: D.Bernoulli\(y\).entropy", gradients_only),
)  # fmt: skip


def kind_of(library: str, question: str, then: list[Any], here: Any) -> Kind | None:
    """Return the kind of a difference; None if it is not intended."""
    for kind in KINDS:
        if re.match(kind.pattern, f"{library}: {question}") and any(kind.like(each, here) for each in then):
            return kind
    return None


def unlike(library: str) -> dict[str, str]:
    """Return the questions with an unintended difference, each with the answers."""
    found = {}
    for question in questions(library):
        then, here = answers(library, question)
        right = any(alike(each, here, gradients_of(question)) for each in then)
        if not right and kind_of(library, question, then, here) is None:
            found[question] = f"recorded {then}, here {here}"
    return found


def main(libraries: list[str]) -> None:
    """Print the unintended differences."""
    for library in libraries:
        found = unlike(library)
        for question, text in found.items():
            print(f"{library}: {question}", text, sep="\n    ")
        print(f"{len(found)} differ")


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODULES))
