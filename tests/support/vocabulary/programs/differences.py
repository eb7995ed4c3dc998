"""Intended differences from the frameworks, by kind and by program, with their reasons; and programs that still fail.

A difference of a kind in KINDS is recognized in any program. A program in DELIBERATE may differ in any way, for the
given reason. A program in NOT_YET shows a fault: `test_learners_programs.py` expects it to fail, so whoever repairs the
fault has to remove the program from the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.support.vocabulary.programs import comparing

Answer = dict[str, Any]


def named_here(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer with minitensor's name replaced by the framework's."""
    answer = dict(answer)
    for part in ("out", "error"):
        if part in answer:
            text = answer[part].replace("minitensor.torch", "torch").replace("minitensor", vocabulary)
            answer[part] = text
    if "cannot import name" in answer.get("error", ""):
        answer["error"] = re.sub(r" \(\S+\)$", "", answer["error"])
    return answer


def without_the_flag_of_gradients(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer of a program about gradients, without the printed `stop_gradient` of tensors."""
    if vocabulary != "paddle" or not re.search(r"grad\b|hook|backward", program):
        return answer
    return {**answer, "out": re.sub(r"stop_gradient=(True|False)", "stop_gradient=...", answer.get("out", ""))}


def without_additions_to_errors(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer without printed lines that end with a full stop. minitensor adds such lines to errors."""
    if "print(error)" not in program:
        return answer
    return {**answer, "out": "\n".join(line for line in answer.get("out", "").splitlines() if not line.endswith("."))}


def without_the_flag_of_positions(vocabulary: str, program: str, answer: Answer) -> Answer:
    """Return the answer without the printed `stop_gradient` of integer tensors."""
    if vocabulary != "paddle":
        return answer
    flag = r"(dtype=int(?:32|64), place=\S+, stop_gradient=)\w+"
    return {**answer, "out": re.sub(flag, r"\1...", answer.get("out", ""))}


#: The kinds of differences: a name, the reason, and a function that removes differences of this kind from an answer.
KINDS: list[tuple[str, str, Callable[[str, str, Answer], Answer]]] = [
    (
        "names itself",
        "a dtype and a module print the name of their library: minitensor.float32 where Paddle prints paddle.float32",
        named_here,
    ),
    (
        "an error says more",
        "an error begins with the framework's message and adds what was given and what is allowed. Only the first line "
        "is compared",
        without_additions_to_errors,
    ),
    (
        "a gradient requires none",
        "the gradient in x.grad, and the one passed to a hook, has stop_gradient=True. In Paddle it has "
        "stop_gradient=False although nothing was recorded for it. Therefore Paddle refuses `x.grad.zero_()`, and "
        "`x -= lr * x.grad` records every step",
        without_the_flag_of_gradients,
    ),
    (
        "positions require no gradient",
        "positions of elements are integers, which have no gradient. Those that Paddle's sort, argsort and topk return "
        "have stop_gradient=False",
        without_the_flag_of_positions,
    ),
]

#: The reason why minitensor's error messages differ from Paddle's, which name C++ files and conditions. Only
#: test_paddle_programs.py compares messages, and only those about leaves and stale tensors. PyTorch's messages are
#: mirrored, so a difference from them is not intended.
OWN_WORDS = "an error of the same type as Paddle's has minitensor's message: what was given, and what is allowed"


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


#: Programs that differ on purpose, and the reasons.
DELIBERATE: dict[str, dict[str, str]] = {
    "torch": {
        "batch_norm_layer": "a sum is exactly 0; in PyTorch it is -6e-08 because of rounding",
        "layer_norm": "gradients of 2e-05 differ in the last digits: float32 rounds another order of sums differently",
        "device_agnostic": "without a CUDA device there is a simulated one, so `cuda.is_available()` is true",
        "log_softmax_overwritten": "log_softmax does not save its output, so a write to it loses no saved value",
        "overlapping_write": "a write reads overlapping operands before it writes; PyTorch refuses",
        "several_outputs": "minitensor records a write into one of several views, which PyTorch refuses",
        "std_input_overwritten": "std computes the values for its gradient in forward, so its input may be written",
        "times_itself_in_place": "`y *= y` copies the values that its gradient needs",
    },
    "paddle": {
        "batch_norm_layer": "Paddle warns in each training step of a change made in version 2.0",
        "layer_norm": "gradients of 2e-05 differ in the last digits: float32 rounds another order of sums differently",
        "dtypes": "int64 with float32 gives float32; Paddle 2.6.2 gives int64 (the left dtype), 3.3.1 refuses",
        "backward_twice": "minitensor raises RuntimeError, because SystemError means a broken interpreter",
        "missing_gradients": "backward of a tensor without history raises an error; in Paddle it does nothing",
        "losses": "mse_loss of [3, 1] and [3] is refused; Paddle broadcasts them to nine differences",
        "one_number_and_none": "the sum of an empty tensor is 0, as in 3.3.1; a shape prints as a list, as in 2.6.2",
        "optimizer_step_between": "a step counts as a write; Paddle's second backward uses the new weights",
        "shapes_in_place": "flatten_ of a transposed tensor would need another storage, so it is refused",
    },
}

#: Programs that differ because of a missing feature or a fault, with its description.
NOT_YET: dict[str, dict[str, str]] = {"torch": {}, "paddle": {}}
