"""Check the reference by central differences, for programs that are smooth functions of their leaves.

A program runs once for the tangents of the reference, and then twice for every element of every leaf, with that element
moved slightly up and slightly down. The finite differences of the values must equal the tangents.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random
from types import CodeType

import numpy as np

from .calculus import OutsideDomain
from .dtypes import is_float
from .generator import Generator
from .tensor import CellTensor
from .vocabulary import World

STEP = 1e-5


def smooth_program(rng: Random, statements: int) -> list[str]:
    """Return a program without detach, no_grad and similar statements. It ends before a statement that leaves the
    domain of its operation.
    """
    world = World()
    env = {"mt": world, "np": np}
    writer = Generator(rng, world, env, smooth=True)
    program = []
    try:
        for text in writer.opening():
            exec(text, env)
            program.append(text)
        for _ in range(statements):
            text = writer.statement()
            exec(text, env)
            program.append(text)
    except OutsideDomain:
        pass
    return program


@lru_cache(maxsize=1)
def compiled(text: str) -> CodeType:
    """Compile a program once, because it runs many times with different numbers in its leaves."""
    return compile(text, "<program>", "exec")


def outputs(program: list[str], nudges: dict) -> dict[str, CellTensor]:
    world = World(nudges=nudges)
    env = {"mt": world, "np": np}
    exec(compiled("\n".join(program)), env)
    return {n: t for n, t in env.items() if isinstance(t, CellTensor) and is_float(t.dtype)}


def largest_error(program: list[str]) -> float:
    """Return the largest error of a tangent against its central difference, divided by 1 + the largest tangent."""
    here = outputs(program, {})
    worst = 0.0
    direction = 0
    for number, leaf in enumerate(t for t in here.values() if t.group.leaf is t):
        for element in range(leaf.cells.size):
            up = outputs(program, {(number, element): STEP})
            down = outputs(program, {(number, element): -STEP})
            for name, t in here.items():
                tangent = t.group.tangents[t.cells][..., direction]
                difference = (up[name].numpy() - down[name].numpy()) / (2 * STEP)
                size = 1 + np.abs(tangent).max(initial=0.0)
                worst = max(worst, np.abs(tangent - difference).max(initial=0.0) / size)
            direction += 1
    return worst
