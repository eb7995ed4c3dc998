"""Run functions whose input or result is overwritten before backward. Two tables list the differences from PyTorch."""

from __future__ import annotations

import re

from tests.support.vocabulary import learners

RECORD = {
    question.removeprefix("overwritten: "): answer
    for question, answer in learners.RECORDS["torch 2.13.0"].items()
    if question.startswith("overwritten: ")
}
FUNCTIONS = list(dict.fromkeys(question.rpartition(", ")[0] for question in RECORD))
WRITES = ("its input written", "its result written", "both written")

#: The writes that PyTorch refuses in backward and the engine does not, because the engine saves less or a private copy.
ANSWERED_HERE = {
    "gelu": {"its input written", "both written"},
    "layer_norm": {"its input written", "both written"},
    "log_softmax": {"its result written", "both written"},
    "logsumexp": {"its input written", "its result written", "both written"},
    "softplus": {"its input written", "both written"},
    "prod": {"its result written"},
    "std": {"its input written", "its result written", "both written"},
    "var": {"its input written", "both written"},
    "norm": {"its result written"},
    "cumprod": {"its result written"},
    "mse_loss": {"its input written", "both written"},
    "nll_loss": {"its input written", "both written"},
    "pow(2, x)": {"its input written"},
    "gather": {"its input written", "both written"},
    "norm1": {"its result written"},
    "smooth_l1": {"its input written", "both written"},
    "bce_logits": {"its input written", "both written"},
}
#: The writes that the engine refuses in backward and PyTorch does not, because the engine saves the result and PyTorch
#: the input.
REFUSED_HERE = {"elu": {"its result written", "both written"}, "leaky_relu": {"its result written", "both written"}}


def outcome(function: str, write: str) -> str | list[float]:
    """Return the gradient as numbers, "refused" if backward finds an overwritten value, or the message of the error."""
    return recorded_outcome(learners.answer("torch", RECORD[f"{function}, {write}"]["program"]))


def recorded_outcome(answer: dict[str, str]) -> str | list[float]:
    error = answer.get("error", "")
    if not error:
        return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", answer["out"])]
    return "refused" if "has been modified by an inplace operation" in error else error


def is_missing(function: str) -> bool:
    return "has no attribute" in str(outcome(function, "nothing written"))
