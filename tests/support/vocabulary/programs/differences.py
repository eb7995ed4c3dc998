"""Intended differences, by kind and by program, with their reasons, and programs that need missing features.

A difference of a kind is recognized in any program. A program of DELIBERATE differs completely, for the given reason. A
program of NOT_YET shows a fault: `test_learners_programs.py` expects it to fail, strictly, so that a repair has to
remove it from the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.support.vocabulary.programs import comparing

Answer = dict[str, Any]


def named_here(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer with this package's name replaced by the framework's."""
    answer = dict(answer)
    for part in ("out", "error"):
        if part in answer:
            text = answer[part].replace("minitensor.torch", "torch").replace("minitensor", vocabulary)
            answer[part] = text
    if "cannot import name" in answer.get("error", ""):
        answer["error"] = re.sub(r" \(\S+\)$", "", answer["error"])
    return answer


def without_the_flag_of_gradients(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer of a program about gradients, without the printed `requires_grad` of the gradients."""
    if vocabulary != "paddle" or not re.search(r"grad\b|hook|backward", program):
        return answer
    return {**answer, "out": re.sub(r"stop_gradient=(True|False)", "stop_gradient=...", answer.get("out", ""))}


def without_additions_to_errors(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer without all but the first line of an error, if a program prints the whole error."""
    if "print(error)" not in program:
        return answer
    return {**answer, "out": "\n".join(line for line in answer.get("out", "").splitlines() if not line.endswith("."))}


def without_the_flag_of_positions(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer without the printed `stop_gradient` of integer tensors."""
    if vocabulary != "paddle":
        return answer
    flag = r"(dtype=int(?:32|64), place=\S+, stop_gradient=)\w+"
    return {**answer, "out": re.sub(flag, r"\1...", answer.get("out", ""))}


#: The name of a kind, its reason, and a function that removes this difference from two answers.
KINDS: list[tuple[str, str, Callable[[str, str, Answer], Answer]]] = [
    (
        "names itself",
        "a dtype and a module say whose they are: minitensor.float32 where Paddle says paddle.float32",
        named_here,
    ),
    (
        "an error says more",
        "an error begins in the framework's words and goes on: what was given, what would be right. Compared are the "
        "lines that are no sentence of their own",
        without_additions_to_errors,
    ),
    (
        "a gradient wants none",
        "what backward() leaves in x.grad, and what it hands to a hook, wants no gradient itself. In Paddle it prints "
        "stop_gradient=False although nothing was recorded for it: then `x.grad.zero_()` is refused, and "
        "`x -= lr * x.grad` ties every step to the one before",
        without_the_flag_of_gradients,
    ),
    (
        "positions want no gradient",
        "where elements are is told in whole numbers, which want no gradient; those of Paddle's sort, argsort and topk "
        "say stop_gradient=False",
        without_the_flag_of_positions,
    ),
]

#: Paddle's texts name C++ files and conditions. test_paddle_programs.py compares the words for leaves and stale
#: tensors. PyTorch's words are kept, so a difference in them is not intended.
OWN_WORDS = "an error of Paddle's type is told in words of its own: what was given and what would be right"


def remaining(vocabulary: str, program: str, recorded: Answer, here: Answer) -> tuple[dict[str, str], list[str]]:
    """Return the differences without a kind, and the names of the kinds that occur."""
    found, met = comparing.differences(recorded, here), []
    for name, _, alike in KINDS:
        if not found:
            break
        wanted, seen = alike(vocabulary, program, recorded), alike(vocabulary, program, here)
        less = comparing.differences(wanted, seen)
        if len(less) < len(found):
            met.append(name)
            recorded, here, found = wanted, seen, less
    if vocabulary == "paddle" and "words" in found:
        met.append("own words")
        del found["words"]
    return found, met


#: Programs that differ here on purpose, and the reasons.
DELIBERATE: dict[str, dict[str, str]] = {
    "torch": {
        "batch_norm_layer": "a sum that is 0 but for rounding: PyTorch prints -6e-08",
        "layer_norm": "gradients of 2e-05 differ in the last digits: float32 rounds another order of sums differently",
        "device_agnostic": "where no CUDA device is, a simulated one answers, so `cuda.is_available()` is true",
        "log_softmax_overwritten": "log_softmax saves no output here, so the write on it loses nothing",
        "overlapping_write": "what a write reads of its own memory is read before, so overlaps are right",
        "several_outputs": "a write into one of several views is followed, where PyTorch refuses",
        "std_input_overwritten": "std keeps what its gradient needs in the forward, so its input may be written",
        "times_itself_in_place": "`y *= y` copies what its own gradient needs",
    },
    "paddle": {
        "batch_norm_layer": "Paddle warns at each training call of what it has done since 2.0",
        "layer_norm": "gradients of 2e-05 differ in the last digits: float32 rounds another order of sums differently",
        "dtypes": "int64 with float32 gives float32; Paddle 2.6.2 gives int64 by the left one, 3.3.1 refuses",
        "backward_twice": "RuntimeError: SystemError is Python's word for a broken interpreter",
        "gradient_not_wanted": "backward of what nothing was recorded for is told; Paddle does nothing in silence",
        "losses": "mse_loss of [3, 1] and [3] is refused; Paddle broadcasts them to nine differences in silence",
        "one_number_and_none": "the sum of nothing is 0, as in 3.3.1; a shape prints as a list, as in 2.6.2",
        "optimizer_step_between": "a step counts as a write; Paddle's second backward uses the new weights in silence",
        "shapes_in_place": "flatten_ of a transposed tensor would need another storage, which is never taken in place",
    },
}

#: Programs that differ because of a missing feature or a fault, with its description.
NOT_YET: dict[str, dict[str, str]] = {
    "torch": {},
    "paddle": {},
}
