"""Judge gradients of gradients by finite differences of the exact gradient.

A program that is a smooth function of its leaves ends in a number L: a weighted sum of the values of its last names, or
of their squares, so that programs that only move and add numbers also have second derivatives. The engine computes the
gradient of L with ``create_graph=True``, sums its elements with other weights to a number G, and differentiates G. The
reference computes the gradient of L exactly, and approximates the derivative of G along a direction by the difference
of two runs, with the leaves moved slightly in opposite directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from . import cells as c
from .calculus import OutsideDomain
from .differences import compiled, smooth_program
from .tensor import CellTensor
from .vocabulary import World

STEP = 1e-4
OUTPUTS = 3  # the largest number of names in L
TOLERANCE = 1e-5


class Rough(Exception):
    """Raised if the finite differences are too inexact to judge by, or if there is nothing to judge."""


@dataclass
class Question:
    """The random choices for a program: for each name its weights in L, the names whose squares are used, for each leaf
    the weights of its gradient, and the direction in which the leaves are moved.
    """

    outputs: dict[str, np.ndarray]
    squared: set[str]
    gradients: dict[str, np.ndarray]
    direction: dict[str, np.ndarray]


def smooth_enough(rng: Random, statements: int) -> list[str]:
    """Return a smooth program that keeps the names of its leaves."""
    return [text for text in smooth_program(rng, statements) if text != "del y"]


def disagreement(engine, program: list[str], rng: Random) -> str:
    """Return the fault in the engine's second derivatives, or an empty text.

    Raises:
        Rough: if the reference cannot decide.
    """
    question = question_on(program, rng)
    try:
        expected, coarse = (slope(program, question, step) for step in (STEP, 2 * STEP))
    except OutsideDomain:
        raise Rough from None
    allowed = TOLERANCE * (1 + abs(expected))
    if not abs(expected - coarse) < allowed:
        raise Rough
    try:
        with engine.set_inplace_policy("copy_on_write"):
            actual = answered(engine, program, question)
    except Rough:
        raise
    except Exception as error:  # under copy on write, the engine may not refuse any statement of a smooth program
        return f"# raised {type(error).__name__}: {error}"
    return "" if abs(actual - expected) <= allowed else f"# second derivative {actual}, expected {expected}; {question}"


def question_on(program: list[str], rng: Random) -> Question:
    env = run(program, {})
    leaves = {n: t for n, t in env.items() if t.group.leaf is t}
    wanting = [n for n, t in env.items() if t.group.wants and t.dtype == np.float64 and n not in leaves]
    if not leaves or not wanting:
        raise Rough

    def weights(names) -> dict[str, np.ndarray]:
        return {
            n: np.array([rng.uniform(-1, 1) for _ in range(env[n].cells.size)]).reshape(env[n].shape) for n in names
        }

    chosen = wanting[-OUTPUTS:]
    squared = {n for n in chosen if rng.random() < 0.6}
    return Question(weights(chosen), squared, weights(leaves), weights(leaves))


def run(program: list[str], nudges: dict) -> dict[str, CellTensor]:
    env = {"mt": World(nudges=nudges), "np": np}
    exec(compiled("\n".join(program)), env)
    return {n: t for n, t in env.items() if isinstance(t, CellTensor)}


def slope(program: list[str], question: Question, step: float) -> float:
    """Return the derivative of G along the direction, computed as a central difference."""
    up, down = (weighted_gradient(program, question, sign * step) for sign in (1, -1))
    return (up - down) / (2 * step)


def weighted_gradient(program: list[str], question: Question, step: float) -> float:
    """Return G after the leaves are moved by ``step`` along the direction."""
    nudges = {
        (number, element): step * part
        for number, direction in enumerate(question.direction.values())
        for element, part in enumerate(direction.ravel())
    }
    env = run(program, nudges)
    gradient = np.zeros(c.DIRECTIONS)
    for n, weight in question.outputs.items():
        x = c.read(env[n].storage, env[n].group, env[n].cells)
        factor = 2 * weight * x.v if n in question.squared else weight
        gradient += (factor[..., None] * x.t).reshape(-1, c.DIRECTIONS).sum(0)
    return sum(float((gradient[env[n].own_directions()] * w).sum()) for n, w in question.gradients.items())


def strides(tensor) -> list[int]:
    """Return the strides of a tensor of the engine or the reference, except those of dimensions of length 1 or of empty
    tensors.
    """
    return [stride for n, stride in zip(tensor.shape, tensor.strides, strict=True) if n > 1 and 0 not in tensor.shape]


def answered(engine, program: list[str], question: Question) -> float:
    """Return the derivative of G along the direction, computed by the engine's gradient of G."""
    env = {"mt": engine, "np": np}
    reference = {"mt": World(), "np": np}
    for text in program:
        exec(text, reference)
        exec(text, env)
        # The memory order of a new result may differ between the two sides. Later views and copies then differ as well.
        if any(strides(t) != strides(env[n]) for n, t in reference.items() if isinstance(t, CellTensor)):
            raise Rough
    leaves = [env[n] for n in question.gradients]
    terms = [
        ((env[n] * env[n] if n in question.squared else env[n]) * engine.to_tensor(weight)).sum()
        for n, weight in question.outputs.items()
    ]
    gradients = engine.grad(terms, leaves, create_graph=True, allow_unused=True)
    parts = [
        (g * engine.to_tensor(weight)).sum()
        for g, weight in zip(gradients, question.gradients.values(), strict=True)
        if g is not None and not g.stop_gradient
    ]
    if not parts:
        return 0.0
    second = engine.grad(parts, leaves, allow_unused=True)
    directions = question.direction.values()
    return sum(float((h.numpy() * d).sum()) for h, d in zip(second, directions, strict=True) if h is not None)
