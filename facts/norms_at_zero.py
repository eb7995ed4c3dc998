"""Record in norms-at-zero.json.gz norms and distances with their first and second gradients where elements are 0.

    python facts/norms_at_zero.py torch      in an environment that has torch
    python facts/norms_at_zero.py paddle

A question is an expression of a tensor `x`. `L` is the library and `F` its `nn.functional`. The answer has the result,
the gradient of the sum of the result, and the gradient of the sum of the squares of this gradient. An error is recorded
as its type, and a tensor that does not require a gradient is recorded as "constant".
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import crashing
import numpy as np

FILE = Path(__file__).with_name("norms-at-zero.json.gz")
#: The seconds after which a question's process is killed.
SECONDS = 2

INPUTS: dict[str, Any] = {
    "zeros": [0.0, 0.0, 0.0],
    "a zero row": [[0.0, 0.0, 0.0], [0.0, 2.0, -1.0], [3.0, 1.0, 2.0]],
    "one zero": [0.0],
    "zero": 0.0,
    "one number": [2.0],
    "[0]": [],
    "[2, 0]": [[], []],
    "[0, 2]": np.zeros((0, 2)),
}
POWERS = ["3", "1.5", "0.5", "-1", "-2.5", "float('inf')", "float('-inf')", "0", "1", "2"]
#: In every row, "{}" is replaced by a power.
EXPRESSIONS = [
    *("L.norm(x, {})", "L.norm(x, {}, 0)", "L.norm(x, {}, -1, True)", "L.norm(x, {}, [0, 1])"),
    *("F.normalize(x, {}, -1)", "L.cdist(x, x, {})", "L.cdist(x, x * 2, {})", "L.renorm(x, {}, 0, 1.0)"),
]
#: Names that minitensor lacks. Their answers are recorded so that these functions can be added.
MISSING = ["L.linalg.vector_norm(x, {})", "L.dist(x, x * 0, {})", "F.pairwise_distance(x, x * 0, {}, 0.0)"]
#: Expressions without a power.
OTHERS = [
    *("F.cosine_similarity(x, x, -1)", "F.cosine_similarity(x, x * 2 + 1, -1)"),
    *("L.norm(x)", "F.normalize(x, dim=-1)"),
]


def questions(library: str) -> list[str]:
    """Return all questions, as "INPUT: EXPRESSION"."""
    expressions = [each.format(p) for each in EXPRESSIONS + MISSING for p in POWERS]
    expressions += [each.replace("dim=", "axis=") if library == "paddle" else each for each in OTHERS]
    return [f"{name}: {each}" for name, each in itertools.product(INPUTS, expressions)]


def answer(library: str, module: Any, question: str) -> list[str]:
    """Return the answer of `module`, which has the names of `library`."""
    name, _, expression = question.partition(": ")
    make = module.tensor if library == "torch" else module.to_tensor
    x = make(np.array(INPUTS[name], "float32"))
    if library == "torch":
        x.requires_grad_()
    else:
        x.stop_gradient = False
    gradient = module.autograd.grad if library == "torch" else module.grad
    found: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, {"L": module, "F": module.nn.functional, "x": x})
            found.append(text(result))
            if is_constant(library, result):
                return [*found, "constant"]
            total = result.sum()
            found.append(text(gradient(total, [x], retain_graph=True)[0]))
            (first,) = gradient(total, [x], create_graph=True)
            found.append("constant" if is_constant(library, first) else text(gradient((first * first).sum(), [x])[0]))
    except Exception as error:  # the libraries raise errors of different types
        return [*found, type(error).__name__]
    return found


def is_constant(library: str, tensor: Any) -> bool:
    """True if a tensor does not require a gradient."""
    return not tensor.requires_grad if library == "torch" else bool(tensor.stop_gradient)


def text(tensor: Any) -> str:
    """Return "[2] 1 nan": shape and numbers, with seven digits."""
    numbers = np.array(tensor.detach().tolist(), "float64").ravel()
    return " ".join([str(list(tensor.shape)).replace(", ", ","), *(f"{number:.7g}" for number in numbers)])


def recorded() -> dict[str, dict[str, Any]]:
    """Return the answers of each library and version."""
    return crashing.recorded(FILE)


if __name__ == "__main__":
    # Paddle may never return after an error in its memory, so each question has a limit.
    crashing.record(FILE, questions, answer, lambda text: [text], SECONDS)
