"""The generator of the whole program: all random numbers, on every device, come from it in one sequence."""

from __future__ import annotations

from typing import Any

import numpy as np


class Source:
    """Holds the generator, which :func:`seed` replaces."""

    __slots__ = ("generator",)

    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.PCG64())


source = Source()


def seed(number: Any) -> None:
    """Begin the sequence of random numbers that ``number`` stands for.

    Raises:
        ValueError: when it is no integer from 0 on.
    """
    if not isinstance(number, (int, np.integer)) or number < 0:
        raise ValueError(f"seed: a seed is an integer from 0 on, not {number!r}")
    source.generator = np.random.Generator(np.random.PCG64(number))
