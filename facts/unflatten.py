"""Record in unflatten.json into which lengths PyTorch and Paddle split a dimension, and with which result.

    python facts/unflatten.py torch      in an environment that has torch
    python facts/unflatten.py paddle

A question is a shape and one of its dimensions. The answer has one text for each list of lengths that ``unflatten``
accepts, such as ``[2, -1] -> [2, 6]``. It refuses the other lists in ``LENGTHS``.
"""

from __future__ import annotations

import importlib
import itertools
import json
from pathlib import Path
from typing import Any

from recording import Questions, write

SHAPES = [[12], [2, 12], [12, 2], [1, 6], [3, 1, 4], [0], [0, 4], [4, 0], [2, 0, 3]]
LENGTHS = [
    *([n] for n in (-2, -1, 0, 1, 2, 6, 12)),
    *map(list, itertools.product((-2, -1, 0, 1, 2, 3, 4, 6, 12), repeat=2)),
    *map(list, itertools.product((-1, 0, 1, 2, 3), repeat=3)),
]
QUESTIONS: Questions = {
    f"{shape}, dimension {axis}": ({library: json.dumps([shape, axis]) for library in ("torch", "paddle")}, [])
    for shape in SHAPES
    for axis in range(len(shape))
}


def answer(module: Any, program: str) -> list[str]:
    """Return the lists of lengths that `module.unflatten` accepts, with the shapes of the results."""
    shape, axis = json.loads(program)
    x = module.zeros(shape)
    found = []
    for lengths in LENGTHS:
        try:
            y = module.unflatten(x, axis, lengths)
        except Exception:  # the libraries and their versions raise errors of different types
            continue
        found.append(f"{lengths} -> {list(y.shape)}")
    return found


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the program and its answer."""
    return {"program": program, "answer": answer(importlib.import_module(library), program)}


if __name__ == "__main__":
    write(Path(__file__).with_name("unflatten.json"), QUESTIONS, ask)
