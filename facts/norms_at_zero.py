"""Record in norms-at-zero.json.gz norms and distances with their first and second gradients where elements are 0.

    python facts/norms_at_zero.py torch      in an environment that has torch
    python facts/norms_at_zero.py paddle

A question is an expression of a tensor `x`. `L` is the library and `F` its `nn.functional`. The answer has the result,
the gradient of the sum of the result, and the gradient of the sum of the squares of this gradient. An error is recorded
as its type; a tensor that does not require a gradient, as "constant".
"""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

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
    except Exception as error:  # each library raises errors of other types
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
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() else {}
    return found


def answers_of(library: str) -> dict[str, Any]:
    """Ask all questions in a separate process. If a question kills it, a new process asks the next question."""
    asked = questions(library)
    found: dict[str, Any] = {}
    while len(found) < len(asked):
        command = [sys.executable, __file__, library, str(len(found))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for line in process.stdout:
                if line.startswith("answer "):
                    found[asked[len(found)]] = json.loads(line.removeprefix("answer "))
        if process.returncode > 0:
            raise RuntimeError(f"{asked[len(found)]} could not be recorded; see the traceback above")
        if process.returncode < 0:
            found[asked[len(found)]] = [f"the process died of {signal.Signals(-process.returncode).name}"]
    return found


def main() -> None:
    """Record the answers of one library. If the command line has a number, only print those from this question on."""
    library = sys.argv[1]
    module = importlib.import_module(library)
    if len(sys.argv) > 2:
        for question in questions(library)[int(sys.argv[2]) :]:
            signal.alarm(SECONDS)  # because Paddle may never return after an error in its memory
            print("answer", json.dumps(answer(library, module, question)), flush=True)
        return
    version = module.__version__.partition("+")[0]
    records = recorded() | {f"{library} {version}": answers_of(library)}
    FILE.write_bytes(
        gzip.compress(json.dumps(dict(sorted(records.items())), separators=(",", ":")).encode(), 9, mtime=0)
    )
    print(f"{len(questions(library))} answers; {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
