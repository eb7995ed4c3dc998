"""What differs on purpose, by kinds and by programs, each with its reason; and what the engine does not have yet.

A difference of a kind is recognised by what it is, in any program. The programs of DELIBERATE differ as a whole, for
the reason beside them. Those of NOT_YET are faults: `test_learners_programs.py` expects each to fail, strictly, so that
who mends one takes it out of the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vocabulary.programs import comparing

Answer = dict[str, Any]


def named_here(vocabulary: str, program: str, answer: Answer) -> Answer:
    """The answer with the framework's name in the place of this package's."""
    answer = dict(answer)
    for part in ("out", "error"):
        if part in answer:
            answer[part] = answer[part].replace("minitensor", vocabulary)
    return answer


def without_what_errors_add(vocabulary: str, program: str, answer: Answer) -> Answer:
    """The answer without lines that stand after the first of an error's text, where a program prints it whole."""
    if "print(error)" not in program:
        return answer
    return {**answer, "out": "\n".join(line for line in answer.get("out", "").splitlines() if not line.endswith("."))}


#: The name of a kind, its reason, and what makes two answers comparable that differ in nothing else.
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
        without_what_errors_add,
    ),
]

#: Paddle's texts name C++ files and conditions; the leaf's and the stale tensor's words are held elsewhere, in
#: test_paddle_programs.py. PyTorch's words are kept, so a difference in them is none of purpose.
OWN_WORDS = "an error of Paddle's type is told in words of its own: what was given and what would be right"


def remaining(vocabulary: str, program: str, recorded: Answer, here: Answer) -> tuple[dict[str, str], list[str]]:
    """What differs and is of no kind; and the names of the kinds that were met."""
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


#: Programs that do another thing here on purpose, and why.
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
        "dtypes": "int64 with float32 gives float32; Paddle 2.6.2 gives int64 by the left one, 3.3.1 refuses",
        "backward_twice": "RuntimeError: SystemError is Python's word for a broken interpreter",
        "gradient_not_wanted": "backward of what nothing was recorded for is told; Paddle does nothing in silence",
        "optimizer_step_between": "a step counts as a write; Paddle's second backward uses the new weights in silence",
        "shapes_in_place": "flatten_ of a transposed tensor would need another storage, which is never taken in place",
    },
}

#: Programs that differ because something is missing or wrong, and what.
NOT_YET: dict[str, dict[str, str]] = {
    "torch": {
        "dataset_and_loader": "utils.data",
        "dtypes": "dtype=float is float64; half",
        "embedding_and_gru": "nn.GRU",
        "gan_step": "nn.BCELoss",
        "gan_step_wrong_order": "which output the overwritten weight is: PyTorch saw a transposed view of it",
        "gradient_penalty": "what a gradient of 0 reaches has the gradient 0, not none",
        "half_precision": "float16, bfloat16, uint8",
        "sort_and_topk": "unique shows a grad_fn, though it has no gradient",
        "state_dict_in_memory": "save, load",
    },
    "paddle": {
        "a_layer_of_ones_own": "a gradient prints stop_gradient=False",
        "attention_by_hand": "a gradient prints stop_gradient=False",
        "backward_hook": "Tensor._register_backward_hook",
        "backward_of_a_vector": "a gradient prints stop_gradient=False",
        "backward_twice_retained": "a gradient prints stop_gradient=False",
        "batch_norm_layer": "BatchNorm lists its running mean and variance among its parameters",
        "cumulative_in_place": "cumsum_ without an axis",
        "dataset_and_loader": "io.Dataset, io.DataLoader",
        "exp_output_overwritten": "a gradient prints stop_gradient=False",
        "gan_step": "nn.BCELoss",
        "gradient_with_grad_outputs": "a gradient prints stop_gradient=False",
        "gradients_accumulate": "a gradient prints stop_gradient=False",
        "hooks_on_tensors": "a gradient prints stop_gradient=False",
        "layer_norm": "a gradient prints stop_gradient=False",
        "loop_appends_losses": "a gradient prints stop_gradient=False",
        "losses": "functional.smooth_l1_loss, binary_cross_entropy",
        "mask_in_place": "a gradient prints stop_gradient=False",
        "minimize": "Optimizer.minimize",
        "one_hot_and_lookup": "functional.one_hot",
        "printing": "a gradient prints stop_gradient=False",
        "relu_in_place": "a gradient prints stop_gradient=False",
        "retain_grads": "a gradient prints stop_gradient=False",
        "save_and_load": "save, load",
        "simple_gradient": "a gradient prints stop_gradient=False",
        "small_convolution": "a gradient prints stop_gradient=False",
        "softmax_and_cross_entropy": "functional.softmax_with_cross_entropy",
        "sort_and_topk": "unique; positions print stop_gradient=False",
        "statistics": "median",
        "straight_through": "a gradient prints stop_gradient=False",
        "whole_numbers": "the mean of whole numbers is whole",
    },
}
